"""The structured and the portable form of models with struct values, and the way there and back."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from decoder_model import FLOATS, decode
from onnx.reference import ReferenceEvaluator
from test_decoders import CASES, OPSETS, random_payload, same_bits

import tessera

onnxruntime = pytest.importorskip("onnxruntime", reason="has no package for this Python")


def structured(names: list[str], opset: int, folder: Path | None = None, times: int = 1) -> tuple[tessera.Model, dict]:
    """A model that decodes a value for each name, and what its outputs have to be."""
    nodes, outputs, expected = [], [], {}
    values = {}
    for name in names:
        text, shape = CASES[name]
        profile = tessera.Profile.parse(text)
        type_ = profile.struct_type(shape, name=f"T_{name}")
        for i in range(times):
            value = f"{name}_{i}"
            payload = random_payload(type_, i)
            values[value] = (type_, payload)
            nodes.append(
                onnx.helper.make_node("DecodeStruct", [value], [f"{value}_y"], domain="tessera", name=f"d_{value}")
            )
            elem_type = onnx.TensorProto.DataType.Value(profile.data_type)
            nodes.append(onnx.helper.make_node("Identity", [f"{value}_y"], [f"{value}_z"]))
            outputs.append(onnx.helper.make_tensor_value_info(f"{value}_z", elem_type, shape))
            with np.errstate(all="ignore"):
                wide = "data_type: DOUBLE" in text
                expected[f"{value}_z"] = decode(type_, payload, shape, wide).astype(FLOATS[profile.data_type])
    graph = onnx.helper.make_graph(nodes, "g", [], outputs)
    imports = [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid("tessera", 1)]
    proto = onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)
    model = tessera.Model.from_bytes(proto.SerializeToString(), folder=folder or ".")
    for value, (type_, payload) in values.items():
        model.add_struct_initializer(value, type_, payload)
    return model, expected


def runs_everywhere(data: bytes, expected: dict) -> None:
    proto = onnx.load_from_string(data)
    onnx.checker.check_model(proto, full_check=True)
    names = list(expected)
    got = ReferenceEvaluator(proto).run(names, {})
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    for name, one, other in zip(names, got, session.run(names, {}), strict=True):
        assert same_bits(np.asarray(one), expected[name]), name
        assert same_bits(other, expected[name]), name


@pytest.mark.parametrize("opset", OPSETS)
def test_there_and_back(opset: int) -> None:
    names = ["int8", "tiles", "super", "mixed", "nf4", "ternary", "fp6_groups", "sparse", "block", "hadamard_both"]
    model, expected = structured(names, opset, times=2)
    before = model.serialize()
    portable = tessera.to_form(model, "portable")
    assert model.serialize() == before
    assert not portable.structs
    assert tessera.check(portable) == []
    runs_everywhere(portable.serialize(), expected)
    # One function a type, not one a value.
    assert len(onnx.load_from_string(portable.serialize()).functions) == len(names)
    assert tessera.to_form(portable, "structured").serialize() == before
    assert tessera.to_form(portable, "portable").serialize() == portable.serialize()
    assert tessera.to_form(model, "structured").serialize() == before


def test_what_is_said_of_values_comes_back(tmp_path: Path) -> None:
    """Documentation, types inline and in value_info, large and external data in several segments, subgraphs."""
    model, expected = structured(["tiles"], 21)
    text, shape = CASES["int8"]
    inline = tessera.Profile.parse(text).struct_type(shape, decoder_opset=21)
    payload = random_payload(inline, 5)
    anonymous = tessera.StructType.parse(str(inline).replace(f'name: "{inline.name}"', ""))
    model.add_struct_initializer("inline", anonymous, payload)
    big = tessera.Profile.parse("QuantizationProto { cast: CastUniformProto { storage_type: FLOAT } }").struct_type(
        [300, 300]
    )
    data = np.random.default_rng(0).standard_normal((300, 300), dtype=np.float32)
    model.add_struct_initializer("big", big, data)
    model.save(tmp_path / "m.onnx", data="external", external_bytes=50_000)

    proto = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    for name, out, dims in (("inline", "inline_y", shape), ("big", "big_y", [300, 300])):
        proto.graph.node.append(onnx.helper.make_node("DecodeStruct", [name], [out], domain="tessera"))
        proto.graph.output.append(onnx.helper.make_tensor_value_info(out, onnx.TensorProto.FLOAT, dims))
    # A captured value in a branch.
    branch = onnx.helper.make_graph(
        [onnx.helper.make_node("DecodeStruct", ["tiles_0"], ["inner"], domain="tessera")],
        "then",
        [],
        [onnx.helper.make_tensor_value_info("inner", onnx.TensorProto.FLOAT16, CASES["tiles"][1])],
    )
    condition = onnx.numpy_helper.from_array(np.array(True), "condition")
    proto.graph.initializer.append(condition)
    proto.graph.node.append(
        onnx.helper.make_node("If", ["condition"], ["chosen"], then_branch=branch, else_branch=branch)
    )
    proto.graph.output.append(onnx.helper.make_tensor_value_info("chosen", onnx.TensorProto.FLOAT16, CASES["tiles"][1]))
    onnx.save(proto, tmp_path / "n.onnx")

    loaded = tessera.load(tmp_path / "n.onnx")
    before = loaded.serialize()
    portable = tessera.to_form(loaded, "portable")
    assert tessera.to_form(portable, "structured").serialize() == before
    expected["inline_y"] = decode(inline, payload, shape)
    expected["big_y"] = data
    expected["chosen"] = expected["tiles_0_z"]
    portable.save(tmp_path / "p.onnx")
    stock = onnx.load(tmp_path / "p.onnx")
    onnx.checker.check_model(stock, full_check=True)
    session = onnxruntime.InferenceSession(tmp_path / "p.onnx", providers=["CPUExecutionProvider"])
    for name, value in zip(expected, session.run(list(expected), {}), strict=True):
        assert same_bits(value, expected[name]), name
    # The data did not move into the model file.
    assert any(
        tensor.data_location == onnx.TensorProto.EXTERNAL
        for tensor in onnx.load(tmp_path / "p.onnx", load_external_data=False).graph.initializer
    )


def refused(model: tessera.Model, form: str = "portable") -> tessera.TesseraError:
    before = model.serialize()
    with pytest.raises(tessera.TesseraError) as caught:
        tessera.to_form(model, form)
    assert model.serialize() == before
    return caught.value


def test_what_has_no_portable_form() -> None:
    assert refused(structured(["int8"], 12)[0]).code == "unsupported"
    assert "version_converter" in refused(structured(["int8"], 12)[0]).fix
    assert refused(structured(["int8"], 21)[0], "native").code == "argument"

    custom = tessera.Profile.parse(
        'QuantizationProto { function: FunctionUniformProto { storage_type: INT8 bits: 8 dequantize_op: "vendor::D" } }'
    )
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("DecodeStruct", ["w"], ["y"], domain="tessera")],
        "g",
        [],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4])],
    )
    imports = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("tessera", 1)]
    proto = onnx.helper.make_model(graph, opset_imports=imports)
    model = tessera.Model.from_bytes(proto.SerializeToString())
    model.add_struct_initializer("w", custom.struct_type([4]), bytes(4))
    error = refused(model)
    assert error.code == "no-decoder"
    assert "vendor::D" in error.what

    other = onnx.ModelProto()
    other.CopyFrom(proto)
    other.graph.node[0].op_type, other.graph.node[0].domain = "Keep", "vendor"
    model = tessera.Model.from_bytes(other.SerializeToString())
    model.add_struct_initializer("w", custom.struct_type([4]), bytes(4))
    assert "reads the struct value" in refused(model).what
