"""The schema against the onnx package: every message, field and enum value of ONNX is there, unchanged.

What Tessera adds has numbers from 1200 on, or is a message of its own; the list below is complete, so that nothing is
added by accident.
"""

import pathlib
import shutil
import subprocess

import pytest

onnx = pytest.importorskip("onnx")
from google.protobuf import descriptor_pb2  # noqa: E402

SCHEMA = pathlib.Path(__file__).parents[2] / "proto" / "onnx_struct.proto"

ADDED_MESSAGES = {"StructTypeProto", "StructProto", "DeviceProto", "CompiledTensorProto"}
ADDED_FIELDS = {
    ("ModelProto", "struct_types", 1200),
    ("ModelProto", "devices", 1201),
    ("ModelProto", "compiled_tensors", 1202),
    ("GraphProto", "struct_initializer", 1200),
    ("TypeProto", "struct_type", 1200),
    ("AttributeProto", "struct", 1200),
    ("AttributeProto", "structs", 1201),
    ("SequenceProto", "struct_values", 1200),
    ("SequenceProto", "value_type", 1201),
    ("OptionalProto", "struct_value", 1200),
    ("OptionalProto", "value_type", 1201),
}
ADDED_ENUM_VALUES = {
    ("AttributeProto.AttributeType", "STRUCT", 1200),
    ("AttributeProto.AttributeType", "STRUCTS", 1201),
    ("SequenceProto.DataType", "STRUCT", 1200),
    ("OptionalProto.DataType", "STRUCT", 1200),
}


def facts(files):
    """What a reader of the wire format can tell apart: (messages, fields, enum values, reserved numbers)."""
    messages, fields, values, reserved = set(), {}, set(), set()

    def enum(prefix, proto):
        values.update((prefix + proto.name, value.name, value.number) for value in proto.value)

    def message(prefix, proto):
        name = prefix + proto.name
        messages.add(name)
        reserved.update((name, r.start, r.end) for r in proto.reserved_range)
        for field in proto.field:
            kind = field.type_name.split(".", 2)[-1].removeprefix("ir.") if field.type_name else ""
            oneof = proto.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""
            fields[name, field.name, field.number] = (field.label, field.type, kind, field.options.packed, oneof)
        for inner in proto.nested_type:
            message(name + ".", inner)
        for inner in proto.enum_type:
            enum(name + ".", inner)

    for file in files:
        for proto in file.message_type:
            message("", proto)
        for proto in file.enum_type:
            enum("", proto)
    return messages, fields, values, reserved


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    protoc = shutil.which("protoc")
    if protoc is None:
        pytest.skip("protoc is not installed")
    out = tmp_path_factory.mktemp("schema") / "schema.bin"
    subprocess.run([protoc, f"--descriptor_set_out={out}", "-I", SCHEMA.parent, SCHEMA], check=True)
    files = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
    assert files[0].package == "tessera.ir"
    assert files[0].syntax in ("", "proto2")
    return facts(files)


@pytest.fixture(scope="module")
def theirs():
    from onnx import onnx_data_pb2, onnx_ml_pb2

    files = []
    for module in (onnx_ml_pb2, onnx_data_pb2):
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        files.append(file)
    return facts(files)


def root(name):
    return name.split(".")[0]


def test_messages(ours, theirs):
    assert theirs[0] <= ours[0]
    assert {root(name) for name in ours[0] - theirs[0]} == ADDED_MESSAGES


def test_fields(ours, theirs):
    assert len(theirs[1]) > 150
    for field, facts_of_field in theirs[1].items():
        assert ours[1].get(field) == facts_of_field, field
    added = {field for field in ours[1].keys() - theirs[1].keys() if root(field[0]) not in ADDED_MESSAGES}
    assert added == ADDED_FIELDS


def test_enum_values(ours, theirs):
    assert theirs[2] <= ours[2]
    assert ours[2] - theirs[2] == ADDED_ENUM_VALUES


def test_reserved_numbers(ours, theirs):
    assert theirs[3] <= ours[3]
