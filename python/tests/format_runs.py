"""Runs decoders of types, and functions from bytes, in ONNX's reference and in onnxruntime."""

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

import tessera

onnxruntime = pytest.importorskip("onnxruntime", reason="has no package for this Python")


def decoder_model(type_: tessera.StructType, text: str, opset: int) -> onnx.ModelProto:
    function = onnx.parser.parse_function(text)
    inputs = [
        onnx.helper.make_tensor_value_info(
            leaf.input_name, onnx.TensorProto.DataType.Value(leaf.element_type), leaf.shape
        )
        for leaf in type_.leaves
    ]
    assert [leaf.name for leaf in inputs] == list(function.input)
    graph = onnx.helper.make_graph(list(function.node), "decode", inputs, [function.value_info[0]])
    return checked(graph, opset)


def portable_model(type_: tessera.StructType, opset: int) -> onnx.ModelProto:
    function = onnx.parser.parse_function(type_.portable_decoder(opset))
    payload = onnx.helper.make_tensor_value_info("payload", onnx.TensorProto.UINT8, [type_.size_bytes])
    graph = onnx.helper.make_graph(list(function.node), "decode", [payload], [function.value_info[0]])
    return checked(graph, opset)


def checked(graph: onnx.GraphProto, opset: int) -> onnx.ModelProto:
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    return model


def leaf_arrays(type_: tessera.StructType, payload: bytes) -> dict[str, np.ndarray]:
    view = type_.view(payload)
    return {leaf.input_name: np.array(view[leaf.path].numpy()) for leaf in type_.leaves}


def in_reference(model: onnx.ModelProto, arrays: dict[str, np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(ReferenceEvaluator(model).run(None, arrays)[0])


def in_onnxruntime(model: onnx.ModelProto, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """BFLOAT16, which numpy does not have, is taken only as an initializer."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.input[:]
    inputs = {}
    for info in model.graph.input:
        array = arrays[info.name]
        if array.dtype.type.__module__ == "numpy":
            copy.graph.input.append(info)
            inputs[info.name] = array
        else:
            copy.graph.initializer.append(onnx.numpy_helper.from_array(array, info.name))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(copy.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def first_difference(got: np.ndarray, expected: np.ndarray) -> str:
    """What differs bit by bit, signs of zeros included; "" where nothing does. Any two NaN are equal."""
    got, expected = got.reshape(-1), expected.reshape(-1)
    assert got.dtype == expected.dtype == np.float32 and got.size == expected.size
    same = (got.view("u4") == expected.view("u4")) | (np.isnan(got) & np.isnan(expected))
    if same.all():
        return ""
    at = int(np.flatnonzero(~same)[0])
    return f"{int((~same).sum())} of {same.size} differ, first {at}: {got[at]!r} for {expected[at]!r}"


def assert_same_bits(got: np.ndarray, expected: np.ndarray) -> None:
    difference = first_difference(got, expected)
    if difference:
        pytest.fail(difference)
