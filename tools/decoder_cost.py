"""What the catalogue's decoders cost in onnxruntime: a table of nodes and nanoseconds a value.

decoder_cost.py [--opset N] [--values N] [--rounds N] [--limit NS] [--write] [FORMAT...]    without names: all formats

"decoder" takes the leaves, "portable" the bytes, as in a model for stock runtimes. Both are graph inputs: with
initializers onnxruntime would compute the values when it creates the session, and nothing would be left to measure.
One thread, the median of some rounds, a payload of random bytes. Beside it a copy of as many floats, measured in the
same run. --limit: exit code 1 if a portable decoder of at most 8 bits a value (not counting scales) takes longer.
--write: the table goes into docs/decoder-cost.md.
"""

import argparse
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime

import tessera

PAGE = Path(__file__).resolve().parents[1] / "docs/decoder-cost.md"
BEGIN, END = "<!-- cost: begin -->\n", "<!-- cost: end -->\n"
LIMITED_BITS = 8.5  # a byte a value, and the scales


@dataclass
class Cost:
    nodes: int
    ns: float


@dataclass
class Row:
    name: str
    bits: float = 0.0
    decoder: Cost | None = None
    portable: Cost | None = None
    note: str = ""


def processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", info.read_text()) if info.exists() else None
    return found[1] if found else "unknown processor"


def with_data(name: str) -> tessera.Format:
    """The format, with numbers for what a model would give it."""
    data = tessera.Format(name).data
    return tessera.Format(name, parameters={key: np.linspace(-1, 1, count) for key, count in data.items()})


def typed(format: tessera.Format, values: int) -> tuple[tessera.StructType, tuple[int, ...]]:
    """For a square of about so many values; for the format's own example where it does not take that."""
    side = max(1, round(values**0.5))
    columns = max(1, round(side / format.block)) * format.block
    shape = (max(1, values // columns), columns)
    try:
        return format.struct_type(shape), shape
    except tessera.TesseraError:
        return format.struct_type(format.shape), tuple(format.shape)


def session_of(function: onnx.FunctionProto, inputs: list, constants: list, opset: int) -> onnxruntime.InferenceSession:
    graph = onnx.helper.make_graph(list(function.node), "decode", inputs, [function.value_info[0]], constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def median_of(session: onnxruntime.InferenceSession, feeds: dict[str, np.ndarray], rounds: int, values: int) -> float:
    return timed(lambda: session.run(None, feeds), rounds) / values


def timed(work: Callable[[], object], rounds: int) -> float:
    """Nanoseconds, the median; a first run is not counted."""
    times = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:]) * 1e9


def copy_cost(values: int, rounds: int) -> float:
    source, target = np.ones(values, np.float32), np.empty(values, np.float32)
    return timed(lambda: np.copyto(target, source), rounds) / values


def commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=PAGE.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def portable_cost(type_: tessera.StructType, payload: np.ndarray, opset: int, rounds: int, values: int) -> Cost:
    function = onnx.parser.parse_function(type_.portable_decoder(opset))
    info = onnx.helper.make_tensor_value_info("payload", onnx.TensorProto.UINT8, [type_.size_bytes])
    session = session_of(function, [info], [], opset)
    return Cost(len(function.node), median_of(session, {"payload": payload}, rounds, values))


def decoder_cost(
    format: tessera.Format,
    type_: tessera.StructType,
    shape: tuple[int, ...],
    payload: np.ndarray,
    opset: int,
    rounds: int,
) -> Cost | None:
    """None where the opset does not convert a type of a leaf, or numpy has none: onnxruntime takes such leaves
    as initializers only."""
    try:
        function = onnx.parser.parse_function(format.decoder(shape, opset=opset))
    except tessera.TesseraError as error:
        if error.code == "no-decoder":
            return None
        raise
    view = type_.view(payload)
    inputs, constants, feeds = [], [], {}
    for leaf in type_.leaves:
        array = np.ascontiguousarray(view[leaf.path].numpy())
        if leaf.constant is not None:
            constants.append(onnx.numpy_helper.from_array(array, leaf.input_name))
            continue
        if array.dtype.type.__module__ != "numpy":
            return None
        feeds[leaf.input_name] = array
        inputs.append(
            onnx.helper.make_tensor_value_info(
                leaf.input_name, onnx.TensorProto.DataType.Value(leaf.element_type), leaf.shape
            )
        )
    session = session_of(function, inputs, constants, opset)
    return Cost(len(function.node), median_of(session, feeds, rounds, int(np.prod(shape))))


def measure(name: str, opset: int, values: int, rounds: int) -> Row:
    row = Row(name)
    try:
        format = with_data(name)
        row.bits = format.bits_per_weight()
        type_, shape = typed(format, values)
        count = int(np.prod(shape))
        random = np.random.default_rng(0).integers(0, 256, type_.size_bytes, dtype=np.uint8)
        try:
            row.portable = portable_cost(type_, random, opset, rounds, count)
            payload = random
        except Exception as error:  # onnxruntime's own exceptions have no common base
            if "indices element out of data bounds" not in str(error) and "invalid indice" not in str(error):
                raise
            # Not every byte is a code of a codebook, or an outlier's position.
            payload, row.note = np.zeros_like(random), "of zeros"
            row.portable = portable_cost(type_, payload, opset, rounds, count)
        row.decoder = decoder_cost(format, type_, shape, payload, opset, rounds)
    except tessera.TesseraError as error:
        row.note = error.code
    return row


def shown(cost: Cost | None) -> str:
    return f"{cost.nodes} | {cost.ns:.1f}" if cost else " | "


def table(rows: list[Row]) -> str:
    lines = [
        "| format | bits | decoder: nodes | ns a value | portable: nodes | ns a value | |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        bits = f"{row.bits:.4g}" if row.bits else ""
        lines.append(f"| `{row.name}` | {bits} | {shown(row.decoder)} | {shown(row.portable)} | {row.note} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opset", type=int, default=21)
    parser.add_argument("--values", type=int, default=1 << 20)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("formats", nargs="*", metavar="FORMAT")
    options = parser.parse_args(arguments)
    head = f"onnxruntime {onnxruntime.__version__}, {processor()}, one thread, opset {options.opset}"
    print(f"{head}\n")
    rows = [
        measure(name, options.opset, options.values, options.rounds) for name in options.formats or tessera.formats()
    ]
    print(table(rows))
    if options.write:
        facts = f"{head}, commit {commit()}, medians of {options.rounds} rounds. "
        facts += f"A copy of the values takes {copy_cost(options.values, options.rounds):.2g} ns each.\n\n"
        before, rest = PAGE.read_text().split(BEGIN)
        after = rest.split(END)[1]
        PAGE.write_text(before + BEGIN + facts + table(rows) + "\n" + END + after)
    slow = [
        row.name
        for row in rows
        if options.limit is not None and row.portable and row.bits <= LIMITED_BITS and row.portable.ns > options.limit
    ]
    if slow:
        print(f"\nmore than {options.limit:g} ns a value: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
