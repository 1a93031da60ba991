"""Encoders of profiles, run by ONNX's reference evaluator and by onnxruntime, against encoder_model.py."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import pytest
from encoder_model import (
    Cast,
    Codebook,
    Floats,
    Format,
    Linear,
    Log,
    Profile,
    Stored,
    Tiling,
    encode,
)
from onnx.reference import ReferenceEvaluator

import tessera

onnxruntime = pytest.importorskip("onnxruntime", reason="has no package for this Python")

OPSETS = [13, 18, 21, 26]
DATA_TYPES = {"": np.float32, "DOUBLE": np.float64, "FLOAT16": np.float16, "BFLOAT16": ml_dtypes.bfloat16}
NF4 = [-1.0, -0.7, -0.5, -0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0]
E3M2 = Format(1, 3, 2, 3)
E2M1 = Format(1, 2, 1, 1)
E4M3 = Format(1, 4, 3, 7, nan=True)
E5M2 = Format(1, 5, 2, 15, inf=True, nan=True)
FP12 = Format(1, 5, 6, 15, inf=True, nan=True)


@dataclass
class Case:
    profile: Profile
    shape: list[int]
    data_type: str = ""
    magnitude: float = 3.0

    def text(self) -> str:
        return self.profile.text(self.data_type)


def tiles(element: Profile, *shape: int, tile: int = 32, **more) -> Case:
    return Case(Tiling([tile], [element]), list(shape), **more)


FLOAT16, FLOAT, E8M0, SCALE8 = Stored("FLOAT16"), Stored("FLOAT"), Stored("FLOAT8E8M0"), Stored("FLOAT8E4M3FN")
SUPER = Stored(Tiling([4], [Linear("UINT8", 6, scale=Stored("FLOAT16"))]))

CASES = {
    "int8": Case(Linear("INT8", 8, scale=0.02), [5, 7]),
    "int4": Case(Linear("INT4", 4, scale=0.5), [5, 8]),
    "int3_packed": Case(Linear("INT8", 3, scale=0.3), [5, 7]),
    "uint5_zero_point": Case(Linear("UINT8", 5, zero_point=11, scale=0.3), [5, 7]),
    "zero_point_outside": Case(Linear("UINT4", 4, zero_point=-3, scale=0.3), [4, 4]),
    "negative_scale": Case(Linear("INT8", 8, zero_point=7, scale=-0.3), [33]),
    "power_scale": Case(Linear("INT16", 13, scale=(-9,)), [3, 8]),
    "no_scale": Case(Linear("INT8", 8), [33], magnitude=200.0),
    "int32": Case(Linear("INT32", 32, scale=1e-9), [40]),
    "uint32_zero_point": Case(Linear("UINT32", 32, zero_point=1 << 31, scale=1e-9), [40]),
    "int64": Case(Linear("INT64", 64, scale=1e-18), [40]),
    "uint64": Case(Linear("UINT64", 64, scale=1e-19), [40]),
    "double": Case(Linear("INT16", 16, scale=0.001), [5, 7], "DOUBLE"),
    "float16_values": Case(Linear("INT8", 8, scale=0.02), [5, 7], "FLOAT16"),
    "bfloat16_values": Case(Linear("INT8", 8, scale=0.02), [5, 7], "BFLOAT16"),
    "linear_e4m3": Case(Linear("FLOAT8E4M3FN", 8, scale=0.01), [5, 7]),
    "linear_e5m2_zero_point": Case(Linear("FLOAT8E5M2", 8, zero_point=2, scale=0.01), [5, 7]),
    "linear_float16": Case(Linear("FLOAT16", 16, scale=0.001), [5, 7]),
    "tensor_scale": Case(Linear("INT8", 8, scale=Stored("FLOAT", "tensor")), [5, 8]),
    "tensor_scale_after": Case(Linear("INT4", 4, scale=Stored("BFLOAT16", "tensor", "after")), [5, 8]),
    "channel_scale": Case(Linear("INT8", 8, axis=1, scale=Stored("FLOAT16", "channel")), [4, 6, 3]),
    "channel_scale_last": Case(Linear("INT8", 8, axis=2, scale=Stored("FLOAT", "channel", "after")), [4, 2, 3]),
    "tile_scale": tiles(Linear("INT4", 4, scale=FLOAT16), 4, 64),
    "tile_scale_tiny": tiles(Linear("INT4", 4, scale=FLOAT16), 4, 64, magnitude=1e-7),
    "tile_scale_huge": tiles(Linear("INT4", 4, scale=FLOAT16), 4, 64, magnitude=1e38),
    "tile_scale_double": tiles(Linear("INT4", 4, scale=Stored("DOUBLE")), 4, 64),
    "tile_scale_zero_point": tiles(Linear("UINT4", 4, zero_point=8, scale=Stored("BFLOAT16")), 4, 64),
    "tile_scale_bits": tiles(Linear("INT8", 5, scale=SCALE8), 4, 64, magnitude=1000.0),
    "tile_scale_integer": tiles(Linear("INT4", 4, scale=Stored("UINT8")), 4, 64, magnitude=40.0),
    "mx_int8": tiles(Linear("INT8", 8, scale=E8M0), 4, 64),
    "tensor_scale_of_tiles": tiles(Linear("INT4", 4, scale=Stored("FLOAT", "tensor")), 4, 64),
    "super_blocks": tiles(Linear("INT4", 4, scale=SUPER), 4, 64, tile=16),
    "float16_in_double": tiles(Linear("INT4", 4, scale=FLOAT16), 2, 64, data_type="DOUBLE"),
    "float_in_double": tiles(Linear("INT4", 4, scale=FLOAT), 2, 64, data_type="DOUBLE"),
    "merged": Case(
        Tiling(
            [8],
            [
                Linear("UINT4", 4, scale=0.5),
                Linear("UINT4", 4, zero_point=8, scale=0.25),
                Linear("UINT4", 4, zero_point=3, scale=-2.0),
            ],
        ),
        [7, 8],
    ),
    "mixed": Case(
        Tiling([8], [Linear("UINT4", 4, scale=0.5), Linear("UINT4", 4, scale=0.5), Linear("INT8", 8, scale=0.1)]),
        [3, 8],
    ),
    "cycled": Case(Tiling([8], [Linear("UINT4", 4, scale=0.5), Cast("FLOAT16")]), [7, 8]),
    "grid": Case(Tiling([2, 4], [Linear("INT4", 4, scale=FLOAT16)], axes=[0, 1]), [6, 12]),
    "grid_turned": Case(Tiling([2, 4], [Linear("INT4", 4, scale=FLOAT16)], axes=[0, 1], perm=[1, 0]), [6, 12]),
    "whole_axis": Case(Tiling([0], [Linear("INT8", 8, scale=FLOAT)], axes=[1]), [6, 4]),
    "columns": Case(Tiling([0, 1], [Linear("INT8", 8, scale=FLOAT)], axes=[0, 1]), [6, 4]),
    "turned_runs": Case(Tiling([4], [Linear("INT4", 4, scale=FLOAT16)], perm=[2, 0, 1]), [2, 4, 6]),
    "tiles_of_tiles": Case(Tiling([16], [Tiling([4], [Linear("INT4", 4, scale=FLOAT16)])]), [6, 16]),
    "nf4": tiles(Codebook(NF4, bits=4, scale=FLOAT), 4, 64),
    "nf4_constant": Case(Codebook(NF4, bits=4, scale=2.5), [4, 16]),
    "ternary": Case(Codebook([-1.0, 0.0, 1.0], per_group=5, group_bytes=1, scale=0.5), [3, 7]),
    "ternary_tiles": tiles(Codebook([-1.0, 0.0, 1.0], per_group=5, group_bytes=1, scale=FLOAT16), 4, 40, tile=20),
    "digits": Case(Codebook([-1.0, 0.0, 1.0], per_group=40, group_bytes=8), [3, 33]),
    "digits_2": Case(Codebook([-2.0, -1.0, 0.0, 1.0, 2.0], per_group=13, group_bytes=4), [50]),
    "unsorted_book": Case(Codebook([3.0, -1.0, 0.5, 3.0, -0.0, 0.0, -7.0, 0.25], bits=3), [41]),
    "index_groups": Case(Codebook([1.0, 2.0, 3.0, 4.0, 5.0], bits=3, per_group=5, group_bytes=2), [33]),
    "vectors": Case(Codebook([(i * 37 % 101) / 8 - 6 for i in range(13 * 4)], vector=4, bits=4, scale=0.7), [8, 8]),
    "vector_tiles": tiles(
        Codebook([(i * 37 % 101) / 8 - 6 for i in range(16 * 2)], vector=2, bits=4, scale=FLOAT16), 4, 64
    ),
    "fp6": Case(Floats(E3M2), [37], magnitude=10.0),
    "fp6_unsigned": Case(Floats(Format(0, 3, 3, 3)), [37]),
    "fp6_groups": Case(Floats(E3M2, per_group=4, group_bytes=3, scale=0.3), [32]),
    "fp6_padded": Case(Floats(Format(1, 3, 2, 3, inf=True), per_group=5, group_bytes=4), [33], magnitude=20.0),
    "fp6_split": Case(Floats(E3M2, split=True, per_group=4, group_bytes=3), [32]),
    "fp5_split": Case(Floats(Format(1, 3, 1, 3), split=True, per_group=8, group_bytes=5), [24]),
    "fp8_e4m3": Case(Floats(E4M3), [128], magnitude=300.0),
    "fp8_e5m2": Case(Floats(E5M2), [128], magnitude=50000.0),
    "fp12": Case(Floats(FP12, per_group=2, group_bytes=3), [64]),
    "mxfp4": tiles(Floats(E2M1, scale=E8M0), 4, 64),
    "mxfp4_tiny": tiles(Floats(E2M1, scale=E8M0), 4, 64, magnitude=1e-38),
    "mxfp8": tiles(Floats(E4M3, scale=E8M0), 4, 64, magnitude=1e4),
    "fp8_tensor": Case(Floats(E4M3, scale=Stored("FLOAT", "tensor")), [8, 8]),
    "nvfp4": tiles(Floats(E2M1, scale=Stored(Floats(E4M3, scale=Stored("FLOAT", "tensor")))), 8, 64, tile=16),
    "power_log": Case(Log(4, 2.0, -8.0), [5, 7]),
    "log_of_half": Case(Log(5, 0.5, -3.0), [5, 7]),
    "log_1_5": Case(Log(6, 1.5, -20.0, signed=False), [5, 7]),
    "cast_bool": Case(Cast("BOOL"), [5, 7]),
    "cast_int4": Case(Cast("INT4"), [5, 8]),
    "cast_uint16": Case(Cast("UINT16"), [5, 8], magnitude=40000.0),
    "cast_float16": Case(Cast("FLOAT16"), [40], magnitude=40000.0),
    "cast_bfloat16": Case(Cast("BFLOAT16"), [40]),
    "cast_float": Case(Cast("FLOAT"), [40]),
    "cast_double": Case(Cast("DOUBLE"), [40]),
    "cast_double_to_float": Case(Cast("FLOAT"), [40], "DOUBLE", magnitude=2e38),
    "cast_double_to_float16": Case(Cast("FLOAT16"), [40], "DOUBLE"),
    "cast_e4m3": Case(Cast("FLOAT8E4M3FN"), [40], magnitude=400.0),
    "cast_e5m2": Case(Cast("FLOAT8E5M2"), [40], magnitude=50000.0),
    "cast_e2m1": Case(Cast("FLOAT4E2M1"), [40]),
    "cast_e8m0": Case(Cast("FLOAT8E8M0"), [40]),
    "cast_tiles": Case(Tiling([2, 3], [Cast("FLOAT16")], axes=[1, 0]), [6, 4]),
    "hadamard": Case(Linear("INT8", 8, scale=0.1, pre=4), [3, 8]),
    "hadamard_both": Case(Linear("INT8", 8, scale=0.1, pre=8, post=2), [6, 3, 16]),
    "hadamard_scale": Case(Linear("INT4", 4, scale=Stored("FLOAT16", "tensor"), pre=8), [4, 16]),
    "diagonal": Case(Linear("INT8", 8, scale=0.1, pre=[0.5, 0.25, -2.0], post=[0.1, 7.0]), [2, 3]),
    "diagonal_zero": Case(Linear("INT8", 8, scale=0.1, pre=[0.5, 0.0, -2.0]), [2, 3]),
    "rotated_tiles": Case(Tiling([2, 4], [Linear("INT8", 8, scale=FLOAT16, pre=4)], axes=[0, 1], perm=[1, 0]), [4, 12]),
    "scalar": Case(Linear("INT8", 8, scale=0.02), []),
    "empty": Case(Linear("INT8", 8, scale=0.02), [0, 4]),
}


def values_of(case: Case, seed: int) -> np.ndarray:
    """Normal values; then ones on and beside middles between codes; then special ones among them."""
    dtype = DATA_TYPES[case.data_type]
    generator = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        values = (generator.standard_normal(case.shape) * case.magnitude / 2).astype(dtype)
        if seed % 3 == 1:
            steps = generator.integers(-40, 40, case.shape) * 0.25 * generator.choice([0.02, 0.5, 1.0], case.shape)
            values = steps.astype(dtype)
    if seed % 3 == 2 and values.size:
        flat = values.reshape(-1)
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, np.finfo(np.float32).max, 1e-45], dtype=np.float64)
        for i in generator.integers(0, flat.size, max(1, flat.size // 4)):
            with np.errstate(over="ignore"):
                flat[i] = generator.choice(special).astype(dtype)
    if seed % 3 == 2 and values.ndim and values.shape[0] > 1:
        values[1] = 0
    return values


def as_model(text: str, shape: list[int], opset: int) -> onnx.ModelProto:
    function = onnx.parser.parse_function(text)
    assert [(o.domain, o.version) for o in function.opset_import] == [("", opset)]
    infos = {info.name: info for info in function.value_info}
    inputs = [infos[function.input[0]]]
    assert [dim.dim_value for dim in inputs[0].type.tensor_type.shape.dim] == shape
    outputs = [infos[function.output[0]]]
    graph = onnx.helper.make_graph(list(function.node), "encode", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    return model


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run_in_onnxruntime(session: onnxruntime.InferenceSession, name: str, values: np.ndarray) -> bytes:
    binding = session.io_binding()
    element = onnx.helper.np_dtype_to_tensor_dtype(values.dtype)
    if values.dtype == ml_dtypes.bfloat16:
        given = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(values.view(np.uint16), element)
    else:
        given = onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(values))
    binding.bind_ortvalue_input(name, given)
    binding.bind_output(session.get_outputs()[0].name)
    session.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()[0].tobytes()


@pytest.mark.parametrize("name", CASES)
def test_encoders_give_the_models_bytes(name: str) -> None:
    case = CASES[name]
    profile = tessera.Profile.parse(case.text())
    tensors = [values_of(case, seed) for seed in range(6)]
    expected = [encode(case.profile, values, case.data_type == "DOUBLE") for values in tensors]
    if expected[0]:
        assert len(set(expected)) > 1
    for opset in OPSETS:
        type_ = profile.struct_type(case.shape, encoder_opset=opset)
        assert all(len(one) == type_.size_bytes for one in expected)
        model = as_model(type_.encoder, case.shape, opset)
        reference = ReferenceEvaluator(model)
        session = session_of(model)
        input_name = model.graph.input[0].name
        for seed, values in enumerate(tensors):
            with np.errstate(all="ignore"):
                got = np.asarray(reference.run(None, {input_name: values})[0])
            assert got.dtype == np.uint8
            assert got.tobytes() == expected[seed], (opset, seed)
            assert run_in_onnxruntime(session, input_name, values) == expected[seed], (opset, seed)
