"""ggml's tensor types in the catalogue: bytes and values of ggml itself, decoded by every means that there is.

The files of the checkout are read, not what the library was built with.
"""

import functools
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from format_runs import assert_same_bits, decoder_model, in_onnxruntime, in_reference, leaf_arrays, portable_model

import tessera

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "testdata/ggml"
OPSETS = [13, 18, 21, 26]
PLAIN = {"F64": "<f8", "I8": "<i1", "I16": "<i2", "I32": "<i4", "I64": "<i8"}  # ggml does not decode these to floats


def block_types() -> dict[str, tuple[int, int]]:
    """Name of ggml -> values and bytes of a block; those that ggml removed have none."""
    rows = [line.split() for line in (DATA / "block_types.txt").read_text().splitlines()]
    return {name: (int(values), int(size)) for _, name, values, size in rows if int(values) > 0}


BLOCKS = block_types()


def catalog_name(name: str) -> str:
    return {"MXFP4": "ggml_mxfp4", "NVFP4": "ggml_nvfp4"}.get(name, name.lower())


@functools.cache
def format_of(name: str) -> tessera.Format:
    path = ROOT / f"src/tessera/formats/catalog/{catalog_name(name)}.txt"
    return tessera.Format.parse(path.read_text(), file_name=path.name)


def shape_of(name: str, payload: bytes) -> tuple[int, int]:
    """Rows of one block: any shape that the blocks divide has the same bytes."""
    values, size = BLOCKS[name]
    return len(payload) // size, values


@functools.cache
def golden(name: str) -> dict[str, tuple[bytes, np.ndarray]]:
    """Bytes and values: of quantized rows, of random blocks, and where there are so few, of all codes."""
    cases = {}
    for label in ("", ".fuzz"):
        values = np.fromfile(DATA / f"{name}{label}.f32", "<f4")
        cases[label or ".bin"] = ((DATA / f"{name}{label}.bin").read_bytes(), values)
    codes = DATA / f"{name}.allcodes.f32"
    if codes.exists():
        cases[".allcodes"] = (np.arange(1 << 16, dtype="<u2").tobytes(), np.fromfile(codes, "<f4"))
    return cases


GOLDENS = [name for name in BLOCKS if name not in PLAIN]


# Both zeros, the least and largest numbers, infinities, NaN and one, as codes.
SPECIALS = {
    "FLOAT16": np.array([0, 0x8000, 1, 0x83FF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFC01, 0x3C00], "<u2"),
    "BFLOAT16": np.array([0, 0x8000, 1, 0x807F, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFF81, 0x3F80], "<u2"),
    "FLOAT": np.array([0, 1 << 31, 1, 0x807FFFFF, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000], "<u4"),
}


def random_blocks(name: str, count: int) -> bytes:
    """Any bytes, but in a quarter of the blocks special scales."""
    values, size = BLOCKS[name]
    generator = np.random.default_rng(sum(name.encode()))
    blocks = generator.integers(0, 256, (count, size), dtype=np.uint8)
    chosen = np.arange(0, count, 4)
    step = 1
    for leaf in format_of(name).struct_type((values,)).leaves:
        if leaf.constant is None and leaf.element_type in SPECIALS and leaf.shape == (1,):
            codes = SPECIALS[leaf.element_type]
            bytes_ = codes[np.arange(chosen.size) // step % codes.size].reshape(-1, 1).view(np.uint8)
            step *= codes.size  # so that two fields have all pairs
            at = leaf.bit_offset // 8
            blocks[chosen, at : at + bytes_.shape[1]] = bytes_
    if name == "IQ1_M":
        codes = SPECIALS["FLOAT16"][np.arange(chosen.size) % SPECIALS["FLOAT16"].size]
        for part in range(4):
            at = 49 + 2 * part
            blocks[chosen, at] = blocks[chosen, at] & 15 | (codes >> 4 * part & 15).astype(np.uint8) << 4
    if name in ("MXFP4", "NVFP4"):
        blocks[:, 0] = np.arange(count)
    return blocks.tobytes()


def assert_decodes(name: str, opset: int, payload: bytes, expected: np.ndarray) -> None:
    """By the decoder and by the function from the bytes, in ONNX's reference and in onnxruntime."""
    shape = shape_of(name, payload)
    type_ = format_of(name).struct_type(shape)
    assert type_.size_bytes == len(payload)
    model = decoder_model(type_, format_of(name).decoder(shape, opset=opset), opset)
    arrays = leaf_arrays(type_, payload)
    assert_same_bits(in_reference(model, arrays), expected)
    assert_same_bits(in_onnxruntime(model, arrays), expected)
    portable = portable_model(type_, opset)
    payload_array = {"payload": np.frombuffer(payload, np.uint8)}
    assert_same_bits(in_reference(portable, payload_array), expected)
    assert_same_bits(in_onnxruntime(portable, payload_array), expected)


@pytest.mark.parametrize("name", BLOCKS)
def test_layouts_are_those_of_ggml(name):
    format = format_of(name)
    values, size = BLOCKS[name]
    assert format.name == catalog_name(name)
    assert format.author == ("ggml" if values > 1 else "ONNX")
    assert format.block == values
    assert format.struct_type((values,)).size_bytes == size
    assert format.struct_type((2, 3, 5 * values)).size_bytes == 30 * size
    assert format.bits_per_weight() == 8 * size / values
    for shape in ((0, values), (3, 0, values)):
        assert format.struct_type(shape).size_bytes == 0


def test_every_file_of_ggml_is_one_of_its_types():
    folder = ROOT / "src/tessera/formats/catalog"
    files = {path.stem for path in folder.glob("*.txt") if 'author: "ggml"' in path.read_text()}
    assert files == {catalog_name(name) for name, (values, _) in BLOCKS.items() if values > 1}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", GOLDENS)
def test_goldens(name, opset):
    for payload, expected in golden(name).values():
        assert_decodes(name, opset, payload, expected)


@pytest.mark.parametrize("name", GOLDENS)
def test_goldens_in_the_library(name):
    """The native codec, and our evaluator of the decoder."""
    for payload, expected in golden(name).values():
        shape = shape_of(name, payload)
        assert_same_bits(format_of(name).decode(payload, shape), expected)
        assert_same_bits(np.asarray(format_of(name).struct_type(shape).decode(payload)), expected)


@pytest.mark.parametrize("name", GOLDENS)
def test_goldens_have_the_size_of_their_manifest(name):
    entry = json.loads((DATA / "manifest.json").read_text())
    assert name in json.dumps(entry)
    for payload, expected in golden(name).values():
        rows, values = shape_of(name, payload)
        assert rows * values == expected.size and rows * BLOCKS[name][1] == len(payload)


def worked_examples() -> list[tuple[str, bytes, str]]:
    rows = [line.split() for line in (DATA / "worked_examples.txt").read_text().splitlines()]
    return [(name, bytes.fromhex(block), digest) for name, block, digest in rows]


@pytest.mark.parametrize(("name", "block", "digest"), worked_examples(), ids=[row[0] for row in worked_examples()])
def test_worked_examples(name, block, digest):
    shape = shape_of(name, block)
    type_ = format_of(name).struct_type(shape)
    for opset in OPSETS:
        model = decoder_model(type_, format_of(name).decoder(shape, opset=opset), opset)
        for run in (in_reference, in_onnxruntime):
            values = run(model, leaf_arrays(type_, block))
            assert hashlib.sha256(values.astype("<f4").tobytes()).hexdigest() == digest, (opset, run.__name__)


# What ggml's own random blocks leave out: infinite and NaN scales. Native codecs share no code with decoders.
@pytest.mark.parametrize("name", [name for name in BLOCKS if name not in PLAIN])
def test_any_bytes_mean_the_same_to_the_native_codec(name):
    payload = random_blocks(name, 4096 if BLOCKS[name][0] < 256 else 1024)
    expected = format_of(name).decode(payload, shape_of(name, payload))
    assert np.isnan(expected).any() == (name not in ("MXFP4", "NVFP4"))
    assert np.isinf(expected).any() == (name != "NVFP4")
    for opset in (OPSETS[0], OPSETS[-1]):
        assert_decodes(name, opset, payload, expected)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_numbers(name):
    generator = np.random.default_rng(1)
    numbers = np.frombuffer(generator.bytes(8 * 4096), PLAIN[name]).copy()
    if name == "F64":
        numbers[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, 1e-320, 1 + 2.0**-24]
        numbers[8:2048] = generator.normal(size=2040)
    else:
        limits = np.iinfo(PLAIN[name])
        numbers[:4] = [limits.min, limits.max, 0, -1]
    with np.errstate(all="ignore"):
        expected = numbers.astype(np.float32)
    for opset in OPSETS:
        assert_decodes(name, opset, numbers.tobytes(), expected)
    payload = numbers.tobytes()
    assert_same_bits(format_of(name).decode(payload, (numbers.size, 1)), expected)


@pytest.mark.parametrize("name", ["Q4_K", "IQ1_M", "F16"])
def test_shapes_of_more_axes(name):
    payload, expected = golden(name)[".fuzz"]
    values, size = BLOCKS[name]
    shape = (2, 3, 4 * values)
    payload, expected = payload[: 24 * size], expected[: 24 * values].reshape(shape)
    type_ = format_of(name).struct_type(shape)
    got = in_onnxruntime(portable_model(type_, 18), {"payload": np.frombuffer(payload, np.uint8)})
    assert got.shape == shape
    assert_same_bits(got, expected)
    assert np.asarray(type_.decode(payload)).shape == shape
    for empty in ((0, values), (0, 3, values)):
        assert np.asarray(format_of(name).struct_type(empty).decode(b"")).shape == empty


def bits_without_effect(name: str) -> set[int]:
    """Bits that decide no value: sums that are kept for products, and bit 7 of NVFP4's scales."""
    return set({"Q8_1": range(16, 32), "Q8_K": range(8 * 260, 8 * 292), "NVFP4": range(7, 32, 8)}.get(name, ()))


@pytest.mark.parametrize("name", [name for name in GOLDENS if BLOCKS[name][0] > 1])
def test_every_bit_flipped(name):
    """Every bit of a block changes the values that the native codec says, and a block of which it changes some."""
    payload, _ = golden(name)[".fuzz"]
    values, size = BLOCKS[name]
    bits = np.arange(8 * size)
    unused = set(bits.tolist())
    for number in range(12):
        block = np.frombuffer(payload[number * size : (number + 1) * size], np.uint8)
        flipped = np.repeat(block[None], 8 * size + 1, axis=0)
        flipped[bits, bits // 8] ^= (1 << bits % 8).astype(np.uint8)
        type_ = format_of(name).struct_type((8 * size + 1, values))
        got = in_onnxruntime(portable_model(type_, 13), {"payload": flipped.reshape(-1)})
        assert_same_bits(got, format_of(name).decode(flipped, got.shape))
        changed = (got[:-1].view("u4") != got[-1].view("u4")).any(axis=1)
        unused -= set(bits[changed].tolist())
    assert unused == bits_without_effect(name)
