"""The class Format: names, types, arrays to values and back. What formats mean is tested format by format in C++."""

import os
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

import tessera

OWN = """// Bytes with half the value.
FormatProto {
    name: "half_bytes"
    title: "Half of a byte's number"
    author: "a test"
    aliases: ["HB"]
    sources: ["this test"]
    block: 4
    shape: [4, 4]
    doc_string: "documented"
}
StructTypeProto {
    name: "HALF_BYTES"
    structure: Structure {
        field: { name: "codes", type: array(UINT8, dimensions=shape) }
        field: { name: "half", constant: tensor(FLOAT, [], 0.5) }
    }
    decoder: FunctionProto {
        <opset_import: ["" : 13]> decode (codes, half) => (Y) <float[shape] Y> {
            wide = Cast <to: int = 1> (codes)
            Y = Mul (wide, half)
        }
    }
    encoder: FunctionProto {
        <opset_import: ["" : 13]> encode (X) => (bytes) <uint8[elements] bytes> {
            two = Constant <value: tensor = float {2.0}> ()
            flat = Constant <value_ints: ints = [-1]> ()
            twice = Mul (X, two)
            codes = Cast <to: int = 2> (twice)
            bytes = Reshape (codes, flat)
        }
    }
}
"""
BOOK = """FormatProto {
    name: "book", title: "Book", author: "a test", shape: [4]
    data: [FormatDataProto { parameter: "levels", values: 4 }]
}
QuantizationProto { codebook: CodebookProto { codebook_data: levels, index_bits: 2 } }
"""


def test_the_catalogue():
    names = tessera.formats()
    assert len(names) == len(set(names)) > 40
    assert {"int4_b32", "int4_b128", "int4z_b32", "int8_channel", "int8_tensor", "fp8_e4m3_b128"} <= set(names)
    for name in names:
        format = tessera.Format(name)
        assert format.name == name
        assert format.title and format.author and format.sources
        assert tessera.Format(name.upper()) == format
        bits = format.bits_per_weight()
        assert bits is not None and 0 < bits <= 64
        assert str(tessera.Format.parse(str(format))) == str(format)
        for alias in format.aliases:
            assert tessera.Format(alias) == format


def test_bits_per_weight():
    assert tessera.Format("int4_b32").bits_per_weight() == 4.5
    assert tessera.Format("int4_b128").bits_per_weight() == 4.125
    assert tessera.Format("int4z_b32").bits_per_weight((2, 32)) == 4.75
    assert tessera.Format("int8_tensor").bits_per_weight((4, 8)) == 9.0
    assert tessera.Format("int8_channel").bits_per_weight((4, 8)) == 12.0
    assert tessera.Format("fp8_e4m3_b128").bits_per_weight() == 8.25
    assert tessera.Format("int4_b32").bits_per_weight((0, 32)) is None


def test_attributes():
    format = tessera.Format.parse(OWN)
    assert (format.name, format.title, format.author) == ("half_bytes", "Half of a byte's number", "a test")
    assert (format.aliases, format.sources, format.doc_string) == (["HB"], ["this test"], "documented")
    assert (format.block, format.shape, format.data) == (4, (4, 4), {})
    assert repr(format) == "<Format 'half_bytes'>"
    assert format.profile() is None
    assert str(format).startswith("// Bytes with half the value.\nFormatProto {")
    assert tessera.Format.parse(str(format)) == format
    assert hash(tessera.Format.parse(str(format))) == hash(format)
    assert format != tessera.Format("int8_tensor")
    assert format != "half_bytes"
    other = tessera.Format("int4_b32")
    assert (other.block, other.shape) == (32, (4096, 4096))
    assert tessera.Profile.parse(str(other.profile())) == other.profile()


def test_families():
    format = tessera.Format("int4_b96")
    assert (format.name, format.block) == ("int4_b96", 96)
    assert format.struct_type((2, 192)).size_bytes == 4 * (2 + 48)
    text = 'FormatProto { name: "f{block}", title: "F", author: "a", blocks: [2] }\n' + str(format.profile()).replace(
        "96", "block"
    )
    family = tessera.Format.parse(text)
    assert family.with_block(4).name == "f4"
    assert family.with_block(4).struct_type((4,)).size_bytes == 4
    assert format.with_block(7) == format
    with pytest.raises(tessera.TesseraError, match="is a family, and its block size is open"):
        family.struct_type((4,))
    with pytest.raises(tessera.TesseraError, match="a block has 0 values"):
        family.with_block(0)


def test_struct_types():
    format = tessera.Format("int8_channel")
    type = format.struct_type((3, 5))
    assert (type.name, type.size_bytes) == ("INT8_CHANNEL", 3 * 4 + 15)
    assert format.struct_type((3, 5), name="W").name == "W"
    assert type.profile() == format.profile().resolved()
    sparse = tessera.Format("sketch.spqr")
    assert sparse.struct_type((16, 16), outliers=5).size_bytes == 256 * 3 // 8 + 5 * 10
    own = tessera.Format.parse(OWN).struct_type((2, 3, 4))
    assert own.decoder is not None and own.size_bytes == 24


def test_decoders():
    text = tessera.Format("int8_tensor").decoder((2, 3), opset=17)
    assert re.search(r'opset_import: \["" *: *17\]', text)
    assert "float[2,3] Y" in text
    own = tessera.Format.parse(OWN)
    assert re.search(r'opset_import: \["" *: *13\]', own.decoder((2, 4)))
    assert re.search(r'opset_import: \["" *: *22\]', own.decoder((2, 4), opset=22))
    assert own.decoder((2, 4)) == own.struct_type((2, 4)).decoder
    with pytest.raises(tessera.TesseraError) as raised:
        own.decoder((2, 4), opset=12)
    assert raised.value.code == "argument"
    with pytest.raises(tessera.TesseraError) as raised:
        tessera.Format("sketch.custom").decoder((2, 4))
    assert raised.value.code == "no-decoder"


def test_encoders():
    format = tessera.Format("int4_b32")
    text = format.encoder((2, 64), opset=17)
    assert re.search(r'opset_import: \["" *: *17\]', text)
    assert "uint8[72] bytes" in text and "float[2,64] X" in text
    assert re.search(r'opset_import: \["" *: *21\]', format.encoder((2, 64)))
    type = format.struct_type((2, 64), encoder_opset=17)
    assert type.encoder == text and type.decoder is None
    assert format.struct_type((2, 64), decoder_opset=21, encoder_opset=21).decoder is not None
    with pytest.raises(tessera.TesseraError) as raised:
        format.encoder((2, 64), opset=12)
    assert raised.value.code == "argument"
    for refused in (tessera.Format("q4_0"), tessera.Format("int4z_b32"), tessera.Format("sketch.custom")):
        with pytest.raises(tessera.TesseraError) as raised:
            refused.encoder((2, 64))
        assert raised.value.code == "no-encoder"
        with pytest.raises(tessera.TesseraError) as raised:
            refused.struct_type((2, 64), encoder_opset=21)
        assert raised.value.code == "no-encoder"


def blocks(rng, count, block):
    """Payload of int4_b{block} with ordinary scales, and the values that it means."""
    scales = rng.uniform(-2, 2, count).astype(np.float16)
    codes = rng.integers(-8, 8, (count, block))
    packed = ((codes[:, 0::2] & 15) | (codes[:, 1::2] & 15) << 4).astype(np.uint8)
    payload = np.concatenate([scales.view(np.uint8).reshape(count, 2), packed], axis=1)
    return payload, codes.astype(np.float32) * scales.astype(np.float32)[:, None]


def test_decode():
    rng = np.random.default_rng(7)
    payload, values = blocks(rng, 12, 32)
    format = tessera.Format("int4_b32")
    decoded = format.decode(payload, (3, 4, 32))
    assert decoded.dtype == np.float32 and decoded.shape == (3, 4, 32)
    assert not decoded.flags.writeable
    assert np.array_equal(decoded, values.reshape(3, 4, 32))
    assert np.array_equal(format.decode(payload.tobytes(), [6, 64]), values.reshape(6, 64))
    assert format.decode(b"", (0, 32)).shape == (0, 32)

    codes = rng.integers(0, 0x7F, (2, 128), dtype=np.uint8)
    scale = np.float32(0.75)
    payload = np.concatenate([np.full((2, 1), scale).view(np.uint8), codes], axis=1)
    values = codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale
    assert np.array_equal(tessera.Format("fp8_e4m3_b128").decode(payload, (2, 128)), values)

    zeros = rng.integers(0, 16, (4, 1), dtype=np.uint8)
    codes = rng.integers(0, 16, (4, 32), dtype=np.uint8)
    scales = rng.uniform(0.1, 2, (4, 1)).astype(np.float16)
    payload = np.concatenate([scales.view(np.uint8), zeros, codes[:, 0::2] | codes[:, 1::2] << 4], axis=1)
    values = (codes.astype(np.float32) - zeros) * scales.astype(np.float32)
    assert np.array_equal(tessera.Format("int4z_b32").decode(payload, (4, 32)), values)


def test_values_in_a_model(tmp_path, make_model):
    payload, values = blocks(np.random.default_rng(8), 4, 32)
    format = tessera.Format("int4_b32")
    view = format.struct_type((2, 64), name="W").view(payload)
    assert np.array_equal(format.dequantize(view), values.reshape(2, 64))
    path = tmp_path / "m.onnx"
    onnx.save(make_model(), path)
    model = tessera.load(path)
    model.add_struct_initializer("w.q", view.type, view.payload)
    model.save(path)
    assert tessera.check(path) == []
    value = tessera.load(path).structs["w.q"]
    assert np.array_equal(format.dequantize(value), values.reshape(2, 64))
    for other in ("int4z_b32", "int8_tensor", "int4_b64"):
        with pytest.raises(tessera.TesseraError, match=f"is not the type of {other} for the shape 2x64") as raised:
            tessera.Format(other).dequantize(value)
        assert raised.value.code == "format-value"
    shapeless = tessera.StructType.parse('StructTypeProto { name: "A" array: array(UINT8, dimension=4) }')
    with pytest.raises(tessera.TesseraError, match="does not say of which shape"):
        format.dequantize(shapeless.view(bytes(4)))


def test_a_format_of_ones_own():
    format = tessera.Format.parse(OWN)
    array = np.arange(8, dtype=np.float32).reshape(2, 4) / 2
    view = format.quantize(array)
    assert bytes(view.payload) == bytes(range(8))
    assert np.array_equal(format.dequantize(view), array)
    assert np.array_equal(format.decode(view.payload, (2, 4)), array)
    assert np.array_equal(format.dequantize(format.quantize(array.astype(np.float64))), array)
    assert bytes(format.quantize(array[:, ::-1]).payload) == bytes([3, 2, 1, 0, 7, 6, 5, 4])
    with pytest.warns(RuntimeWarning, match="those given have no effect"):
        format.quantize(array, weights=np.ones(4))


def test_data_of_a_model():
    open_ = tessera.Format.parse(BOOK)
    assert open_.data == {"levels": 4}
    assert open_.bits_per_weight() == 2.0
    with pytest.raises(tessera.TesseraError) as raised:
        open_.decode(b"\xe4", (4,))
    assert raised.value.code == "unbound-parameter"
    levels = np.array([-1, 0.25, 0.5, 3], np.float32)
    bound = tessera.Format.parse(BOOK, parameters={"levels": levels})
    assert np.array_equal(bound.decode(b"\xe4", (4,)), levels)
    assert bound != open_
    assert bound == tessera.Format.parse(BOOK, parameters={"levels": levels})
    sketch = tessera.Format("sketch.aqlm_2x8", parameters={"codebook_data": np.zeros(4096)})
    assert sketch.struct_type((8, 8)).size_bytes == 16


def test_what_is_refused():
    format = tessera.Format("int4_b32")
    for call, code, text in (
        (lambda: tessera.Format("int4_b33x"), "format-name", "no format goes by that name"),
        (lambda: tessera.Format("int8_tenser"), "format-name", "did you mean 'int8_tensor'"),
        (lambda: format.struct_type((4, 100)), "format-shape", "nearest: 96 or 128"),
        (lambda: format.decode(bytes(17), (1, 32)), "payload-size", "the payload has 17 bytes, and 1x32 takes 18"),
        (lambda: format.decode(bytes(19), (1, 32)), "payload-size", "the payload has 19 bytes, and 1x32 takes 18"),
        (lambda: format.quantize(np.zeros((2, 31))), "format-shape", "nearest: 32"),
        (lambda: format.quantize(np.zeros((2, 32)), np.ones(31)), "argument", "31 weights, and a row has 32 values"),
        (lambda: tessera.Format.parse(OWN, file_name="f.txt", limits=tessera.Limits(depth=1)), "limit-depth", "f.txt"),
        (
            lambda: tessera.Format.parse("FormatProto { }", file_name="f.txt"),
            "format-value",
            "f.txt:1:1: a format has no",
        ),
        (lambda: tessera.Format("int4_b32", parameters={"cols": 3}).struct_type((4, 32)), "argument", "cannot be set"),
    ):
        with pytest.raises(tessera.TesseraError, match=re.escape(text)) as raised:
            call()
        assert raised.value.code == code
    with pytest.raises((TypeError, ValueError)):
        format.quantize(["text"])


def test_formats_of_the_founding_document(root):
    folder = Path(os.environ.get("TESSERA_SHARED", root.parent / "shared")) / "spec/examples"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder} (set TESSERA_SHARED)")
    sketches = [tessera.Format(name) for name in tessera.formats() if name.startswith("sketch.")]
    assert len(sketches) == 40
    for sketch in sketches:
        example = sketch.sources[0].removeprefix("the founding document, example ")
        assert (folder / f"{example}.profile.txt").is_file(), sketch.name


def test_operators_of_somebody_else():
    def dequantize(codes, shape):
        assert codes.dtype == np.uint8 and shape == (2, 2)
        return np.stack([codes & 15, codes >> 4], axis=-1) * 2.5

    def quantize(values, size):
        assert values.dtype == np.float32 and values.shape == (2, 2) and size == 2
        codes = np.round(values / 2.5).astype(np.uint8).reshape(2, 2)
        return codes[:, 0] | codes[:, 1] << 4

    custom = tessera.Format("sketch.custom")
    with pytest.raises(tessera.TesseraError, match="'vendor::DequantizeV2', which is not registered"):
        custom.decode(bytes(2), (2, 2))
    tessera.register_operator("vendor::DequantizeV2", dequantize=dequantize)
    tessera.register_operator("vendor::QuantizeV2", quantize=quantize)
    try:
        value = custom.quantize([[0, 2.5], [5, 37.5]])
        assert bytes(value.payload) == bytes([0x10, 0xF2])
        assert custom.dequantize(value).tolist() == [[0, 2.5], [5, 37.5]]
        with pytest.raises(tessera.TesseraError, match="is registered already"):
            tessera.register_operator("vendor::QuantizeV2", quantize=quantize)
        with pytest.raises(ValueError, match="has to be given"):
            tessera.register_operator("vendor::Nothing")
        # What goes wrong inside is an error of the format's, and names the operator.
        with pytest.raises(tessera.TesseraError, match=r"vendor::DequantizeV2.*AssertionError"):
            custom.decode(bytes(3), (6,))
    finally:
        assert tessera.unregister_operator("vendor::DequantizeV2")
        assert tessera.unregister_operator("vendor::QuantizeV2")
    assert not tessera.unregister_operator("vendor::QuantizeV2")
    tessera.register_operator("vendor::DequantizeV2", dequantize=lambda codes, shape: np.zeros(7))
    try:
        with pytest.raises(tessera.TesseraError, match="gives 28 bytes"):
            custom.decode(bytes(2), (2, 2))
    finally:
        tessera.unregister_operator("vendor::DequantizeV2")
