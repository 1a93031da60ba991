"""The evaluator of functions (src/tessera/codecs), operator by operator, against ONNX's ReferenceEvaluator.

For every operator of the table, over all element types that the table has for it and the opsets at which they change.
"""

import math

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import tessera
from tessera import _tessera

ROWS = {row[0]: row for row in _tessera._operators()}
OPSETS = [13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24, 25, 26]
# numpy and ml_dtypes have no such type, or ONNX's reference does not compute with it.
WITHOUT = {"COMPLEX64", "COMPLEX128", "STRING"}
BITS = {name: bits for name, _, bits in _tessera._element_types()}


def number(name: str) -> int:
    return onnx.TensorProto.DataType.Value(name)


def random_array(type_: str, shape: tuple[int, ...], seed: int, *, low: int = -100, high: int = 100) -> np.ndarray:
    """Numbers of a type: whole ones and fractions, zeros of both signs, infinities and NaN where it has them."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype(_tessera._dtype(type_))
    count = math.prod(shape)
    if type_ == "BOOL":
        return generator.integers(0, 2, shape).astype(bool)
    if "INT" in type_:
        bits = int("".join(c for c in type_ if c.isdigit()))
        least = 0 if type_.startswith("U") else max(low, -(1 << (bits - 1)))
        most = min(high, (1 << bits) - 1 if type_.startswith("U") else (1 << (bits - 1)) - 1)
        return generator.integers(least, most + 1, shape).astype(dtype)
    values = generator.choice([0.0, -0.0, 0.5, -1.5, 2.5, 3.0, -7.25, 1e-3, 96.0, -100.0], count)
    if type_ == "FLOAT8E8M0":
        values = np.exp2(generator.integers(-20, 20, count))
    return values.reshape(shape).astype(np.float32).astype(dtype)


def with_specials(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    flat = array.reshape(-1)
    if array.dtype.kind == "f" and array.dtype.itemsize >= 4 and flat.size > 3:
        flat[:3] = [math.inf, -math.inf, math.nan]
    return array


class Case:
    """One node: inputs by name, attributes, and which of its outputs is looked at."""

    def __init__(self, op: str, inputs: list, output: int = 0, outputs: int = 1, **attributes):
        self.op, self.inputs, self.attributes = op, inputs, attributes
        self.output, self.outputs = output, outputs

    def function(self, opset: int) -> onnx.FunctionProto:
        names = [f"i{k}" if array is not None else "" for k, array in enumerate(self.inputs)]
        results = [f"o{k}" for k in range(self.outputs)]
        attributes = {k: v for k, v in self.attributes.items() if v is not None}
        node = onnx.helper.make_node(self.op, names, results, **attributes)
        return onnx.helper.make_function(
            "test",
            "f",
            [name for name in names if name],
            [results[self.output]],
            [node],
            [onnx.helper.make_opsetid("", opset)],
        )

    def arrays(self) -> list[np.ndarray]:
        return [array for array in self.inputs if array is not None]


def ints(*values: int, type_: str = "INT64") -> np.ndarray:
    return np.array(values, dtype=_tessera._dtype(type_))


def cases(op: str, type_: str, opset: int) -> list[Case]:
    """What is tried with T = type_."""

    def x(*shape: int, seed: int = 1, low: int = -100, high: int = 100) -> np.ndarray:
        return random_array(type_, shape, seed, low=low, high=high)

    def nonzero(*shape: int, seed: int = 2) -> np.ndarray:
        array = random_array(type_, shape, seed, low=1, high=9)
        return np.where(array == 0, np.ones_like(array), array).astype(array.dtype)

    signed = not type_.startswith(("U", "BOOL"))
    is_float = "FLOAT" in type_ or type_ == "DOUBLE"
    if op == "Sign":
        # Of -0 it is 0 or -0, as programs like.
        return [Case(op, [nonzero(3, 5)]), Case(op, [x(0, 2)]), Case(op, [np.zeros_like(x(2))])]
    unary = {"Abs", "Neg", "Ceil", "Floor", "Round", "Reciprocal", "BitwiseNot", "Not", "Identity", "Size"}
    binary = {"Add", "Sub", "Mul", "And", "Or", "Xor", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"}
    binary |= {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}
    if op in unary:
        return [Case(op, [with_specials(x(3, 5))]), Case(op, [x()]), Case(op, [x(0, 2)])]
    if op in ("IsNaN", "IsInf"):
        found = [Case(op, [with_specials(x(3, 5))])]
        if op == "IsInf":
            found += [
                Case(op, [with_specials(x(4))], detect_negative=0),
                Case(op, [with_specials(x(4))], detect_positive=0),
            ]
        return found
    if op in binary:
        pairs = [((3, 4), (3, 4)), ((2, 1, 3), (4, 1)), ((), (5,)), ((0, 3), (1, 3))]
        return [Case(op, [x(*a), x(*b, seed=2)]) for a, b in pairs]
    if op == "Div":
        return [Case(op, [x(3, 4), nonzero(3, 4)]), Case(op, [x(2, 1), nonzero(3)])]
    if op == "Mod":
        found = [Case(op, [x(4, 5), nonzero(4, 5)], fmod=1)]
        if not is_float:
            found.append(Case(op, [x(4, 5), nonzero(5)]))
            if signed:
                found.append(Case(op, [x(4, 5), -nonzero(5)]))
        return found
    if op == "BitShift":
        shifts = random_array(type_, (3, 4), 5, low=0, high=7)
        return [Case(op, [x(3, 4, low=0), shifts], direction=d) for d in ("LEFT", "RIGHT")]
    if op in ("Max", "Min"):
        # Which of 0 and -0 is larger is open.
        def whole(*shape: int, seed: int = 1) -> np.ndarray:
            array = x(*shape, seed=seed)
            return np.where(array == 0, np.ones_like(array), array).astype(array.dtype)

        return [Case(op, [whole(3, 4), whole(4, seed=2), whole(3, 1, seed=3)]), Case(op, [whole(3)])]
    if op == "Clip":
        low, high = np.sort(random_array(type_, (2,), 3, low=0, high=50))
        return [
            Case(op, [x(10), low.reshape(()), high.reshape(())]),
            Case(op, [x(10), None, high.reshape(())]),
            Case(op, [x(4)]),
        ]
    if op == "Pow":
        exponent = "FLOAT" if type_ == "BFLOAT16" and opset < 15 else type_
        exponents = np.array([0, 1, 2, 3], dtype=_tessera._dtype(exponent))
        return [Case(op, [random_array(type_, (4,), 1, low=0, high=5), exponents])]
    if op == "Where":
        return [Case(op, [random_array("BOOL", (3, 1), 4), x(3, 4), x(4, seed=2)])]
    if op == "Cast":
        found = []
        for target in ROWS["Cast"][5][opset]:
            # ml_dtypes does not convert between its types below 8 bits, nor between them and FLOAT8E8M0.
            small = {t for t in (type_, target) if BITS[t] < 8 or t == "FLOAT8E8M0"}
            if target in WITHOUT or len(small) == 2:
                continue
            array = x(20, low=0, high=1 if target == "FLOAT8E8M0" else 100)
            if target == "FLOAT8E8M0" and is_float:
                array = np.abs(array.astype(np.float32)).astype(array.dtype)  # what becomes of less than 0 is open
            if is_float and "INT" in target:
                # What becomes of numbers that the type does not hold is open.
                numbers = [0.0, 0.5, 0.75, 1.0] if BITS[target] < 8 else [0.0, 0.5, 1.5, 2.5, 96.0]
                if type_ == "FLOAT8E8M0":
                    numbers = [0.5, 1.0, 64.0]
                array = np.resize(np.array(numbers, np.float32), 20).astype(array.dtype)
            found.append(Case(op, [array], to=number(target)))
        return found
    if op == "BitCast":
        same = ["UINT8", "INT8", "UINT16", "FLOAT16", "INT32", "FLOAT", "DOUBLE", "UINT64", "UINT4", "INT4"]
        return [Case(op, [x(3, 4)], to=number(t)) for t in same if BITS[t] == BITS[type_]]
    if op == "Concat":
        return [Case(op, [x(2, 3), x(2, 1, seed=2), x(2, 0)], axis=1), Case(op, [x(2, 3), x(1, 3)], axis=-2)]
    if op == "Reshape":
        found = [Case(op, [x(2, 6), ints(3, -1)]), Case(op, [x(2, 6), ints(0, 2, 3)]), Case(op, [x(1, 1), ints()])]
        return found + ([Case(op, [x(0, 6), ints(3, 0)], allowzero=1)] if opset >= 14 else [])
    if op == "Transpose":
        return [Case(op, [x(2, 3, 4)], perm=[2, 0, 1]), Case(op, [x(2, 3)]), Case(op, [x()])]
    if op == "Flatten":
        return [Case(op, [x(2, 3, 4)]), Case(op, [x(2, 3, 4)], axis=0), Case(op, [x(2, 3, 4)], axis=-1)]
    if op == "Squeeze":
        return [Case(op, [x(1, 3, 1)]), Case(op, [x(1, 3, 1), ints(-1)])]
    if op == "Unsqueeze":
        return [Case(op, [x(2, 3), ints(0, -1)])]
    if op == "Expand":
        return [Case(op, [x(3, 1), ints(2, 1, 4)]), Case(op, [x(3, 4), ints(1, 1)])]
    if op == "Tile":
        return [Case(op, [x(2, 3), ints(2, 1)]), Case(op, [x(2, 3), ints(0, 2)])]
    if op == "Slice":
        return [
            Case(op, [x(6, 5), ints(1, 0), ints(5, 3)]),
            Case(op, [x(6, 5), ints(-1), ints(-100), ints(0), ints(-2)]),
            Case(op, [x(6, 5), ints(2, type_="INT32"), ints(100, type_="INT32"), ints(-1, type_="INT32")]),
            Case(op, [x(6, 5), ints(4), ints(2), ints(1)]),
            Case(op, [x(6), ints(100), ints(0), ints(0), ints(-1)]),
        ]
    if op == "Split":
        found = [Case(op, [x(2, 6), ints(1, 2, 3)], output=k, outputs=3, axis=1) for k in range(3)]
        more = {"num_outputs": 2} if opset >= 18 else {}
        return [*found, Case(op, [x(4)], output=1, outputs=2, **more)]
    if op == "Pad":
        value = random_array(type_, (), 7, low=0)
        found = [
            Case(op, [x(2, 3), ints(1, 0, 0, 2), value]),
            Case(op, [x(3, 4), ints(2, 1, 1, 2)], mode="reflect"),
            Case(op, [x(3, 4), ints(2, 1, 1, 2)], mode="edge"),
        ]
        if type_ != "FLOAT8E8M0":  # which has no 0
            found.append(Case(op, [x(2, 3), ints(1, 0, 0, 2)]))
        if opset >= 18:
            found.append(Case(op, [x(2, 3), ints(1, 2), value, ints(-1)]))
        return found + ([Case(op, [x(3, 4), ints(2, 1, 1, 2)], mode="wrap")] if opset >= 19 else [])
    if op == "DepthToSpace":
        return [Case(op, [x(1, 8, 2, 3)], blocksize=2, mode=mode) for mode in ("DCR", "CRD")]
    if op == "Gather":
        return [
            Case(op, [x(5, 3), ints(0, -1, 4)]),
            Case(op, [x(5, 3), ints(2, 0, type_="INT32").reshape(2, 1)], axis=1),
            Case(op, [x(5), np.array(3)]),
        ]
    if op == "GatherElements":
        return [
            Case(op, [x(3, 4), ints(0, 2, 1, -1, 1, 0, 0, 2).reshape(2, 4)]),
            Case(op, [x(3, 4), ints(0, 2, 3).reshape(3, 1)], axis=1),
        ]
    if op == "GatherND":
        return [
            Case(op, [x(3, 4), ints(0, 1, 2, -1).reshape(2, 2)]),
            Case(op, [x(2, 3, 4), ints(2, 0).reshape(2, 1)], batch_dims=1),
            Case(op, [x(3, 4), ints(1).reshape(1, 1)]),
        ]
    if op == "ScatterND":
        return [
            Case(op, [x(4, 3), ints(0, 2).reshape(2, 1), x(2, 3, seed=5)]),
            Case(op, [x(4, 3), ints(0, 2, 3, 1).reshape(2, 2), x(2, seed=5)]),
        ]
    if op == "ScatterElements":
        return [Case(op, [x(3, 3), ints(1, 0, 2).reshape(1, 3), x(1, 3, seed=5)], axis=0)]
    if op == "Shape":
        found = [Case(op, [x(2, 3, 4)])]
        return found + ([Case(op, [x(2, 3, 4)], start=1, end=-1)] if opset >= 15 else [])
    if op == "Constant":
        return [Case(op, [], value=onnx.numpy_helper.from_array(x(2, 3)))]
    if op == "ConstantOfShape":
        one = onnx.numpy_helper.from_array(x(1))
        return [Case(op, [ints(2, 3)], value=one), Case(op, [ints(2, 3)])]
    if op == "Range":
        steps = [(0, 10, 3), (10, 0, -4), (3, 3, 1)]
        return [Case(op, [np.array(v, dtype=_tessera._dtype(type_)) for v in step]) for step in steps]
    if op == "MatMul":

        def whole(*shape: int, seed: int) -> np.ndarray:
            return random_array("INT8", shape, seed, low=-4, high=4).astype(_tessera._dtype(type_))

        return [
            Case(op, [whole(2, 3, seed=1), whole(3, 4, seed=2)]),
            Case(op, [whole(3, seed=1), whole(2, 3, 2, seed=2)]),
        ]
    raise AssertionError(f"no cases for {op}")


def same(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "iub" or "int" in a.dtype.name:
        return bool(np.array_equal(a, b))
    nan = np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))
    bits = f"u{a.dtype.itemsize}"
    equal = np.atleast_1d(a).view(bits) == np.atleast_1d(b).view(bits)
    return bool(np.all(equal.reshape(a.shape) | nan))


# What ONNX 1.23's reference does otherwise than the specification, or cannot do: (operator, types or None, why).
REFERENCE_DIFFERS = {
    "Div": (
        "rounds quotients of integers down, where the specification and onnxruntime truncate",
        lambda t: "INT" in t,
    ),
}


def changes(op: str) -> list[int]:
    """The opsets at which the types of an operator change, its first and the last."""
    since, types = ROWS[op][1], ROWS[op][5]
    found = [since]
    for opset in range(since + 1, 27):
        if types[opset] != types[opset - 1] or opset == 26 or (opset == 18 and op in ("Pad", "Split")):
            found.append(opset)
    return found


@pytest.mark.parametrize("op", ROWS)
def test_operator(op: str) -> None:
    compared = 0
    for opset in changes(op):
        for type_ in ROWS[op][5][opset]:
            if type_ in WITHOUT:
                continue
            for case in cases(op, type_, opset):
                function = case.function(opset)
                with np.errstate(all="ignore"):
                    got = _tessera._evaluate(function.SerializeToString(), case.arrays())
                    expected = reference(case, function, type_)
                assert same(got, expected), (op, opset, type_, case.attributes, case.arrays(), got, expected)
                compared += 1
    assert compared > 0, op


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def reference(case: Case, function: onnx.FunctionProto, type_: str) -> np.ndarray:
    arrays = case.arrays()
    _, differs = REFERENCE_DIFFERS.get(case.op, ("", lambda _: False))
    if differs(type_):
        numbers = [array.astype(object) for array in arrays]
        return np.vectorize(truncated, otypes=[object])(*numbers).astype(arrays[0].dtype)
    inputs = dict(zip(function.input, arrays, strict=True))
    return np.asarray(ReferenceEvaluator(function).run(None, inputs, attributes={})[0])


def test_a_type_decodes_with_nothing_but_its_declaration() -> None:
    type_ = tessera.StructType.parse("""StructTypeProto {
        name: "PAIRS"
        structure: Structure {
            field: { name: "codes", type: array(UINT8, dimension=4) }
            field: { name: "step", type: FLOAT }
        }
        decoder: FunctionProto {
            <opset_import: ["" : 13]>
            decode (codes, step) => (Y) <float[2, 2] Y> {
                wide = Cast <to: int = 1> (codes)
                scaled = Mul (wide, step)
                shape = Constant <value: tensor = int64[2] {2, 2}> ()
                Y = Reshape (scaled, shape)
            }
        }
    }""")
    payload = bytes([1, 2, 3, 4]) + np.float32(0.5).tobytes()
    assert np.array_equal(type_.decode(payload), np.array([[0.5, 1], [1.5, 2]], np.float32))
    # Without one, by the profile that it is the translation of.
    profile = tessera.Profile.parse(
        "QuantizationProto { codebook: { codebook_data: [-1, 0, 1] packed_count: 5 packed_bytes: 1 scale_float: 0.5 } }"
    )
    assert profile.struct_type([5]).decode(bytes([2 * 81 + 1 * 27 + 0 * 9 + 2 * 3 + 1])).tolist() == [
        0,
        0.5,
        -0.5,
        0,
        0.5,
    ]
    codes = tessera.Profile.parse("QuantizationProto { codebook: { codebook_data: [-1, 0, 1] index_bits: 2 } }")
    with pytest.raises(tessera.TesseraError) as caught:
        codes.struct_type([4]).decode(bytes([0b11000100]))
    assert caught.value.code == "evaluate"
    assert "index 3, number 3 of the indices, is none of 3" in caught.value.what
