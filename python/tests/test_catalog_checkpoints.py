"""Formats of checkpoints and of ONNX's blocked integers: bytes and values of models written here, decoded by every
means that there is.

The models follow what the authors of the formats say (the files name their sources) in plain numpy; small floats are
those of ml_dtypes. The files of the checkout are read, not what the library was built with.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from format_runs import (
    assert_same_bits,
    decoder_model,
    in_onnxruntime,
    in_reference,
    leaf_arrays,
    onnxruntime,
    portable_model,
)

import tessera

ml_dtypes = pytest.importorskip("ml_dtypes", reason="comes with onnx")

CATALOG = Path(__file__).resolve().parents[2] / "src/tessera/formats/catalog"
OPSETS = [13, 18, 21, 26]
FLOATS = {
    "e2m1": ml_dtypes.float4_e2m1fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}
NF4 = np.array(
    [
        *(0xBF800000, 0xBF3239B1, 0xBF066B30, 0xBECA32A0, 0xBE91A24D, 0xBE3D353F, 0xBDBA7871, 0),
        *(0x3DA2FAFF, 0x3E24CAE3, 0x3E7C04DD, 0x3EAD033A, 0x3EE1A4B8, 0x3F1007AB, 0x3F3913B3, 0x3F800000),
    ],
    "u4",
).view("f4")
FP4_HALF = np.array([0, 0x3BAAAAAB, 0x3F2AAAAB, 0x3F800000, 0x3EAAAAAB, 0x3F000000, 0x3E2AAAAB, 0x3E800000], "u4")
FP4 = np.concatenate([FP4_HALF.view("f4"), -FP4_HALF.view("f4")])
FP4[8] = 0.0  # without a sign


# ---- Models


def numbers(kind: str, codes: np.ndarray) -> np.ndarray:
    return codes.astype(np.uint8).view(FLOATS[kind]).astype(np.float32)


def power(codes: np.ndarray) -> np.ndarray:
    """E8M0."""
    exponents = codes.astype(np.int32) - 127
    return np.where(codes == 255, np.float32(np.nan), np.ldexp(np.float32(1), exponents)).astype(np.float32)


def stream(payload: bytes, bits: int) -> np.ndarray:
    """Codes one behind the other from the least significant bit of the first byte."""
    plane = np.unpackbits(np.frombuffer(payload, np.uint8), bitorder="little")
    return plane[: plane.size // bits * bits].reshape(-1, bits) @ (1 << np.arange(bits))


class Parts:
    """The arrays of a payload."""

    def __init__(self, payload: bytes):
        self.rest = payload

    def take(self, size: int) -> bytes:
        assert size <= len(self.rest)
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def floats(self, count: int) -> np.ndarray:
        return np.frombuffer(self.take(4 * count), "<f4")


def whole_rows(array: np.ndarray, block: int) -> np.ndarray:
    """An entry a block becomes one a value."""
    return np.repeat(array, block, axis=-1)


def mx(payload: bytes, shape: tuple[int, ...], kind: str, bits: int) -> np.ndarray:
    count = math.prod(shape)
    parts = Parts(payload)
    elements = numbers(kind, stream(parts.take(count * bits // 8), bits)).reshape(-1, 32)
    return elements * power(np.frombuffer(parts.take(count // 32), np.uint8))[:, None]


def mxint8(payload: bytes, shape: tuple[int, ...]) -> np.ndarray:
    count = math.prod(shape)
    parts = Parts(payload)
    elements = np.frombuffer(parts.take(count), np.int8).astype(np.float32).reshape(-1, 32) * np.float32(2.0**-6)
    return elements * power(np.frombuffer(parts.take(count // 32), np.uint8))[:, None]


def nvfp4(payload: bytes, shape: tuple[int, ...]) -> np.ndarray:
    count = math.prod(shape)
    parts = Parts(payload)
    elements = numbers("e2m1", stream(parts.take(count // 2), 4)).reshape(-1, 16)
    scales = numbers("e4m3", np.frombuffer(parts.take(count // 16), np.uint8))
    return elements * (scales * parts.floats(1))[:, None]


def fp8(payload: bytes, shape: tuple[int, ...], kind: str, channels: bool) -> np.ndarray:
    parts = Parts(payload)
    elements = numbers(kind, np.frombuffer(parts.take(math.prod(shape)), np.uint8)).reshape(shape[0], -1)
    return elements * parts.floats(shape[0] if channels else 1)[:, None]


def fp8_blocks(payload: bytes, shape: tuple[int, ...]) -> np.ndarray:
    rows, cols = math.prod(shape[:-1]), shape[-1]
    parts = Parts(payload)
    elements = numbers("e4m3", np.frombuffer(parts.take(rows * cols), np.uint8)).reshape(rows, cols)
    scales = parts.floats(-(-rows // 128) * -(-cols // 128)).reshape(-(-rows // 128), -1)
    return elements * np.repeat(np.repeat(scales, 128, axis=0), 128, axis=1)[:rows, :cols]


def bnb(payload: bytes, shape: tuple[int, ...], levels: np.ndarray, block: int, nested: bool) -> np.ndarray:
    count = math.prod(shape)
    blocks = -(-count // block)
    parts = Parts(payload)
    codes = np.frombuffer(parts.take(-(-count // 2)), np.uint8)
    codes = np.stack([codes >> 4, codes & 15], axis=-1).reshape(-1)[:count]
    if nested:
        indices = np.frombuffer(parts.take(blocks), np.uint8)
        groups = np.repeat(parts.floats(-(-blocks // 256)), 256)[:blocks]
        absmax = parts.floats(256)[indices] * groups + parts.floats(1)
    else:
        absmax = parts.floats(blocks)
    return levels[codes] * np.repeat(absmax, block)[:count]


def bnb_int8(payload: bytes, shape: tuple[int, ...]) -> np.ndarray:
    parts = Parts(payload)
    codes = np.frombuffer(parts.take(math.prod(shape)), np.int8).astype(np.float32).reshape(-1, shape[-1])
    return codes * parts.floats(codes.shape[0])[:, None] * np.float32(7.874015718698502e-3)


def integers(codes: np.ndarray, bits: int, signed: bool) -> np.ndarray:
    return np.where(signed & (codes >= 1 << bits - 1), codes - (1 << bits), codes).astype(np.float32)


def onnx_integers(payload: bytes, shape: tuple[int, ...], bits: int, signed: bool, block: int) -> np.ndarray:
    rows, cols = math.prod(shape[:-1]), shape[-1]
    blocks = -(-cols // block)
    parts = Parts(payload)
    codes = stream(parts.take(-(-rows * cols * bits // 8)), bits)[: rows * cols].reshape(rows, cols)
    scales = parts.floats(rows * blocks).reshape(rows, blocks)
    zeros = stream(parts.take(-(-rows * blocks * bits // 8)), bits)[: rows * blocks].reshape(rows, blocks)
    moved = integers(codes, bits, signed) - whole_rows(integers(zeros, bits, signed), block)[:, :cols]
    return moved * whole_rows(scales, block)[:, :cols]


def matmulnbits(payload: bytes, shape: tuple[int, ...], bits: int, block: int) -> np.ndarray:
    rows, cols = math.prod(shape[:-1]), shape[-1]
    blocks = -(-cols // block)
    parts = Parts(payload)
    codes = stream(parts.take(rows * blocks * block * bits // 8), bits).reshape(rows, blocks * block)
    scales = parts.floats(rows * blocks).reshape(rows, blocks)
    row_bytes = -(-blocks * bits // 8)
    zeros = stream(parts.take(rows * row_bytes), bits).reshape(rows, -1)[:, :blocks]
    moved = codes.astype(np.float32) - whole_rows(zeros.astype(np.float32), block)
    return (moved * whole_rows(scales, block))[:, :cols]


ALIGNED = [(4, 64), (3, 96), (2, 3, 32), (32,)]
TAILS = [(4, 128), (3, 70), (5, 33), (2, 3, 31), (7,), (1, 1), (3, 257)]


@dataclass
class Row:
    """A format, what its bytes mean, and shapes that it takes."""

    model: Callable[[bytes, tuple[int, ...]], np.ndarray]
    shapes: list[tuple[int, ...]] = field(default_factory=lambda: TAILS)
    many: tuple[int, int] = (1, 1)  # a shape of at least 10,000 blocks
    leaves: int | None = 13  # the first opset whose decoder takes the leaves; None: none does


def aligned(model, many=(100, 3232), **more) -> Row:
    return Row(model, shapes=ALIGNED, many=many, **more)


PART = functools.partial
ROWS: dict[str, Row] = {
    "mxfp4": aligned(PART(mx, kind="e2m1", bits=4), leaves=24),
    "mxfp6_e3m2": aligned(PART(mx, kind="e3m2", bits=6), leaves=None),
    "mxfp6_e2m3": aligned(PART(mx, kind="e2m3", bits=6), leaves=None),
    "mxfp8_e4m3": aligned(PART(mx, kind="e4m3", bits=8), leaves=24),
    "mxfp8_e5m2": aligned(PART(mx, kind="e5m2", bits=8), leaves=24),
    "mxint8": aligned(mxint8, leaves=24),
    "nvfp4": aligned(nvfp4, many=(100, 1616), leaves=23),
    "fp8_e4m3": Row(PART(fp8, kind="e4m3", channels=False), many=(128, 257), leaves=19),
    "fp8_e5m2": Row(PART(fp8, kind="e5m2", channels=False), many=(128, 257), leaves=19),
    "fp8_e4m3_channel": Row(PART(fp8, kind="e4m3", channels=True), many=(10007, 5), leaves=19),
    "fp8_e5m2_channel": Row(PART(fp8, kind="e5m2", channels=True), many=(10007, 5), leaves=19),
    "fp8_block128x128": Row(fp8_blocks, [*TAILS, (130, 300), (2, 65, 129)], (1500, 1700)),
    "nf4_b64": Row(PART(bnb, levels=NF4, block=64, nested=False), many=(1001, 641)),
    "nf4_b128": Row(PART(bnb, levels=NF4, block=128, nested=False), many=(1001, 1281)),
    "bnb_fp4_b64": Row(PART(bnb, levels=FP4, block=64, nested=False), many=(1001, 641)),
    "nf4_dq_b64": Row(PART(bnb, levels=NF4, block=64, nested=True), many=(1001, 641)),
    "bnb_fp4_dq_b64": Row(PART(bnb, levels=FP4, block=64, nested=True), many=(1001, 641)),
    "bnb_int8": Row(bnb_int8, many=(10007, 9)),
}
for bits_ in (2, 4, 8):
    for signed_ in (False, True):
        for block_ in (32, 20):
            ROWS[f"onnx_{'' if signed_ else 'u'}int{bits_}_b{block_}"] = Row(
                PART(onnx_integers, bits=bits_, signed=signed_, block=block_), many=(1001, 10 * block_ + 3)
            )
    for block_ in (32, 16):
        ROWS[f"matmulnbits{bits_ if bits_ != 4 else ''}_b{block_}"] = Row(
            PART(matmulnbits, bits=bits_, block=block_), many=(1001, 10 * block_ + 3)
        )


@functools.cache
def format_of(name: str) -> tessera.Format:
    path = CATALOG / f"{name}.txt"
    if path.exists():
        return tessera.Format.parse(path.read_text(), file_name=path.name)
    stem, _, block = name.rpartition("_b")
    path = CATALOG / f"{stem}_b.txt"
    return tessera.Format.parse(path.read_text(), file_name=path.name).with_block(int(block))


def row_of(name: str) -> Row:
    """Families have rows for some of their blocks."""
    if name in ROWS:
        return ROWS[name]
    stem, _, block = name.rpartition("_b")
    row = ROWS[f"{stem}_b32"]
    return replace(row, model=functools.partial(row.model, block=int(block)))


def model_of(name: str, payload: bytes, shape: tuple[int, ...]) -> np.ndarray:
    with np.errstate(all="ignore"):
        values = row_of(name).model(payload, shape)
    assert values.dtype == np.float32
    return values.reshape(shape)


# Both zeros, the least and largest numbers, infinities, NaN and one, as codes.
SPECIALS = np.array(
    [0, 1 << 31, 1, 0x807FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000], "<u4"
)


def random_payload(name: str, shape: tuple[int, ...], seed: int = 0) -> bytes:
    """Any bytes, but a quarter of the floats are special, and the others have sensible magnitudes half of the time."""
    generator = np.random.default_rng([seed, *name.encode(), *shape])
    type_ = format_of(name).struct_type(shape)
    payload = generator.integers(0, 256, type_.size_bytes, dtype=np.uint8)
    for leaf in type_.leaves:
        if leaf.constant is not None or leaf.element_type != "FLOAT":
            continue
        count = math.prod(leaf.shape)
        codes = generator.integers(0, 1 << 32, count, dtype=np.uint32)
        plain = generator.random(count) < 0.5
        codes[plain] = generator.normal(size=int(plain.sum())).astype("<f4").view("<u4")
        special = generator.random(count) < 0.25
        codes[special] = SPECIALS[np.arange(special.sum()) % SPECIALS.size]
        begin = leaf.bit_offset // 8
        payload[begin : begin + 4 * count] = codes.astype("<u4").view(np.uint8)
    return payload.tobytes()


def assert_decodes(name: str, shape: tuple[int, ...], payload: bytes, opset: int) -> None:
    """By the decoder and by the function from the bytes, in ONNX's reference and in onnxruntime."""
    expected = model_of(name, payload, shape)
    type_ = format_of(name).struct_type(shape)
    assert type_.size_bytes == len(payload)
    first = row_of(name).leaves
    if first is not None and opset >= first:
        model = decoder_model(type_, format_of(name).decoder(shape, opset=opset), opset)
        arrays = leaf_arrays(type_, payload)
        assert_same_bits(in_reference(model, arrays), expected)
        if first == 13:
            assert_same_bits(in_onnxruntime(model, arrays), expected)
    else:
        with pytest.raises(tessera.TesseraError) as error:
            format_of(name).decoder(shape, opset=opset)
        assert error.value.code == "no-decoder"
    portable = portable_model(type_, opset)
    array = {"payload": np.frombuffer(payload, np.uint8)}
    assert_same_bits(in_reference(portable, array), expected)
    got = in_onnxruntime(portable, array)
    assert got.shape == shape
    assert_same_bits(got, expected)


# ---- All formats


def test_every_file_is_here():
    texts = {path.stem: path.read_text() for path in CATALOG.glob("*.txt")}
    own = {"ggml", "Tessera", "the founding document"}
    files = {name for name, text in texts.items() if not any(f'author: "{author}"' in text for author in own)}
    plain = {"f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64"}
    assert files - plain == {
        name if (CATALOG / f"{name}.txt").exists() else f"{name.rpartition('_b')[0]}_b" for name in ROWS
    }


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", ROWS)
def test_shapes(name, opset):
    for shape in ROWS[name].shapes:
        for seed in range(2):
            assert_decodes(name, shape, random_payload(name, shape, seed), opset)


@pytest.mark.parametrize("opset", [13, 26])
@pytest.mark.parametrize("name", ROWS)
def test_ten_thousand_blocks(name, opset):
    shape = ROWS[name].many
    assert_decodes(name, shape, random_payload(name, shape), opset)


@pytest.mark.parametrize("name", ROWS)
def test_in_the_library(name):
    """The native codec, and our evaluator of the decoder."""
    for shape in [*ROWS[name].shapes, ROWS[name].many]:
        payload = random_payload(name, shape)
        expected = model_of(name, payload, shape)
        assert_same_bits(format_of(name).decode(payload, shape), expected)
        if ROWS[name].leaves is not None:
            opset = max(21, ROWS[name].leaves)
            type_ = format_of(name).struct_type(shape, decoder_opset=None if ROWS[name].leaves == 13 else opset)
            assert_same_bits(np.asarray(type_.decode(payload)), expected)


@pytest.mark.parametrize("name", ROWS)
def test_payloads_of_one_byte_everywhere(name):
    shape = ROWS[name].shapes[1]
    size = format_of(name).struct_type(shape).size_bytes
    for byte in (0, 0x7F, 0x80, 0xFF):
        payload = bytes([byte]) * size
        assert_same_bits(format_of(name).decode(payload, shape), model_of(name, payload, shape))
        assert_decodes(name, shape, payload, 13)


@pytest.mark.parametrize("name", ROWS)
def test_empty_tensors(name):
    for shape in [(0, 32), (0, 3, 32)]:
        type_ = format_of(name).struct_type(shape)
        payload = bytes(type_.size_bytes)  # one scale for all of them is there all the same
        assert format_of(name).decode(payload, shape).shape == shape
        got = in_onnxruntime(portable_model(type_, 13), {"payload": np.frombuffer(payload, np.uint8)})
        assert got.shape == shape


def bits_without_effect(name: str, shape: tuple[int, ...]) -> set[int]:
    """What the layouts leave unused: the rest of a last byte, and of the last block of a row."""
    rows, cols = math.prod(shape[:-1]), shape[-1]
    if name.startswith(("nf4", "bnb_fp4")):
        last = math.prod(shape) // 2  # the byte whose low nibble is no value
        return set(range(8 * last, 8 * last + 4)) if math.prod(shape) % 2 else set()
    bits = next((bits for bits in (2, 4, 8) if f"int{bits}_" in name or f"bits{bits}_" in name), 4)
    block = int(name.rpartition("_b")[2]) if "_b" in name and name.rpartition("_b")[2].isdigit() else 1
    blocks = -(-cols // block)
    zero_bits = rows * blocks * bits
    size = 8 * format_of(name).struct_type(shape).size_bytes
    unused = set()
    if name.startswith("onnx"):
        unused |= set(range(rows * cols * bits, -(-rows * cols * bits // 8) * 8))
        unused |= set(range(size - -(-zero_bits // 8) * 8 + zero_bits, size))
    if name.startswith("matmulnbits"):
        row_bits = blocks * block * bits
        for row in range(rows):
            unused |= set(range(row * row_bits + cols * bits, (row + 1) * row_bits))
        row_bytes = -(-blocks * bits // 8)
        for row in range(rows):
            begin = size - 8 * row_bytes * (rows - row)
            unused |= set(range(begin + blocks * bits, begin + 8 * row_bytes))
    return unused


@pytest.mark.parametrize("name", [name for name in ROWS if ROWS[name].shapes is TAILS])
def test_every_bit_flipped(name):
    """Every bit of a payload changes the values that the model says, in the library as well; those that the layout
    leaves unused change none."""
    shape = (3, 37)
    type_ = format_of(name).struct_type(shape)
    unused = set(range(8 * type_.size_bytes))
    if "dq" in name:  # most of a map's entries are not used
        map_ = next(leaf for leaf in type_.leaves if leaf.input_name == "nested_map")
        unused -= set(range(map_.bit_offset, map_.bit_offset + 256 * 32))
    for seed in range(10):  # in some payloads a scale is 0 or infinite, and hides its codes
        payload = np.frombuffer(random_payload(name, shape, seed), np.uint8)
        plain = model_of(name, payload.tobytes(), shape)
        for bit in sorted(unused):
            flipped = payload.copy()
            flipped[bit // 8] ^= 1 << bit % 8
            expected = model_of(name, flipped.tobytes(), shape)
            assert_same_bits(format_of(name).decode(flipped.tobytes(), shape), expected)
            if (expected.view("u4") != plain.view("u4")).any():
                unused.discard(bit)
    assert unused == bits_without_effect(name, shape)


# ---- Names


@pytest.mark.parametrize("name", ["nf4", "bnb_fp4", "nf4_dq", "bnb_fp4_dq"])
def test_plain_names_have_blocks_of_64(name):
    text = (CATALOG / f"{name}_b.txt").read_text()
    family = tessera.Format.parse(text)
    assert family.with_block(64).aliases == [name] and family.with_block(128).aliases == []
    assert family.with_block(96).struct_type((1, 97)).name.endswith("_B96")


def test_bits_per_weight():
    expected = {
        "mxfp4": 4.25,
        "mxfp6_e3m2": 6.25,
        "mxfp6_e2m3": 6.25,
        "mxfp8_e4m3": 8.25,
        "mxfp8_e5m2": 8.25,
        "mxint8": 8.25,
        "nvfp4": 4.5 + 32 / 4096**2,
        "nf4_b64": 4.5,
        "matmulnbits_b32": 5.125,
    }
    for name, bits in expected.items():
        assert format_of(name).bits_per_weight() == bits, name
    assert format_of("nf4_dq_b64").bits_per_weight() == pytest.approx(4.127, abs=5e-4)


# ---- Examples that are worked out by hand


def all_decode(name: str, shape: tuple[int, ...], payload: bytes, values: list) -> None:
    """The values that come first."""
    for opset in OPSETS:
        assert_decodes(name, shape, payload, opset)
    got = format_of(name).decode(payload, shape).reshape(-1)
    assert_same_bits(got[: len(values)], np.array(values, np.float32))


def test_example_nf4():
    values = [-1.2183374166488647, 1.75, 0.1392655223608017, -1.75]
    all_decode("nf4_b64", (4,), bytes.fromhex("1F80") + np.float32(1.75).tobytes(), values)


def test_example_nf4_nested():
    map_ = np.zeros(256, "<f4")
    map_[255] = 1.0
    payload = bytes.fromhex("1F80FF") + np.float32(0.5).tobytes() + map_.tobytes() + np.float32(1.25).tobytes()
    all_decode("nf4_dq_b64", (4,), payload, [-1.2183374166488647, 1.75, 0.1392655223608017, -1.75])


def test_example_fp4_of_bitsandbytes():
    payload = b"\x1f" + np.float32(1.75).tobytes()
    all_decode("bnb_fp4_b64", (2,), payload, [0.00911458395421505, -0.4375])


def test_example_llm_int8():
    payload = np.array([-64, 127, 1], np.int8).tobytes() + np.float32(2.54).tobytes()
    all_decode("bnb_int8", (1, 3), payload, [-1.2799999713897705, 2.5399999618530273, 0.019999999552965164])


def test_example_nvfp4():
    payload = bytes.fromhex("72A9000000000000") + b"\x44" + np.float32(2.0**-10).tobytes()
    all_decode("nvfp4", (16,), payload, [0.0029296875, 0.017578125, -0.00146484375, -0.0029296875])


def test_example_mxfp4():
    all_decode("mxfp4", (32,), bytes.fromhex("72A9") + bytes(14) + b"\x7d", [0.25, 1.5, -0.125, -0.25])


def test_example_mxfp6():
    packed = bytes.fromhex("5fc012") + bytes(21) + b"\x7f"
    all_decode("mxfp6_e3m2", (32,), packed, [28, 0.0625, -1, 0.25])
    all_decode("mxfp6_e2m3", (32,), packed, [7.5, 0.125, -1.5, 0.5])


def test_example_mxfp8():
    all_decode("mxfp8_e4m3", (32,), bytes.fromhex("38C07E01") + bytes(28) + b"\x80", [2, -4, 896, 0.00390625])
    values = [0.125, -0.25, 7168, 1.9073486328125e-06]
    all_decode("mxfp8_e5m2", (32,), bytes.fromhex("3CC07B01") + bytes(28) + b"\x7c", values)


def test_example_mxint8():
    codes = bytes([127, 128]) + bytes(30)
    all_decode("mxint8", (32,), codes + bytes([127]), [1.984375, -2.0])
    all_decode("mxint8", (32,), codes + bytes([130]), [15.875, -16.0])


@pytest.mark.parametrize("name", ["fp8_e4m3", "fp8_e4m3_channel", "fp8_block128x128"])
def test_example_fp8(name):
    values = [0.012299999594688416, -0.02459999918937683, 5.51039981842041, 2.402343670837581e-05]
    payload = bytes.fromhex("38C07E01") + np.float32(0.0123).tobytes()
    all_decode(name, (1, 4), payload, values)
    bfloats = format_of(name).decode(payload, (1, 4)).astype(ml_dtypes.bfloat16).astype(np.float32)
    assert bfloats.tolist() == [[0.0123291015625, -0.024658203125, 5.5, 2.4080276489257812e-05]]


def test_example_blocked_int4():
    payload = bytes.fromhex("e18307") + np.array([0.5, 0.25, 2], "<f4").tobytes() + bytes.fromhex("010f")
    all_decode("onnx_int4_b2", (1, 5), payload, [0, -1.5, 0.75, -2, 16])


def test_examples_of_raw_data():
    one, zero = np.float32(1).tobytes(), bytes(2)
    all_decode("onnx_int2_b8", (1, 5), bytes.fromhex("3901") + one + zero[:1], [1, -2, -1, 0, 1])
    all_decode("onnx_uint2_b8", (1, 5), bytes.fromhex("6302") + one + zero[:1], [3, 0, 2, 1, 2])
    # Three numbers of FLOAT4E2M1 have no block of their own here: the codes of mxfp4 are packed alike.
    all_decode("mxfp4", (32,), bytes.fromhex("c307") + bytes(14) + b"\x7f", [1.5, -2, 6])


def test_example_matmulnbits():
    payload = bytes.fromhex("1032547698badcfe") + np.float32(0.5).tobytes() + b"\x08"
    all_decode("matmulnbits_b16", (1, 16), payload, [(code - 8) * 0.5 for code in range(16)])


def test_example_matmulnbits_zero_points():
    scales = np.ones(3, "<f4").tobytes()
    got = format_of("matmulnbits_b16").decode(bytes(24) + scales + bytes.fromhex("7809"), (1, 48))
    assert got[0, ::16].tolist() == [-8, -7, -9]
    got = format_of("matmulnbits2_b16").decode(b"\x63" * 20 + np.ones(5, "<f4").tobytes() + b"\x39\x02", (1, 80))
    assert got[0, :4].tolist() == [3 - 1, 0 - 1, 2 - 1, 1 - 1]
    assert got[0, 1::16].tolist() == [-1, -2, -3, 0, -2]


# ---- Cases from bug reports


def test_C20_powers_of_two_without_zero():
    """The scale 0 is 2^-127, 255 is NaN, and all else is exact, subnormal numbers included."""
    scales = [0, 1, 127, 254, 255]
    codes = np.arange(16, dtype=np.uint8)
    block = (codes[0::2] | codes[1::2] << 4).tobytes() * 2
    payload = block * len(scales) + bytes(scales)
    got = format_of("mxfp4").decode(payload, (len(scales), 32))
    elements = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    for row, scale in zip(got, scales, strict=True):
        if scale == 255:
            assert np.isnan(row).all()
            continue
        exact = [math.ldexp(number, scale - 127) for number in elements]
        exact += [-number for number in exact]
        with np.errstate(over="ignore"):
            assert_same_bits(row, np.array(exact * 2, np.float64).astype(np.float32))
        assert row[1] != 0
    assert_same_bits(power(np.arange(256)), np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu).astype("f4"))
    for opset in OPSETS:
        assert_decodes("mxfp4", (len(scales), 32), payload, opset)


def test_C15_linear_and_split_nibbles_are_two_formats():
    codes = bytes(i | (15 - i) << 4 for i in range(16))
    linear = format_of("mxfp4").decode(codes + b"\x7f", (32,))
    split = format_of("ggml_mxfp4").decode(b"\x7f" + codes, (32,))
    numbers_ = numbers("e2m1", np.arange(16))
    assert linear[0::2].tolist() == numbers_.tolist() and linear[1::2].tolist() == numbers_[::-1].tolist()
    assert split[:16].tolist() == numbers_.tolist() and split[16:].tolist() == numbers_[::-1].tolist()
    assert format_of("mxfp4") != format_of("ggml_mxfp4")
    assert linear.tolist() != split.tolist()
    # A converter moves nibbles: the same numbers, in the other order.
    moved = stream(codes, 4)
    moved = np.concatenate([moved[0::2], moved[1::2]])
    ours = (moved[0::2] | moved[1::2] << 4).astype(np.uint8).tobytes()
    assert format_of("mxfp4").decode(ours + b"\x7f", (32,)).tolist() == split.tolist()


# ---- Operators that have the formats


def tensor_of(name: str, type_: str, shape: tuple[int, ...], data: bytes) -> onnx.TensorProto:
    return onnx.helper.make_tensor(name, onnx.TensorProto.DataType.Value(type_), shape, data, raw=True)


@pytest.mark.parametrize(("cols", "block"), [(64, 32), (48, 16), (50, 32)])
@pytest.mark.parametrize("kind", ["INT2", "UINT2", "INT4", "UINT4", "INT8", "UINT8"])
def test_dequantize_linear(kind, cols, block):
    """The three inputs of the operator are the parts of the payload, as they are."""
    name, shape = f"onnx_{kind.lower()}_b{block}", (5, cols)
    type_ = format_of(name).struct_type(shape)
    payload = random_payload(name, shape)
    begins = [leaf.bit_offset // 8 for leaf in type_.leaves if leaf.constant is None] + [len(payload)]
    codes, scales, zeros = (payload[begins[i] : begins[i + 1]] for i in range(3))
    blocks = (5, -(-cols // block))
    node = onnx.helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["y"], axis=1, block_size=block)
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape)
    parts = [tensor_of("x", kind, shape, codes), tensor_of("scale", "FLOAT", blocks, scales)]
    parts.append(tensor_of("zero", kind, blocks, zeros))
    graph = onnx.helper.make_graph([node], "g", [], [output], parts)
    opset = onnx.helper.make_opsetid("", 25)
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=12)
    onnx.checker.check_model(model, full_check=True)
    expected = model_of(name, payload, shape)
    assert_same_bits(in_onnxruntime(model, {}), expected)
    if "2" not in kind:
        assert_same_bits(in_reference(model, {}).astype(np.float32), expected)


@pytest.mark.parametrize(("cols", "block"), [(64, 32), (100, 32), (48, 16), (50, 16)])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_matmulnbits(bits, cols, block):
    """The operator multiplies the identity with the weights of the payload."""
    name, rows = f"matmulnbits{'' if bits == 4 else bits}_b{block}", 6
    type_ = format_of(name).struct_type((rows, cols))
    generator = np.random.default_rng(bits * cols)
    payload = bytearray(generator.integers(0, 256, type_.size_bytes, dtype=np.uint8).tobytes())
    begins = [leaf.bit_offset // 8 for leaf in type_.leaves if leaf.constant is None] + [len(payload)]
    blocks = -(-cols // block)
    payload[begins[1] : begins[2]] = (2.0 ** generator.integers(-3, 4, rows * blocks)).astype("<f4").tobytes()
    codes, scales, zeros = (bytes(payload[begins[i] : begins[i + 1]]) for i in range(3))
    node = onnx.helper.make_node(
        "MatMulNBits",
        ["a", "b", "scales", "zeros"],
        ["y"],
        domain="com.microsoft",
        K=cols,
        N=rows,
        bits=bits,
        block_size=block,
        accuracy_level=1,
    )
    parts = [
        tensor_of("b", "UINT8", (rows, blocks, block * bits // 8), codes),
        tensor_of("scales", "FLOAT", (rows, blocks), scales),
        tensor_of("zeros", "UINT8", (rows, -(-blocks * bits // 8)), zeros),
    ]
    a = onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [cols, cols])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [cols, rows])
    graph = onnx.helper.make_graph([node], "g", [a], [y], parts)
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {"a": np.eye(cols, dtype=np.float32)})
    expected = model_of(name, bytes(payload), (rows, cols))
    assert_same_bits(got.T + np.float32(0), expected + np.float32(0))  # sums have no -0
    assert_same_bits(format_of(name).decode(bytes(payload), (rows, cols)), expected)


# ---- Encoding


def assert_bound(errors: np.ndarray, bounds: np.ndarray) -> None:
    assert (np.abs(errors) <= bounds * (1 + 1e-5)).all(), float((np.abs(errors) / bounds).max())


def encoded(name: str, values: np.ndarray) -> tuple[bytes, np.ndarray]:
    payload = bytes(format_of(name).quantize(values).payload)
    return payload, format_of(name).decode(payload, values.shape)


def sample(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return (generator.normal(size=shape) * 2.0 ** generator.integers(-20, 20, (*shape[:-1], 1))).astype(np.float32)


@pytest.mark.parametrize("name", ROWS)
def test_encoding_is_stable(name):
    """What is decoded and encoded again means the same, and zeros stay zeros."""
    for shape in ROWS[name].shapes:
        _, values = encoded(name, sample(shape))
        _, again = encoded(name, values)
        assert np.isfinite(values).all()
        if "dq" not in name:  # their scales are codes themselves, of other scales the second time
            largest = np.abs(values).max(initial=0.0)
            assert np.abs(again - values).max(initial=0.0) <= 2.0**-22 * largest, shape
        _, zeros = encoded(name, np.zeros(shape, np.float32))
        assert not zeros.any()


@pytest.mark.parametrize(("name", "levels"), [("nf4_b64", NF4), ("bnb_fp4_b64", FP4), ("nf4_b128", NF4)])
def test_levels_are_the_nearest(name, levels):
    block = format_of(name).block
    values = sample((7, 3 * block))
    payload, got = encoded(name, values)
    blocks = values.reshape(-1, block)
    magnitudes = np.abs(blocks).max(axis=1)
    assert Parts(payload[values.size // 2 :]).floats(magnitudes.size).tolist() == magnitudes.tolist()
    scaled = levels.astype(np.float64) * magnitudes[:, None, None].astype(np.float64)
    codes = np.abs(scaled - blocks[:, :, None]).argmin(axis=-1)
    assert_same_bits(got, (levels[codes] * magnitudes[:, None]).reshape(values.shape))


@pytest.mark.parametrize("name", ["nf4_dq_b64", "bnb_fp4_dq_b64"])
def test_scales_of_scales(name):
    """Against the codes of the format whose scales are floats: the error of a scale adds to it."""
    values = np.random.default_rng(3).normal(size=(300, 512)).astype(np.float32)
    payload, got = encoded(name, values)
    _, plain = encoded(name.replace("_dq", ""), values)
    magnitudes = np.abs(values.reshape(-1, 64)).max(axis=1)
    parts = Parts(payload[values.size // 2 :])
    codes = np.frombuffer(parts.take(magnitudes.size), np.uint8)
    group = np.repeat(parts.floats(-(-magnitudes.size // 256)), 256)[: magnitudes.size]
    map_, offset = parts.floats(256), parts.floats(1)
    assert (np.diff(map_) > 0).all() and map_[-1] == 1 and 0 in map_ and map_[0] > -1
    assert offset == np.float32(magnitudes.astype(np.float64).mean())
    scales = map_[codes] * group + offset
    assert np.abs(scales - magnitudes).max() <= 0.0355 * group.max()  # half of the widest gap, and the end below
    error = np.abs(got - values).reshape(-1, 64).max(axis=1)
    before = np.abs(plain - values).reshape(-1, 64).max(axis=1)
    assert (error <= before + 2 * np.abs(scales - magnitudes) + 1e-6).all()


@pytest.mark.parametrize("name", [name for name in ROWS if name.startswith(("onnx", "matmulnbits"))])
def test_integers_are_half_a_step_off(name):
    block = format_of(name).block
    for values in (sample((9, 5 * block + 3)), np.abs(sample((9, block)), dtype=np.float32), -np.abs(sample((9, 7)))):
        _, got = encoded(name, values)
        cols = values.shape[1]
        bits = next((bits for bits in (2, 4, 8) if f"int{bits}_" in name or f"bits{bits}_" in name), 4)
        for begin in range(0, cols, block):
            own = values[:, begin : begin + block]
            extent = np.maximum(own.max(axis=1), 0) - np.minimum(own.min(axis=1), 0)
            assert_bound((got - values)[:, begin : begin + block], extent[:, None] / (2**bits - 1) / 2)


@pytest.mark.parametrize(
    ("name", "half_step"),
    [
        # By the largest magnitude: half of the widest gap below it, and what a power of two as scale cuts off.
        ("mxfp4", 1 / 4),
        ("mxfp6_e3m2", 1 / 8),
        ("mxfp6_e2m3", 1 / 16),
        ("mxfp8_e4m3", 1 / 8),
        ("mxfp8_e5m2", 1 / 8),
        ("mxint8", 1 / 64),
        ("nvfp4", 1 / 6 + 1 / 14),
        ("fp8_e4m3", 1 / 28),
        ("fp8_e5m2", 1 / 14),
        ("fp8_e4m3_channel", 1 / 28),
        ("fp8_e5m2_channel", 1 / 14),
        ("fp8_block128x128", 1 / 28),
        ("bnb_int8", 1 / 254),
    ],
)
def test_errors_by_the_largest_magnitude(name, half_step):
    values = np.random.default_rng(5).normal(size=(64, 192)).astype(np.float32)
    _, got = encoded(name, values)
    block = {"m": 32, "n": 16}.get(name[0], values.shape[1])
    magnitude = np.abs(values.reshape(-1, block)).max(axis=1)[:, None]
    if name in ("fp8_e4m3", "fp8_e5m2", "fp8_block128x128"):
        magnitude = magnitude.max()
    assert_bound((got - values).reshape(-1, block), magnitude * half_step)


@pytest.mark.parametrize("name", ROWS)
def test_nothing_that_is_no_number_spoils_its_block(name):
    """NaN and infinities are encoded as something, and the others of the block as if these were 0 and the largest."""
    shape = (2, 64)
    values = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    values[0, 3] = np.nan
    _, got = encoded(name, values)
    values[0, 3] = 0
    _, without = encoded(name, values)
    assert_same_bits(np.delete(got, 3), np.delete(without, 3))
    values[0, 3] = -np.inf
    _, got = encoded(name, values)
    values[0, 3] = -np.finfo(np.float32).max
    _, without = encoded(name, values)
    if "e5m2" in name:  # has infinities
        assert got[0, 3] == -np.inf
        got = np.where(np.isinf(got), without, got)
    assert_same_bits(got, without)
