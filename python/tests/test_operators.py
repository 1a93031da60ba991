"""The table of operators (src/tessera/types/operators.cc) against the operator schemas of onnx."""

import re

import onnx.defs
import pytest
from onnx.defs import OpSchema
from tessera import _tessera

ROWS = {row[0]: row for row in _tessera._operators()}
OPSETS = range(13, 27)
PLAIN = {name for name, _, bits in _tessera._element_types() if bits}
# ONNX's spelling in type constraints, from ours.
SPELLING = {name: f"tensor({name.lower()})" for name in PLAIN}
FIXED = {"B": {"BOOL"}, "L": {"INT64"}, "I": {"INT32", "INT64"}}
NUMBERS = {name for name, _, bits in _tessera._element_types() if re.fullmatch(r"U?INT(8|16|32|64)", name)}
NUMBERS |= {"FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16"}

CASES = [(name, opset) for name, row in ROWS.items() for opset in OPSETS if opset >= row[1]]


def schema_of(name: str, opset: int) -> OpSchema:
    return onnx.defs.get_schema(name, opset, "")


def allowed(schema: OpSchema, formal: OpSchema.FormalParameter) -> set[str]:
    """Fixed-width tensor types that an input or output takes, in our spelling."""
    spelled = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}.get(
        formal.type_str, {formal.type_str}
    )
    return {name for name in PLAIN if SPELLING[name] in spelled}


def inputs_of(signature: str, opset: int) -> list[tuple[str, bool, bool]]:
    """(letter, optional, variadic) of the inputs that exist at this opset."""
    parts = [p for p in signature.split("->")[0].split(",") if p]
    matches = [re.fullmatch(r"([A-Z])(\?)?(\.\.\.)?(?:@(\d+))?", p) for p in parts]
    assert all(matches), signature
    return [(m[1], bool(m[2]), bool(m[3])) for m in matches if m and int(m[4] or 0) <= opset]


def types_of(letter: str, name: str, opset: int) -> set[str]:
    if letter == "T":
        return set(ROWS[name][5][opset])
    if letter == "N":
        return NUMBERS - ({"BFLOAT16"} if opset < 15 else set())
    return FIXED[letter]


def test_table_covers_what_a_decoder_needs():
    assert len(ROWS) >= 50
    assert list(ROWS) == sorted(ROWS)
    assert all(list(row[5]) == list(OPSETS) for row in ROWS.values())


@pytest.mark.parametrize("name", ROWS)
def test_since_is_the_first_opset(name):
    since = ROWS[name][1]
    schema = schema_of(name, since)
    assert not schema.deprecated
    first = min(s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == name and s.domain == "")
    assert since == max(first, OPSETS[0])


@pytest.mark.parametrize(("name", "opset"), CASES)
def test_row_at_opset(name, opset):
    _, _, signature, attributes, max_outputs, _ = ROWS[name]
    schema = schema_of(name, opset)
    assert not schema.deprecated

    # Inputs: as many, optional or variadic where onnx says so, and the same types.
    inputs = inputs_of(signature, opset)
    assert len(inputs) == len(schema.inputs)
    for (letter, optional, variadic), formal in zip(inputs, schema.inputs, strict=True):
        kind = OpSchema.FormalParameterOption
        assert optional == (formal.option == kind.Optional), formal.name
        assert variadic == (formal.option == kind.Variadic), formal.name
        assert types_of(letter, name, opset) == allowed(schema, formal), formal.name

    # All inputs of the letter T have one type, and so has the result. (Where T is BOOL alone, onnx may name it twice.)
    result = signature.split("->")[1]
    of_type_t = [f for (letter, _, _), f in zip(inputs, schema.inputs, strict=True) if letter == "T"]
    if result == "T":
        of_type_t.append(schema.outputs[0])
        assert allowed(schema, schema.outputs[0]) == types_of("T", name, opset)
    assert len({f.type_str for f in of_type_t}) <= 1 or types_of("T", name, opset) == {"BOOL"}
    if result in FIXED:
        assert allowed(schema, schema.outputs[0]) == FIXED[result]
    elif result in ("to", "value"):
        # The attribute may name, or hold, any type that T stands for.
        assert allowed(schema, schema.outputs[0]) == types_of("T", name, opset)

    variadic_output = schema.outputs[0].option == OpSchema.FormalParameterOption.Variadic
    assert (max_outputs > 1) == variadic_output

    # Attributes: those of ours that exist at this opset are onnx's; onnx's required ones are ours.
    ours = {p.split("@")[0] for p in attributes.split() if int((p.split("@") + ["0"])[1]) <= opset}
    assert ours <= schema.attributes.keys()
    assert {a for a, facts in schema.attributes.items() if facts.required} <= ours


@pytest.mark.parametrize("name", ROWS)
def test_attributes_exist_no_earlier_than_said(name):
    _, since, _, attributes, _, _ = ROWS[name]
    for part in attributes.split():
        attribute, _, version = part.partition("@")
        if version and int(version) - 1 >= since:
            assert attribute not in schema_of(name, int(version) - 1).attributes
