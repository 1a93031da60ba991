"""ONNX's own parser reads the committed function texts as we do."""

import re
from pathlib import Path

import onnx
import onnx.parser
import pytest

TEXTS = sorted((Path(__file__).resolve().parents[2] / "testdata/functions").glob("*.onnxtxt"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.stem)
def test_onnx_reads_what_we_print(path: Path) -> None:
    function = onnx.parser.parse_function(path.read_text())
    text = path.read_text()
    assert [n.op_type for n in function.node] == re.findall(r"= (?:[a-z]+\.)*([A-Z]\w*)", text)
    assert function.value_info[0].name == "Y"


def test_the_literals_mean_what_they_say() -> None:
    text = next(p for p in TEXTS if p.stem == "every_literal").read_text()
    function = onnx.parser.parse_function(text)
    assert function.name == "a name"
    assert function.doc_string == "café"
    assert function.domain == 'd "q" \\'
    assert list(function.input) == ["a", "", "b c"]
    attributes = {a.name: a for n in function.node for a in n.attribute}
    by_node = [{a.name: onnx.helper.get_attribute_value(a) for a in n.attribute} for n in function.node]
    assert by_node[0]["i"] == -(2**63)
    assert str(by_node[0]["f"]) == "-0.0"
    assert by_node[0]["g"] == pytest.approx(1.4e-45, rel=0.1)
    assert by_node[2]["s"] == b'a"\\b'
    assert attributes["ei"].type == onnx.AttributeProto.INTS
    tensor = onnx.numpy_helper.to_array
    assert tensor(by_node[5]["t"]).tolist() == [2**64 - 1]
    assert by_node[5]["t"].name == "name"
    assert tensor(by_node[6]["h"]).tolist() == [1.0, float("-inf")]
    assert tensor(by_node[7]["c"]).tolist() == [1 - 2j, 0.5]
    assert tensor(by_node[4]["b"]).tolist() == [True, False]
    assert [d.dim_param or d.dim_value for d in function.value_info[0].type.tensor_type.shape.dim] == [4, "N", 0]
    assert not function.value_info[2].type.tensor_type.HasField("shape")
