"""Decoders in ONNX's text syntax: what we print stock onnx parses, and the other way round."""

import onnx
import onnx.parser
import pytest
from tessera import _tessera

HEAD = '<opset_import: ["" : 21], domain: "d">'
BODIES = {
    "empty names": "f (a, b) => (y) { y = Add (a, b) }",
    "value infos": "f (a, b) => (y) <float[4,?,N] y, uint8[] a, bfloat16 b> { y = Add (a, b) }",
    "chain": "f (a) => (y) { t = Neg (a) u = Mul (t, t) y = Sub (u, a) }",
    "named nodes": "f (a) => (y) { [first] t = Neg (a) [second] y = Abs (t) }",
    "omitted input": "f (a, s, e) => (y) { y = Slice (a, s, e, , s) }",
    "several outputs": "f (a) => (x, y) { x, y = Split <axis = 1, num_outputs = 2> (a) }",
    "ints": "f (a) => (y) { y = Transpose <perm = [1, 0, -1]> (a) }",
    "empty ints": "f (a) => (y) { y = Transpose <perm: ints = []> (a) }",
    "floats": "f () => (y) { y = Constant <value_floats = [0.1, -2.5, 1e30, 1e-45]> () }",
    "one float": "f () => (y) { y = Constant <value_float = 3.0> () }",
    "string": r'f (a) => (y) { y = BitShift <direction = "LEFT"> (a, a) }',
    "escapes": r'f (a) => (y) { y = Pad <mode = "a \"b\" \\ c"> (a) }',
    "scalar tensor": "f () => (y) { y = Constant <value = int64 {-5}> () }",
    "int tensor": "f () => (y) { y = Constant <value = int32[2,2] {1, -2, 3, 2147483647}> () }",
    "uint8 tensor": "f () => (y) { y = Constant <value = uint8[3] {0, 1, 255}> () }",
    "uint64 tensor": "f () => (y) { y = Constant <value = uint64[1] {18446744073709551615}> () }",
    "float tensor": "f () => (y) { y = Constant <value = float[3] {0.5, -1e-7, 123456.79}> () }",
    "double tensor": "f () => (y) { y = Constant <value = double[2] {0.1, -1e300}> () }",
    "bool tensor": "f () => (y) { y = Constant <value = bool[2] {1, 0}> () }",
    "empty tensor": "f () => (y) { y = Constant <value = float[0] {}> () }",
    "other domain": "f (a) => (y) { y = com.example.Op (a) }",
    "overload": "f (a) => (y) { y = Neg:v2 (a) }",
    "docs": 'f (a) => (y) { y = Neg (a) }',
}


def normalised(function: onnx.FunctionProto) -> onnx.FunctionProto:
    """Without what onnx's parser writes whether the text says it or not: empty domains of nodes, names of tensors."""
    copy = onnx.FunctionProto()
    copy.CopyFrom(function)
    for node in copy.node:
        for field in ("domain", "overload", "name", "doc_string"):
            if not getattr(node, field):
                node.ClearField(field)
        for attribute in node.attribute:
            if attribute.HasField("t") and not attribute.t.name:
                attribute.t.ClearField("name")
    return copy


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_onnx_parses_what_we_print(body):
    function = normalised(onnx.parser.parse_function(f"{HEAD} {body}"))
    text = _tessera._print_function(function.SerializeToString())
    assert normalised(onnx.parser.parse_function(text)) == function


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_we_parse_what_onnx_parses(body):
    text = f"{HEAD} {body}"
    ours = onnx.FunctionProto.FromString(_tessera._parse_function(text))
    assert normalised(ours) == normalised(onnx.parser.parse_function(text))


def test_decoder_of_a_type_is_text_for_onnx(tmp_path):
    import tessera

    text = """StructTypeProto {
        name: "LINEAR"
        structure: Structure {
            field: { name: "codes", type: array(UINT8, dimension=4) }
            field: { name: "scale", type: FLOAT }
        }
        decoder: {
            <opset_import: ["" : 21]>
            decode (codes, scale) => (y) <float[4] y> {
                f = Cast <to = 1> (codes)
                y = Mul (f, scale)
            }
        }
    }"""
    type = tessera.StructType.parse(text)
    assert type.encoder is None
    function = onnx.parser.parse_function(type.decoder)
    assert [node.op_type for node in function.node] == ["Cast", "Mul"]
    assert list(function.input) == [leaf.input_name for leaf in type.leaves]
    assert tessera.StructType.parse(str(type)) == type
