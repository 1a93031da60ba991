#!/usr/bin/env python3
"""Makes testdata/elements/: what ml_dtypes and onnx say about the small float types, for element_value_test.cc.

    python tools/make_element_goldens.py testdata/elements

Files, one line an item, all numbers hexadecimal, floats as the bits of a float32:
  NAME.decode.txt   the value of code 0, 1, 2, ...           source: ml_dtypes
  NAME.encode.txt   value, code saturated, code overflowed   source: onnx.reference's Cast with saturate=1 and 0
  FLOAT8E8M0.encode.txt   value, code for round_mode up, down, nearest    source: onnx.numpy_helper.to_float8e8m0
NaN is left out of the encode files of FLOAT4E2M1 and FLOAT6, and E8M0's hold normal positive float32 only: there the
reference code differs from the tables in ONNX's documentation, which the test states by hand.
"""

import argparse
import pathlib
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference.ops import op_cast

TYPES = {
    "FLOAT8E4M3FN": (ml_dtypes.float8_e4m3fn, 8),
    "FLOAT8E4M3FNUZ": (ml_dtypes.float8_e4m3fnuz, 8),
    "FLOAT8E5M2": (ml_dtypes.float8_e5m2, 8),
    "FLOAT8E5M2FNUZ": (ml_dtypes.float8_e5m2fnuz, 8),
    "FLOAT8E8M0": (ml_dtypes.float8_e8m0fnu, 8),
    "FLOAT6E2M3": (ml_dtypes.float6_e2m3fn, 6),
    "FLOAT6E3M2": (ml_dtypes.float6_e3m2fn, 6),
    "FLOAT4E2M1": (ml_dtypes.float4_e2m1fn, 4),
}


def bits(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32).view(np.uint32)


def decoded(dtype: type, width: int) -> np.ndarray:
    return np.arange(2**width, dtype=np.uint8).view(dtype).astype(np.float32)


def chosen_values(dtype: type, width: int) -> np.ndarray:
    """Every finite value, every middle of two neighbours, what lies right beside each, and values far away."""
    finite = np.unique(np.abs(decoded(dtype, width)))
    finite = finite[np.isfinite(finite)].astype(np.float64)
    beyond = finite[-1] + (finite[-1] - finite[-2]) / 2
    middles = (finite[1:] + finite[:-1]) / 2
    exact = np.concatenate([finite, middles, [beyond, beyond * 1.5]]).astype(np.float32)
    inf = np.float32(np.inf)
    near = np.concatenate([np.nextafter(exact, inf), np.nextafter(exact, np.float32(0))])
    random = np.random.default_rng(1).uniform(0, float(beyond) * 1.25, 200).astype(np.float32)
    far = np.array([464, 465, 1000, 1e-45, 1e-38, 3.4e38, np.inf, np.nan], np.float32)
    positive = np.concatenate([exact, near, random, far])
    return np.concatenate([positive, -positive])


def encode_lines(name: str, dtype: type, width: int) -> list[str]:
    values = chosen_values(dtype, width)
    if name == "FLOAT8E8M0":
        values = values[np.isfinite(values) & (values >= 2.0**-126) & (values < 2.0**127)]
        columns = [numpy_helper.to_float8e8m0(values, True, mode) for mode in ("up", "down", "nearest")]
    else:
        if width < 8:
            values = values[~np.isnan(values)]
        number = onnx.TensorProto.DataType.Value(name)
        columns = [op_cast.cast_to(values, number, saturate, "up") for saturate in (True, False)]
    codes = [c.view(np.uint8) for c in columns]
    return [" ".join([f"{v:08x}"] + [f"{c[i]:02x}" for c in codes]) for i, v in enumerate(bits(values))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, (dtype, width) in TYPES.items():
        decode = [f"{v:08x}" for v in bits(decoded(dtype, width))]
        (folder / f"{name}.decode.txt").write_text("\n".join(decode) + "\n")
        (folder / f"{name}.encode.txt").write_text("\n".join(encode_lines(name, dtype, width)) + "\n")
    (folder / "PROVENANCE").write_text(
        "Made by tools/make_element_goldens.py, which says what each file holds:\n"
        "    python tools/make_element_goldens.py testdata/elements\n"
        f"with onnx {onnx.__version__}, ml_dtypes {ml_dtypes.__version__}, numpy {np.__version__}.\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
