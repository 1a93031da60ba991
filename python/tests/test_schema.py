"""proto/onnx_struct.proto holds everything that stock onnx has: messages, fields, numbers, labels, types, enums."""

import shutil
import subprocess

import onnx.onnx_data_pb2
import onnx.onnx_ml_pb2
import pytest
from google.protobuf import descriptor_pb2

PACKAGE = "tessera.ir"
STRUCT_MESSAGES = {"StructTypeProto", "StructProto", "DeviceProto", "CompiledTensorProto"}


def flatten(file: descriptor_pb2.FileDescriptorProto) -> tuple[dict, dict]:
    """Messages and enums by their name below the package."""
    messages, enums = {}, {}

    def visit(scope: str, message: descriptor_pb2.DescriptorProto) -> None:
        name = f"{scope}{message.name}"
        messages[name] = message
        for inner in message.nested_type:
            visit(f"{name}.", inner)
        for enum in message.enum_type:
            enums[f"{name}.{enum.name}"] = enum

    for message in file.message_type:
        visit("", message)
    for enum in file.enum_type:
        enums[enum.name] = enum
    return messages, enums


def stock() -> tuple[dict, dict]:
    messages, enums = {}, {}
    for module in (onnx.onnx_ml_pb2, onnx.onnx_data_pb2):
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        more_messages, more_enums = flatten(file)
        messages |= more_messages
        enums |= more_enums
    return messages, enums


@pytest.fixture(scope="module")
def ours(root, tmp_path_factory) -> tuple[dict, dict]:
    protoc = shutil.which("protoc")
    assert protoc, "protoc of protobuf-compiler, which the build needs too"
    out = tmp_path_factory.mktemp("schema") / "set.pb"
    subprocess.run(
        [protoc, f"--descriptor_set_out={out}", f"-I{root / 'proto'}", str(root / "proto/onnx_struct.proto")], check=True
    )
    (file,) = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
    assert file.package == PACKAGE
    assert file.syntax in ("", "proto2")
    return flatten(file)


def packed(field: descriptor_pb2.FieldDescriptorProto) -> bool:
    return field.options.packed


def facts(message: descriptor_pb2.DescriptorProto, field: descriptor_pb2.FieldDescriptorProto) -> tuple:
    type_name = field.type_name.removeprefix(f".{PACKAGE}.").removeprefix(".onnx.")
    oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None
    return field.name, field.number, field.label, field.type, type_name, oneof, packed(field), field.default_value


STOCK_MESSAGES, STOCK_ENUMS = stock()


def test_stock_schema_is_what_we_think():
    assert len(STOCK_MESSAGES) >= 31
    assert "TensorProto.Segment" in STOCK_MESSAGES and "OptionalProto" in STOCK_MESSAGES
    assert "TensorProto.DataType" in STOCK_ENUMS


@pytest.mark.parametrize("name", sorted(STOCK_MESSAGES))
def test_message(ours, name):
    message, mine = STOCK_MESSAGES[name], ours[0][name]
    have = {f.number: facts(mine, f) for f in mine.field}
    want = {f.number: facts(message, f) for f in message.field}
    assert {n: have.get(n) for n in want} == want
    # What we add to a stock message has numbers from 1200 on.
    assert all(number >= 1200 for number in have.keys() - want.keys())
    # Numbers that onnx retired stay retired.
    reserved = {n for r in message.reserved_range for n in range(r.start, min(r.end, 10_000))}
    mine_reserved = {n for r in mine.reserved_range for n in range(r.start, min(r.end, 10_000))}
    assert reserved <= mine_reserved
    assert set(message.reserved_name) <= set(mine.reserved_name)


@pytest.mark.parametrize("name", sorted(STOCK_ENUMS))
def test_enum(ours, name):
    have = {v.name: v.number for v in ours[1][name].value}
    want = {v.name: v.number for v in STOCK_ENUMS[name].value}
    assert {n: have.get(n) for n in want} == want
    assert all(have[n] >= 1200 for n in have.keys() - want.keys())


def test_additions_are_the_contracts(ours):
    messages, enums = ours
    added = {
        f"{name}.{field.name}": field.number
        for name, message in messages.items()
        if name in STOCK_MESSAGES
        for field in message.field
        if field.number >= 1200
    }
    assert added == {
        "ModelProto.struct_types": 1200,
        "ModelProto.devices": 1201,
        "ModelProto.compiled_tensors": 1202,
        "GraphProto.struct_initializer": 1200,
        "TypeProto.struct_type": 1200,
        "AttributeProto.struct": 1200,
        "AttributeProto.structs": 1201,
        "SequenceProto.struct_values": 1200,
        "SequenceProto.value_type": 1201,
        "OptionalProto.struct_value": 1200,
        "OptionalProto.value_type": 1201,
    }
    new_values = {f"{name}.{v.name}": v.number for name, e in enums.items() for v in e.value if v.number >= 1200}
    assert new_values == {
        "AttributeProto.AttributeType.STRUCT": 1200,
        "AttributeProto.AttributeType.STRUCTS": 1201,
        "SequenceProto.DataType.STRUCT": 1200,
        "OptionalProto.DataType.STRUCT": 1200,
    }
    new_messages = {name.split(".")[0] for name in messages} - {name.split(".")[0] for name in STOCK_MESSAGES}
    assert new_messages == STRUCT_MESSAGES
