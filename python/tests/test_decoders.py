"""Decoders of struct types, run by ONNX's reference evaluator and by onnxruntime, against decoder_model.py."""

import itertools

import numpy as np
import onnx
import onnx.parser
import pytest
from decoder_model import FLOATS, decode
from format_runs import in_onnxruntime
from onnx.reference import ReferenceEvaluator

import tessera

OPSETS = [13, 17, 18, 21, 23, 25, 26]


def tiled(inner: str, tile: str = "tile_shape: [32]", more: str = "") -> str:
    return (
        f"QuantizationProto {{ {more} tiling: TilingQuantizationProto {{ {tile} "
        f"elem_quant: [QuantizationProto {{ {inner} }}] }} }}"
    )


def plain(inner: str) -> str:
    return f"QuantizationProto {{ {inner} }}"


def linear(type_: str, bits: int, rest: str) -> str:
    return f"linear: LinearUniformProto {{ storage_type: {type_} bits: {bits} {rest} }}"


BLOCK = """structured_block: StructuredBlockUniformProto {
  block_layout: BlockLayoutProto { block_size: 8 bytes_per_block: 13
  fields: [BlockFieldProto { role: VALUES bit_offset: 0 bit_width: 3 count: 8 },
           BlockFieldProto { role: SCALE bit_offset: 24 bit_width: 16 count: 2 data_type: FLOAT16 },
           BlockFieldProto { role: ZERO_POINT bit_offset: 56 bit_width: 4 count: 2 },
           BlockFieldProto { role: EXPONENT bit_offset: 64 bit_width: 8 count: 1 data_type: INT8 },
           BlockFieldProto { role: BIAS bit_offset: 72 bit_width: 16 count: 1 data_type: BFLOAT16 },
           BlockFieldProto { role: SIGN bit_offset: 88 bit_width: 1 count: 8 },
           BlockFieldProto { role: MASK bit_offset: 96 bit_width: 1 count: 8 }] } %s }"""
BOOK = """structured_block: StructuredBlockUniformProto {
  block_layout: BlockLayoutProto { block_size: 8 bytes_per_block: 4
  fields: [BlockFieldProto { role: CODE bit_offset: 0 bit_width: 2 count: 4 },
           BlockFieldProto { role: SIGN bit_offset: 8 bit_width: 1 count: 4 },
           BlockFieldProto { role: SCALE bit_offset: 16 bit_width: 16 count: 1 data_type: FLOAT16 }] }
  codebook_data: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] codebook_vector_size: 2
  index_formula: [FieldWeightProto { field: CODE multiplier: 1 }, FieldWeightProto { field: SIGN multiplier: 4 }]
  %s }"""
SCATTER = "scatter: ScatterProto { group_size: 8 vector_size: 2 stride: 4 }"
NF = "-1.0, -0.7, -0.5, -0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0"
TILE_SCALE = "scale: stored(FLOAT16, per=tile)"
SUPER = (
    "scale: stored(QuantizationProto { tiling: TilingQuantizationProto { tile_shape: [4] elem_quant: ["
    "QuantizationProto { linear: LinearUniformProto { storage_type: UINT8 bits: 6 axis: -1 scale: stored(FLOAT16, "
    "per=tile) } }] } }, "
    "per=tile)"
)


def small(more: str, widths=(1, 3, 2, 3)) -> str:
    s, e, m, bias = widths
    return (
        f"floating_point: FloatingPointUniformProto {{ sign_bits: {s} exponent_bits: {e} mantissa_bits: {m} "
        f"exponent_bias: {bias} {more} }}"
    )


def entry(scale: float, zero: int = 0) -> str:
    more = f"zero_point: {zero}" if zero else ""
    return plain(linear("UINT4", 4, f"scale_float: {scale} {more} axis: -1"))


CASES = {
    # name: (profile, shape)
    "int8": (plain(linear("INT8", 8, "scale_float: 0.02 axis: -1")), [5, 10]),
    "uint8_zero": (plain(linear("UINT8", 8, "scale_float: 0.02 zero_point: 128 axis: -1")), [5, 10]),
    "int5_packed": (plain(linear("INT8", 5, "scale_float: -0.5 zero_point: 3 axis: -1")), [3, 7]),
    "uint3_packed": (plain(linear("UINT8", 3, "scale_int: -4 axis: -1")), [3, 7]),
    "int11_packed": (plain(linear("INT16", 11, "scale_float: 0.5 axis: -1")), [13]),
    "int27_packed": (plain(linear("INT32", 27, "scale_float: 0.5 axis: -1")), [13]),
    "uint33_packed": (plain(linear("INT64", 33, "scale_float: 0.5 axis: -1")), [9]),
    "int64": (plain(linear("INT64", 64, "axis: -1")), [9]),
    "double": (plain("data_type: DOUBLE " + linear("INT32", 32, "scale_float: 0.1 axis: -1")), [9]),
    "float8_linear": (plain(linear("FLOAT8E4M3FN", 8, "scale_float: 0.1 axis: -1")), [256]),
    "channels": (plain(linear("INT8", 8, "scale: stored(FLOAT, per=channel) axis: 1")), [4, 6, 5]),
    "channel_zero": (
        plain(
            linear("UINT8", 7, "scale: stored(BFLOAT16, per=channel) zero_point: stored(UINT8, per=channel) axis: 0")
        ),
        [6, 5],
    ),
    "tensor": (plain(linear("INT8", 8, "scale: stored(FLOAT, per=tensor, at=after) axis: -1")), [3, 3]),
    "tiles": (tiled(linear("INT4", 4, TILE_SCALE + " axis: -1"), more="data_type: FLOAT16"), [4, 64]),
    "tiles_zero": (
        tiled(linear("UINT4", 4, TILE_SCALE + " zero_point: stored(UINT8, per=tile, at=after) axis: -1")),
        [4, 64],
    ),
    "e8m0": (tiled(small("scale: stored(FLOAT8E8M0, per=tile)", (1, 2, 1, 1))), [8, 32]),
    "super": (tiled(linear("UINT4", 4, SUPER + " axis: -1")), [4, 64]),
    "tensor_in_tiles": (
        tiled(linear("INT8", 8, "scale: stored(FLOAT, per=tensor) axis: -1"), "tile_shape: [2, 4] axes: [0, 1]"),
        [4, 8],
    ),
    "axes": (tiled(linear("INT8", 8, TILE_SCALE + " axis: -1"), "tile_shape: [2, 3] axes: [0, 1]"), [4, 9]),
    "axes_perm": (
        tiled(linear("INT8", 8, TILE_SCALE + " axis: -1"), "tile_shape: [3, 2] axes: [2, 0] perm: [1, 2, 0]"),
        [4, 5, 9],
    ),
    "axis_zero_size": (tiled(linear("INT8", 8, TILE_SCALE + " axis: -1"), "tile_shape: [0, 3] axes: [0, 1]"), [4, 9]),
    "flat_perm": (tiled(linear("INT8", 8, TILE_SCALE + " axis: -1"), "tile_shape: [6] perm: [1, 0]"), [4, 9]),
    "tiles_in_tiles": (
        tiled(
            "tiling: TilingQuantizationProto { tile_shape: [4] elem_quant: [QuantizationProto { "
            + linear("UINT4", 4, TILE_SCALE + " axis: -1")
            + " }] }",
            "tile_shape: [2, 6] axes: [0, 1] perm: [1, 0]",
        ),
        [4, 12],
    ),
    "channels_in_tiles": (
        tiled(
            linear("INT8", 8, "scale: stored(FLOAT16, per=channel) axis: 1"),
            "tile_shape: [2, 6] axes: [0, 1] perm: [1, 0]",
        ),
        [4, 12],
    ),
    "merged": (
        plain(
            f"tiling: TilingQuantizationProto {{ tile_shape: [8] elem_quant: "
            f"[{entry(0.5)}, {entry(0.25, 8)}, {entry(-2.0, 3)}] }}"
        ),
        [7, 8],
    ),
    "mixed": (
        plain(
            "tiling: TilingQuantizationProto { tile_shape: [8] elem_quant: ["
            f"{entry(0.5)}, {entry(0.5)}, {plain(linear('INT8', 8, 'scale_float: 0.1 axis: -1'))}] }}"
        ),
        [3, 8],
    ),
    "cycled": (
        plain(
            "tiling: TilingQuantizationProto { tile_shape: [8] elem_quant: ["
            f"{entry(0.5)}, {plain('cast: CastUniformProto { storage_type: FLOAT16 }')}] }}"
        ),
        [7, 8],
    ),
    "nf4": (
        tiled(f"codebook: CodebookProto {{ codebook_data: [{NF}] index_bits: 4 {TILE_SCALE} }}"),
        [4, 64],
    ),
    "ternary": (
        plain("codebook: CodebookProto { codebook_data: [-1, 0, 1] packed_count: 5 packed_bytes: 1 scale_float: 0.5 }"),
        [3, 7],
    ),
    "digits": (
        plain("codebook: CodebookProto { codebook_data: [-1, 0, 1] packed_count: 40 packed_bytes: 8 }"),
        [3, 33],
    ),
    "digits_2": (
        plain("codebook: CodebookProto { codebook_data: [-2, -1, 0, 1, 2] packed_count: 13 packed_bytes: 4 }"),
        [50],
    ),
    "vectors": (
        plain(
            "codebook: CodebookProto { codebook_data: ["
            + ", ".join(str((i * 37 % 101) / 8) for i in range(2 * 16 * 4))
            + "] num_codebooks: 2 vector_size: 4 index_bits: 4 scale_float: 0.3 }"
        ),
        [8, 8],
    ),
    "groups": (
        plain(
            "codebook: CodebookProto { codebook_data: [1, 2, 3, 4, 5, 6, 7, 8] index_bits: 3 packed_count: 5 "
            "packed_bytes: 2 }"
        ),
        [33],
    ),
    "fp6": (plain(small("", (1, 3, 2, 4))), [37]),
    "fp6_groups": (plain(small("packed_count: 4 packed_bytes: 3 has_nan: true scale_float: 3.0")), [32]),
    "fp6_padded": (plain(small("packed_count: 5 packed_bytes: 4 has_inf: true")), [33]),
    "fp6_split": (plain(small("packed_count: 4 packed_bytes: 3 split_storage: true")), [32]),
    "fp5_split": (plain(small("packed_count: 8 packed_bytes: 5 split_storage: true", (1, 3, 1, 3))), [24]),
    "fp8_e4m3": (plain(small("has_nan: true", (1, 4, 3, 7))), [256]),
    "fp8_e5m2": (plain(small("has_nan: true has_inf: true", (1, 5, 2, 15))), [256]),
    "fp4": (plain(small("scale_float: 0.7", (1, 2, 1, 1))), [64]),
    "fp12": (plain(small("has_nan: true has_inf: true packed_count: 2 packed_bytes: 3", (1, 5, 6, 15))), [64]),
    "float16_by_parts": (
        plain(small("has_nan: true has_inf: true packed_count: 1 packed_bytes: 2", (1, 5, 10, 15))),
        [64],
    ),
    "power_of_two_log": (
        plain("log: LogUniformProto { bits: 4 base: 2.0 offset: -8.0 has_sign: true }"),
        [5, 7],
    ),
    "log_of_four": (plain("log: LogUniformProto { bits: 9 base: 0.25 offset: 0.5 has_sign: true }"), [5, 7]),
    "sparse": (
        plain(
            "sparse: SparseQuantizationProto { outlier_data_type: FLOAT16 outlier_ratio: 0.25 base_quant: "
            f"{plain(linear('INT4', 4, 'scale_float: 0.5 axis: -1'))} }}"
        ),
        [4, 8],
    ),
    "sparse_in_tiles": (
        tiled(
            "sparse: SparseQuantizationProto { outlier_data_type: FLOAT outlier_ratio: 0.25 "
            "base_quant: QuantizationProto { " + linear("INT4", 4, TILE_SCALE + " axis: -1") + " } }",
            "tile_shape: [8]",
        ),
        [4, 8],
    ),
    "block": (plain(BLOCK % ""), [4, 16]),
    "block_axis": (plain(BLOCK % "axis: 0"), [16, 3]),
    "block_in_tiles": (tiled(BLOCK % "axis: 1", "tile_shape: [2, 8] axes: [0, 1] perm: [1, 0]"), [4, 16]),
    "book": (plain(BOOK % ""), [4, 16]),
    "book_scatter": (plain(BOOK % SCATTER), [4, 16]),
    "book_sequential": (
        plain(
            BOOK.replace("bit_offset: 8", "bit_offset: 0")
            .replace("bit_offset: 16", "bit_offset: 0")
            .replace("bytes_per_block: 4", "bytes_per_block: 4")
            .replace("bit_width: 1 count: 4", "bit_width: 2 count: 4")
            .replace("multiplier: 4", "multiplier: 1")
            % "storage_order: SEQUENTIAL"
        ),
        [4, 16],
    ),
    "cast": (plain("data_type: FLOAT16 cast: CastUniformProto { storage_type: BFLOAT16 }"), [4, 4]),
    "cast_tiles": (
        tiled("cast: CastUniformProto { storage_type: FLOAT16 }", "tile_shape: [2, 3] axes: [1, 0]"),
        [6, 4],
    ),
    "hadamard": (
        plain(
            "pre_rotation: RotationProto { matrix_type: HADAMARD dims: [4] } "
            + linear("INT8", 8, "scale_float: 0.1 axis: -1")
        ),
        [3, 8],
    ),
    "hadamard_both": (
        plain(
            "pre_rotation: RotationProto { matrix_type: HADAMARD dims: [8] } "
            "post_rotation: RotationProto { matrix_type: HADAMARD dims: [2] } "
            + linear("INT8", 8, "scale_float: 0.1 axis: -1")
        ),
        [6, 3, 16],
    ),
    "diagonal": (
        plain(
            "pre_rotation: RotationProto { matrix_type: PLAIN dims: [3] matrix: [0.5, 0.3, -2] } "
            "post_rotation: RotationProto { matrix_type: PLAIN dims: [2] matrix: [0.1, 7] } "
            + linear("INT8", 8, "scale_float: 0.1 axis: -1")
        ),
        [2, 3],
    ),
    "rotated_tiles": (
        tiled(
            "pre_rotation: RotationProto { matrix_type: HADAMARD dims: [4] } "
            + linear("INT8", 8, TILE_SCALE + " axis: -1"),
            "tile_shape: [2, 4] axes: [0, 1] perm: [1, 0]",
        ),
        [4, 12],
    ),
    "scalar": (plain(linear("INT8", 8, "scale_float: 0.02 axis: -1")), []),
    "empty": (plain(linear("INT8", 8, "scale_float: 0.02 axis: -1")), [0, 4]),
}


def random_payload(type_: tessera.StructType, seed: int) -> bytes:
    """Random bytes; positions of outliers are made distinct and inside the values that they are for."""
    generator = np.random.default_rng(seed)
    payload = generator.integers(0, 256, type_.size_bytes, dtype=np.uint8)
    for leaf in type_.leaves:
        if leaf.path.split(".")[-1] == "outlier_indices":
            count = leaf.shape[-1]
            lead = leaf.shape[:-1]
            limit = 8 if lead else 32
            for where in itertools.product(*[range(n) for n in lead]):
                start = leaf.bit_offset // 8 + sum(i * s // 8 for i, s in zip(where, leaf.bit_strides, strict=False))
                positions = generator.permutation(limit)[:count].astype("<i8")
                payload[start : start + 8 * count] = positions.view(np.uint8)
    return payload.tobytes()


def onnx_type(name: str) -> int:
    return onnx.TensorProto.DataType.Value(name)


def as_model(type_: tessera.StructType, opset: int) -> onnx.ModelProto:
    """The decoder as a model whose inputs are the leaves."""
    function = onnx.parser.parse_function(type_.decoder)
    leaves = type_.leaves
    inputs = [
        onnx.helper.make_tensor_value_info(name, onnx_type(leaf.element_type), list(leaf.shape))
        for name, leaf in zip(function.input, leaves, strict=True)
    ]
    graph = onnx.helper.make_graph(list(function.node), "decode", inputs, [function.value_info[0]])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)


def leaf_arrays(type_: tessera.StructType, payload: bytes, model: onnx.ModelProto) -> dict[str, np.ndarray]:
    view = type_.view(np.frombuffer(payload, dtype=np.uint8))
    return {info.name: np.array(view[path].numpy()) for info, path in zip(model.graph.input, view.keys(), strict=True)}


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    nan_a, nan_b = np.isnan(a.astype(np.float64)), np.isnan(b.astype(np.float64))
    unsigned = f"u{a.dtype.itemsize}"
    equal = np.atleast_1d(a).view(unsigned) == np.atleast_1d(b).view(unsigned)
    return bool(np.all(equal.reshape(a.shape) | (nan_a & nan_b)) and np.array_equal(nan_a, nan_b))


def typed(name: str, opset: int) -> tessera.StructType | None:
    text, shape = CASES[name]
    profile = tessera.Profile.parse(text)
    try:
        return profile.struct_type(shape, decoder_opset=opset)
    except tessera.TesseraError as error:
        assert error.code == "no-decoder", error
        assert "opset" in error.fix or "UINT8" in error.fix, error
        return None


# Sub-byte inputs and types that onnxruntime's CPU kernels do not cast, by spec/onnxruntime-facts.md.
NOT_IN_ORT = {"FLOAT4E2M1"}


@pytest.mark.parametrize("name", CASES)
def test_decoders_give_the_models_bits(name: str) -> None:
    text, shape = CASES[name]
    wide = "data_type: DOUBLE" in text
    ran = 0
    for opset in OPSETS:
        type_ = typed(name, opset)
        if type_ is None:
            continue
        model = as_model(type_, opset)
        onnx.checker.check_model(model, full_check=True)
        data_type = FLOATS[tessera.Profile.parse(text).data_type]
        reference = ReferenceEvaluator(model)
        in_ort = not any(leaf.element_type in NOT_IN_ORT for leaf in type_.leaves)
        for seed in range(3):
            payload = random_payload(type_, seed)
            with np.errstate(all="ignore"):
                expected = decode(type_, payload, shape, wide).astype(data_type)
                arrays = leaf_arrays(type_, payload, model)
                got = reference.run(None, arrays)[0]
            assert same_bits(np.asarray(got), expected), (opset, seed, got, expected)
            if in_ort:
                out = in_onnxruntime(model, arrays)
                assert same_bits(out, expected), (opset, seed, out, expected)
            ran += 1
    assert ran >= 3


@pytest.mark.parametrize("name", CASES)
def test_payload_decoders_exist_for_every_opset(name: str) -> None:
    """From the bytes alone: types that an opset does not convert are read out of their bits."""
    text, shape = CASES[name]
    profile = tessera.Profile.parse(text)
    type_ = profile.struct_type(shape)
    data_type = FLOATS[profile.data_type]
    for opset in OPSETS:
        function = onnx.parser.parse_function(type_.portable_decoder(opset))
        graph = onnx.helper.make_graph(
            list(function.node),
            "decode",
            [onnx.helper.make_tensor_value_info("payload", onnx.TensorProto.UINT8, [type_.size_bytes])],
            [function.value_info[0]],
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)
        onnx.checker.check_model(model, full_check=True)
        reference = ReferenceEvaluator(model)
        for seed in range(2):
            payload = random_payload(type_, seed)
            arrays = {"payload": np.frombuffer(payload, dtype=np.uint8)}
            with np.errstate(all="ignore"):
                expected = decode(type_, payload, shape, "data_type: DOUBLE" in text).astype(data_type)
                got = np.asarray(reference.run(None, arrays)[0])
            assert same_bits(got, expected), (opset, seed, got, expected)
            out = in_onnxruntime(model, arrays)
            assert same_bits(out, expected), (opset, seed, out, expected)
