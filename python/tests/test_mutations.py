"""Plants mistakes in the decoders of the catalogue and looks whether the comparison of test_meaning.py finds them: one
bit of a constant (tables, shapes, shifts), or another operator in place of one.

Some mistakes mean the same: the end of a slice beyond all elements, an axis counted from the other side, a bit of NaN,
a bound that no code reaches. So not all can be found, but all in a table of the format's numbers have to be."""

import math
import os
import re

import numpy as np
import onnx
import pytest
from format_runs import decoder_model, first_difference, leaf_arrays, portable_model
from tessera._tessera import _evaluate
from test_meaning import FORMATS, HEAVY, NO_MEANING, declares, random_payload

import tessera

FULL = bool(os.environ.get("TESSERA_TEST_FULL"))
PER_CONSTANT = 4 if FULL else 1
OTHER_OPERATOR = {
    "Add": "Sub",
    "Sub": "Add",
    "Mul": "Add",
    "Div": "Mul",
    "Mod": "Div",
    "And": "Or",
    "Or": "And",
    "Less": "Equal",
    "Equal": "Less",
    "BitwiseAnd": "BitwiseOr",
    "BitwiseOr": "BitwiseXor",
    "BitwiseXor": "BitwiseOr",
    "Min": "Max",
    "Max": "Min",
}


MOST_SURVIVE = 0.34  # of a format's own
NAMES = [name for name in FORMATS if name not in NO_MEANING | HEAVY]
COUNTS: dict[str, tuple[int, int]] = {}


def is_table(what: str) -> bool:
    """True for the constant of several numbers.

    Not for that of the powers of two, of which a format needs a few, and not for the codes 0, 1, 2, ... themselves
    where a change is less than a half: MatMulNBits takes both a code and its zero point from such a table, so that
    9e-44 for 0 is 0 in each difference, and exponents are cut off to whole numbers.
    """
    table = re.search(r"float\[(\d+)\] \{(.*)\}", what)
    if table is None or int(table[1]) <= 4 or int(table[1]) == 279:
        return False
    return [round(float(number)) for number in table[2].split(",") if math.isfinite(float(number))] != list(
        range(int(table[1]))
    )


def shape_of(format: tessera.Format) -> tuple[int, ...]:
    if format.block > 1:
        return (64, max(1, 1024 // format.block) * format.block)
    for shape in ((4, 4096), (3, 7), (128, 4096), tuple(format.shape)):
        if declares(format, shape):
            return shape
    raise AssertionError(format.name)


def flipped(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """One bit of one element."""
    bytes_ = np.frombuffer(array.tobytes(), np.uint8).copy()
    bytes_[generator.integers(bytes_.size)] ^= 1 << generator.integers(8)
    return np.frombuffer(bytes_.tobytes(), array.dtype).reshape(array.shape)


def constants_of(node: onnx.NodeProto, generator: np.random.Generator) -> list[onnx.NodeProto]:
    """Copies of a Constant with one bit changed."""
    mutants = []
    for _ in range(PER_CONSTANT):
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        (attribute,) = copy.attribute
        if attribute.name == "value":
            array = onnx.numpy_helper.to_array(attribute.t)
            if array.size == 0 or array.dtype.type.__module__ != "numpy" or array.dtype == bool:
                return mutants
            attribute.t.CopyFrom(onnx.numpy_helper.from_array(flipped(array, generator)))
        elif attribute.ints:
            # The low bits: of shapes and axes, whose high bits are errors anyway.
            at = generator.integers(len(attribute.ints))
            attribute.ints[at] ^= 1 << int(generator.integers(3))
        elif attribute.type == onnx.AttributeProto.INT:
            attribute.i ^= 1 << int(generator.integers(3))
        else:
            return mutants
        mutants.append(copy)
    return mutants


def mutants_of(model: onnx.ModelProto, generator: np.random.Generator) -> list[tuple[str, list[onnx.NodeProto]]]:
    nodes = list(model.graph.node)
    mutants = []
    for i, node in enumerate(nodes):
        changed = []
        if node.op_type == "Constant":
            changed = constants_of(node, generator)
        elif node.op_type in OTHER_OPERATOR and not node.attribute:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.op_type = OTHER_OPERATOR[node.op_type]
            changed = [copy]
        elif node.op_type == "BitShift":
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.attribute[0].s = b"LEFT" if copy.attribute[0].s == b"RIGHT" else b"RIGHT"
            changed = [copy]
        for copy in changed:
            mutants.append((f"{i}: {onnx.printer.to_text(copy)}", [*nodes[:i], copy, *nodes[i + 1 :]]))
    return mutants


def evaluate(model: onnx.ModelProto, nodes: list[onnx.NodeProto], arrays: dict[str, np.ndarray]) -> np.ndarray | None:
    """None where it does not run at all."""
    function = onnx.helper.make_function(
        "tessera",
        "decode",
        [info.name for info in model.graph.input],
        [info.name for info in model.graph.output],
        nodes,
        list(model.opset_import),
    )
    try:
        return np.asarray(_evaluate(function.SerializeToString(), [arrays[name] for name in function.input]))
    except tessera.TesseraError:
        return None


def found(got: np.ndarray | None, expected: np.ndarray) -> bool:
    if got is None or got.shape != expected.shape:
        return True
    return bool(first_difference(got.astype(np.float32), expected))


def model_of(format: tessera.Format, type_: tessera.StructType, shape: tuple[int, ...], payload: np.ndarray):
    """The decoder of leaves at the last opset, which does not take numbers apart as that of the bytes has to; and the
    arrays that it takes."""
    try:
        return decoder_model(type_, format.decoder(shape, opset=26), 26), leaf_arrays(type_, payload)
    except tessera.TesseraError as error:
        assert error.code == "no-decoder"
        return portable_model(type_, 26), {"payload": payload}


@pytest.mark.parametrize("name", NAMES)
def test_planted_mistakes_are_found(name):
    format = FORMATS[name]
    shape = shape_of(format)
    type_ = format.struct_type(shape)
    payload = random_payload(format, type_, shape, 3)
    expected = format.decode(payload, shape)
    generator = np.random.default_rng(sum(name.encode()))
    model, arrays = model_of(format, type_, shape, payload)
    assert not found(evaluate(model, list(model.graph.node), arrays), expected)
    mutants = mutants_of(model, generator)
    survivors = [what for what, nodes in mutants if not found(evaluate(model, nodes, arrays), expected)]
    COUNTS[name] = (len(mutants), len(survivors))
    assert len(survivors) <= MOST_SURVIVE * len(mutants), "".join(survivors)
    in_tables = [what for what in survivors if is_table(what)]
    assert not in_tables, "".join(in_tables)


def test_most_of_all_planted_mistakes_are_found():
    if len(COUNTS) < len(NAMES):
        pytest.skip("not all formats were tried in this run")
    planted = sum(mutants for mutants, _ in COUNTS.values())
    survived = sum(survivors for _, survivors in COUNTS.values())
    print(f"{planted - survived} of {planted} found")
    assert planted > 1_500
    assert survived <= 0.1 * planted
