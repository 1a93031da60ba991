"""What the bytes of every catalogue entry mean, found in four ways that share no arithmetic: by the native codec, by
our evaluator of the decoder, by ONNX's reference evaluator, and by onnxruntime from the bytes. They give the same bits.
What the codec encodes is compared with the encoder as a function. docs/meaning.md has a row of each entry that was
compared: TESSERA_WRITE_DOCS=1 writes it.

TESSERA_TEST_FULL=1: 10,000 random blocks of each format, and the formats of which a tensor is too large for CI.
"""

import functools
import importlib
import os
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from format_runs import decoder_model, first_difference, in_onnxruntime, in_reference, leaf_arrays, portable_model
from payloads import add_edges, place_outliers

import tessera

ROOT = Path(__file__).resolve().parents[2]
CATALOG = ROOT / "src/tessera/formats/catalog"
PAGE = ROOT / "docs/meaning.md"
BEGIN, END = "<!-- meaning: begin -->\n", "<!-- meaning: end -->\n"
FULL = bool(os.environ.get("TESSERA_TEST_FULL"))
SAMPLE = (400, 16_384)  # blocks; values of formats whose blocks are tiles that the file does not name
BLOCKS, FEWEST_VALUES = (10_000, 2_621_440) if FULL else SAMPLE
PORTABLE_OPSETS = (13, 21)

NO_MEANING = {"sketch.custom"}  # two operators of a vendor, which are in no standard
HEAVY = {"sketch.quip_sharp"}  # rotations of 4096 rows and columns: minutes

# Values that somebody else's program or document gives: which names, whose values, and the test that compares them.
GOLDENS = (
    (r"(iq|q|tq)\d.*|ggml_.*|f16|bf16|f32", "ggml", "test_catalog_ggml.test_goldens"),
    (r"i\d+|f64", "NumPy", "test_catalog_ggml.test_plain_numbers"),
    (r"onnx_.*", "DequantizeLinear", "test_catalog_checkpoints.test_dequantize_linear"),
    (r"matmulnbits.*", "MatMulNBits", "test_catalog_checkpoints.test_matmulnbits"),
    (r"nf4_b\d+", "worked example", "test_catalog_checkpoints.test_example_nf4"),
    (r"nf4_dq_b\d+", "worked example", "test_catalog_checkpoints.test_example_nf4_nested"),
    (r"bnb_fp4_b\d+", "worked example", "test_catalog_checkpoints.test_example_fp4_of_bitsandbytes"),
    (r"bnb_int8", "worked example", "test_catalog_checkpoints.test_example_llm_int8"),
    (r"nvfp4", "worked example", "test_catalog_checkpoints.test_example_nvfp4"),
    (r"mxfp4", "worked example", "test_catalog_checkpoints.test_example_mxfp4"),
    (r"mxfp6_.*", "worked example", "test_catalog_checkpoints.test_example_mxfp6"),
    (r"mxfp8_.*", "worked example", "test_catalog_checkpoints.test_example_mxfp8"),
    (r"mxint8", "worked example", "test_catalog_checkpoints.test_example_mxint8"),
    (
        r"fp8_(e4m3|e5m2|e4m3_channel|e5m2_channel|block128x128)",
        "worked example",
        "test_catalog_checkpoints.test_example_fp8",
    ),
)


@functools.cache
def file_format(stem: str) -> tessera.Format:
    """As the checkout has it, not the library that was built from it."""
    text = (CATALOG / f"{stem}.txt").read_text()
    format = tessera.Format.parse(text, file_name=stem)
    parameters = {key: book(count) for key, count in format.data.items()}
    return tessera.Format.parse(text, file_name=stem, parameters=parameters) if parameters else format


def book(count: int) -> np.ndarray:
    """What a model would give: numbers that are all different."""
    return np.random.default_rng(count).normal(size=count).astype(np.float32)


def formats() -> dict[str, tessera.Format]:
    rows = {}
    for path in CATALOG.glob("*.txt"):
        format = file_format(path.stem)
        listed = re.search(r"^ *blocks: \[(.*)\]", path.read_text(), re.MULTILINE)
        members = [format.with_block(int(block)) for block in listed[1].split(",")] if listed else [format]
        rows.update({member.name: member for member in members})
    return dict(sorted(rows.items()))


FORMATS = formats()
COMPARED = [name for name in FORMATS if name not in NO_MEANING and (FULL or name not in HEAVY)]
ROWS: dict[str, dict[str, str]] = {}


def declares(format: tessera.Format, shape: tuple[int, ...]) -> bool:
    try:
        format.struct_type(shape)
    except tessera.TesseraError:
        return False
    return True


def main_shape(format: tessera.Format, blocks: int = BLOCKS, values: int = FEWEST_VALUES) -> tuple[int, ...]:
    block = format.block
    if block > 1:
        return (blocks // 20, 20 * block)
    example = format.shape
    if len(example) == 2 and example[1] <= 4096:
        rows = max(1, values // example[1])
        for candidate in (rows, -(-rows // 128) * 128):
            if declares(format, (candidate, example[1])):
                return (candidate, example[1])
    return tuple(example)


def more_shapes(format: tessera.Format) -> list[tuple[int, ...]]:
    """Odd ones, tails, one value, none."""
    block = format.block
    of_blocks = [(3, block), (1, 5 * block), (7 * block,), (2, 3, 5 * block), (3, 0, block)]
    any_size = [(3, 7), (5,), (1, 1), (), (0, block), (3, 4096), (4096,), (2, 2, 2048)]
    return [shape for shape in dict.fromkeys(of_blocks + any_size) if declares(format, shape)]


def random_payload(format: tessera.Format, type_: tessera.StructType, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Any bytes, where all codes mean something; where not, those of random values. Special numbers among scales."""
    generator = np.random.default_rng(seed)
    values = int(np.prod(shape, dtype=np.int64))
    payload = generator.integers(0, 256, type_.size_bytes, dtype=np.uint8)
    place_outliers(payload, type_, values, seed)
    try:
        format.decode(payload, shape)
    except tessera.TesseraError as error:
        if error.code != "code-outside":
            raise
        payload = np.array(format.quantize(generator.normal(size=shape)).payload)
    add_edges(payload, type_, values)
    return payload


def leaf_decoder(format: tessera.Format, type_: tessera.StructType, shape: tuple[int, ...]) -> onnx.ModelProto | None:
    """For the leaves, at the first opset that has their types. None where none has (FLOAT6)."""
    for opset in (13, 21, 26):
        try:
            return decoder_model(type_, format.decoder(shape, opset=opset), opset)
        except tessera.TesseraError as error:
            assert error.code == "no-decoder", error
    return None


def compare(format: tessera.Format, shape: tuple[int, ...], payload: np.ndarray, opsets: tuple[int, ...]) -> None:
    type_ = format.struct_type(shape)
    native = format.decode(payload, shape)

    def same(what: str, got: np.ndarray) -> None:
        assert got.shape == tuple(shape), what
        difference = first_difference(got.astype(np.float32), native)
        assert not difference, f"{what}, {shape}: {difference}"

    same("our evaluator", np.asarray(type_.decode(payload)))
    model = leaf_decoder(format, type_, shape)
    for opset in opsets:
        portable = portable_model(type_, opset)
        same(f"onnxruntime, opset {opset}", in_onnxruntime(portable, {"payload": payload}))
        if model is None:
            same(f"ONNX's reference, opset {opset}", in_reference(portable, {"payload": payload}))
    if model is not None:
        same("ONNX's reference, from leaves", in_reference(model, leaf_arrays(type_, payload)))


@pytest.mark.parametrize("name", COMPARED)
def test_all_ways_give_the_same_bits(name):
    format = FORMATS[name]
    shape = main_shape(format)
    type_ = format.struct_type(shape)
    compare(format, shape, random_payload(format, type_, shape, sum(name.encode())), PORTABLE_OPSETS)
    for value in (0, 0xFF):
        edge = np.full(type_.size_bytes, value, np.uint8)
        place_outliers(edge, type_, int(np.prod(shape, dtype=np.int64)), 1)
        try:
            format.decode(edge, shape)
        except tessera.TesseraError as error:
            assert error.code == "code-outside"
            continue
        compare(format, shape, edge, PORTABLE_OPSETS[:1])
    for i, small in enumerate(more_shapes(format)):
        compare(format, small, random_payload(format, format.struct_type(small), small, i), PORTABLE_OPSETS[:1])
    ROWS.setdefault(name, {}).update(onnx="same", onnxruntime="same", native="same", evaluator="same")


@pytest.mark.parametrize("name", COMPARED)
def test_what_is_encoded(name):
    """What the codec makes of normal values is near them, and the encoder as a function makes the same bytes."""
    format = FORMATS[name]
    shape = main_shape(format, *SAMPLE)
    row = ROWS.setdefault(name, {})
    values = np.random.default_rng(7).normal(size=shape).astype(np.float32)
    if name.startswith("i") and name[1:].isdigit():
        values = np.round(values * 40)  # ONNX's integers
    payload = format.quantize(values).payload
    decoded = format.decode(payload, shape)
    error = float(np.sqrt(np.mean(np.square(decoded.astype("f8") - values)) / np.mean(np.square(values.astype("f8")))))
    assert np.isfinite(decoded).all() and error < 1.5
    row["error"] = "0" if error == 0 else f"{error:.1e}" if error < 0.001 else f"{error:.2g}"
    row["encoder"] = "codec"
    try:
        text = format.encoder(shape, opset=21)
    except tessera.TesseraError as problem:
        assert problem.code == "no-encoder", problem
        return
    function = onnx.parser.parse_function(text)
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            list(function.node),
            "encode",
            [info for info in function.value_info if info.name == function.input[0]],
            [onnx.helper.make_tensor_value_info(function.output[0], onnx.TensorProto.UINT8, [len(payload)])],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 21)],
        ir_version=10,
    )
    kind = onnx.helper.tensor_dtype_to_np_dtype(model.graph.input[0].type.tensor_type.elem_type)
    made = in_onnxruntime(model, {function.input[0]: values.astype(kind)})
    assert np.array_equal(made, np.asarray(payload)), np.flatnonzero(made != np.asarray(payload))[:10]
    row["encoder"] = "same bytes"


def golden_of(name: str) -> str:
    for pattern, whose, test in GOLDENS:
        if re.fullmatch(pattern, name):
            module, function = test.split(".")
            assert hasattr(importlib.import_module(module), function), test
            return whose
    return ""


COLUMNS = ("onnx", "onnxruntime", "native", "evaluator", "encoder", "golden", "error")


def row_text(name: str) -> str:
    cells = ROWS[name] | {"golden": golden_of(name)}
    return f"| `{name}` | " + " | ".join(cells.get(column, "") for column in COLUMNS) + " |"


def test_the_page_has_the_row_of_every_format():
    """Rows of formats that this run did not compare stay as they are, where the page is written."""
    compared = [name for name in FORMATS if len(ROWS.get(name, {})) == len(COLUMNS) - 1]
    writes = bool(os.environ.get("TESSERA_WRITE_DOCS"))
    if not writes and len(compared) < len(COMPARED):
        pytest.skip("not all formats were compared in this run")
    head, rest = PAGE.read_text().split(BEGIN)
    committed, tail = rest.split(END)
    by_name = {line.split("`")[1]: line for line in committed.splitlines() if line.startswith("| `")}
    lines = [
        "| format | decoder (onnx) | decoder (onnxruntime) | native | evaluator | encoder | golden | error |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in FORMATS:
        if name in compared:
            lines.append(row_text(name))
        elif name in NO_MEANING:
            lines.append(f"| `{name}` |  |  | registered operators |  | registered operators |  |  |")
        else:
            lines.append(by_name.get(name, f"| `{name}` | not compared yet |"))
    table = "\n".join(lines) + "\n"
    if writes:
        PAGE.write_text(head + BEGIN + table + END + tail)
        return
    differing = [line for line in table.splitlines() if line not in committed.splitlines()]
    assert table == committed, f"TESSERA_WRITE_DOCS=1 writes docs/meaning.md anew; {differing[:5]}"
    assert "not compared yet" not in committed


def runs_in_onnxruntime(operator: str, type_: int, output: int, **attributes: object) -> bool:
    """One node over zeros of a type."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="has no package for this Python")
    zeros = onnx.helper.make_tensor("x", type_, [8], np.zeros(8, np.int32))
    scale = onnx.helper.make_tensor("scale", onnx.TensorProto.FLOAT, [], [1.0])
    inputs = {"DequantizeLinear": ["x", "scale"], "BitShift": ["x", "x"]}.get(operator, ["x"])
    node = onnx.helper.make_node(operator, inputs, ["y"], **attributes)
    result = onnx.helper.make_tensor_value_info("y", output, [8])
    graph = onnx.helper.make_graph([node], "one", [], [result], [zeros, scale])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 26)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        session.run(None, {})
    except Exception:  # of many kinds, none of which onnxruntime documents
        return False
    return True


def test_X58_decoders_use_what_onnxruntime_has():
    """It has neither Cast nor DequantizeLinear of FLOAT4E2M1, and no DequantizeLinear of FLOAT8E8M0: functions from the
    bytes never name these types, whatever the leaves are. A version that has them makes this test fail, and decoders
    simpler."""
    types = onnx.TensorProto
    assert not runs_in_onnxruntime("Cast", types.FLOAT4E2M1, types.FLOAT, to=types.FLOAT)
    assert not runs_in_onnxruntime("DequantizeLinear", types.FLOAT4E2M1, types.FLOAT)
    assert not runs_in_onnxruntime("DequantizeLinear", types.FLOAT8E8M0, types.FLOAT)
    for type_ in (types.FLOAT8E8M0, types.INT2, types.UINT2, types.INT4, types.UINT4, types.FLOAT8E4M3FN):
        assert runs_in_onnxruntime("Cast", type_, types.FLOAT, to=types.FLOAT), types.DataType.Name(type_)
    assert runs_in_onnxruntime("BitShift", types.UINT8, types.UINT8, direction="LEFT")
    assert runs_in_onnxruntime("BitCast", types.UINT8, types.INT8, to=types.INT8)
    for name in ("mxfp4", "nvfp4", "ggml_mxfp4", "sketch.mxfp4", "sketch.nvfp4"):
        format = FORMATS[name]
        for opset in (13, 21, 26):
            text = format.struct_type((4, 16 * format.block)).portable_decoder(opset)
            for type_ in (types.FLOAT4E2M1, types.FLOAT8E8M0):
                assert f"to: int = {type_}>" not in text and "DequantizeLinear" not in text, (name, opset)
