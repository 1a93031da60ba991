"""Element types against ml_dtypes and NumPy: names, widths, every code, and every float16 narrowed."""

import math

import ml_dtypes
import numpy as np
import onnx
import pytest
from tessera import _tessera

ROWS = {name: (number, bits) for name, number, bits in _tessera._element_types()}
FLOATS = {
    "FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn,
    "FLOAT8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "FLOAT8E5M2": ml_dtypes.float8_e5m2,
    "FLOAT8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "FLOAT8E8M0": ml_dtypes.float8_e8m0fnu,
    "FLOAT6E2M3": ml_dtypes.float6_e2m3fn,
    "FLOAT6E3M2": ml_dtypes.float6_e3m2fn,
    "FLOAT4E2M1": ml_dtypes.float4_e2m1fn,
    "FLOAT16": np.float16,
    "BFLOAT16": ml_dtypes.bfloat16,
}
NO_NAN = {"FLOAT6E2M3", "FLOAT6E3M2", "FLOAT4E2M1"}
ALL_HALVES = np.arange(65536, dtype=np.uint16).view(np.float16)


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def codes_of(name: str) -> np.ndarray:
    bits = ROWS[name][1]
    return np.arange(2**bits, dtype=np.uint16 if bits > 8 else np.uint8)


def test_types_are_onnxs():
    stock = dict(onnx.TensorProto.DataType.items())
    assert {name: number for name, (number, _) in ROWS.items()} == stock


@pytest.mark.parametrize("name", [n for n in ROWS if n != "UNDEFINED"])
def test_dtype_is_the_one_of_onnx(name):
    assert _tessera._dtype(name) == onnx.helper.tensor_dtype_to_np_dtype(ROWS[name][0])


@pytest.mark.parametrize("name", FLOATS)
def test_every_code_decodes_as_ml_dtypes(name):
    codes = codes_of(name)
    with np.errstate(all="ignore"):
        values = codes.view(FLOATS[name]).astype(np.float64)
    wrong = [int(c) for c, v in zip(codes, values, strict=True) if not same(_tessera._decode_float(name, int(c)), float(v))]
    assert wrong == []


def expected_code(name: str, half: float, cast: int) -> int | None:
    """The code that ml_dtypes' cast gives, or None where ONNX's Cast wants another: those have tests of their own."""
    if math.isnan(half):
        return None  # ml_dtypes keeps payload bits, or has no NaN to give
    if math.isinf(half) and name in NO_NAN:
        return None
    if name == "FLOAT8E8M0" and (half <= 0 or math.isinf(half)):
        return None
    return cast


@pytest.mark.parametrize("name", [n for n in FLOATS if n not in ("FLOAT16", "BFLOAT16")])
def test_every_float16_encodes_as_ml_dtypes(name):
    """With saturate=0 and rounding to nearest: what the casts of ml_dtypes do."""
    with np.errstate(all="ignore"):
        casts = ALL_HALVES.astype(np.float32).astype(FLOATS[name]).view(np.uint8)
    wrong, compared = [], 0
    for half, cast in zip(ALL_HALVES.astype(np.float64), casts, strict=True):
        want = expected_code(name, float(half), int(cast))
        if want is None:
            continue
        compared += 1
        got = _tessera._encode_float(name, float(half), False, "nearest")
        if got != want:
            wrong.append((float(half), got, want))
    assert wrong == []
    assert compared > 30_000


@pytest.mark.parametrize("name", FLOATS)
def test_every_code_encodes_to_itself(name):
    for code in codes_of(name):
        value = _tessera._decode_float(name, int(code))
        if math.isnan(value):
            again = _tessera._encode_float(name, value, True)
            assert math.isnan(_tessera._decode_float(name, again))
        elif not math.isinf(value):
            assert _tessera._encode_float(name, value, True) == code


@pytest.mark.parametrize("name", FLOATS)
def test_what_ml_dtypes_leaves_to_onnx(name):
    largest = float(ml_dtypes.finfo(FLOATS[name]).max)
    if name == "FLOAT8E8M0":
        assert _tessera._decode_float(name, _tessera._encode_float(name, 3.0, True)) == 4.0
        assert _tessera._decode_float(name, _tessera._encode_float(name, 3.0, True, "down")) == 2.0
        assert _tessera._encode_float(name, -1.0, True) == 255
        assert _tessera._encode_float(name, 0.0, True) == 0
        assert _tessera._encode_float(name, 0.0, False) == 255
        return
    for sign in (1, -1):
        code = _tessera._encode_float(name, sign * math.inf, True)
        value = _tessera._decode_float(name, code)
        assert value == sign * (math.inf if name in ("FLOAT16", "BFLOAT16") else largest)
    nan = _tessera._decode_float(name, _tessera._encode_float(name, math.nan, True))
    assert nan == largest if name in NO_NAN else math.isnan(nan)
