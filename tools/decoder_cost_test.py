"""decoder_cost: rows of a table with numbers that were measured, and the limit."""

import re

import pytest

pytest.importorskip("onnxruntime", reason="has no package for this Python")

import decoder_cost

SMALL = ["--values", "4096", "--rounds", "1"]


def rows(text: str) -> dict[str, list[str]]:
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")
    ]
    return {row[0].strip("`"): row[1:] for row in cells}


def test_a_table(capsys):
    assert decoder_cost.main([*SMALL, "q4_k", "int4_b32", "sketch.custom"]) == 0
    text = capsys.readouterr().out
    assert re.match(r"onnxruntime [\d.]+, .*, one thread, opset 21\n", text)
    table = rows(text)
    assert list(table) == ["q4_k", "int4_b32", "sketch.custom"]
    bits, nodes, ns, portable_nodes, portable_ns, note = table["q4_k"]
    assert bits == "4.5" and 0 < int(nodes) < int(portable_nodes)
    assert float(ns) > 0 and float(portable_ns) > 0 and note == ""
    assert table["sketch.custom"][1:] == ["", "", "", "", "no-decoder"]


def test_leaves_that_an_opset_does_not_convert(capsys):
    assert decoder_cost.main([*SMALL, "--opset", "13", "int4_b32"]) == 0
    (row,) = rows(capsys.readouterr().out).values()
    assert row[1:3] == ["", ""] and float(row[4]) > 0 and row[5] == ""


def test_the_limit(capsys):
    assert decoder_cost.main([*SMALL, "--limit", "1e9", "q8_0"]) == 0
    assert decoder_cost.main([*SMALL, "--limit", "0.001", "q8_0", "f32"]) == 1
    assert capsys.readouterr().err.strip() == "more than 0.001 ns a value: q8_0"


def test_codes_outside_a_codebook_are_not_measured(capsys):
    assert decoder_cost.main([*SMALL, "sketch.ternary_1_58"]) == 0
    (row,) = rows(capsys.readouterr().out).values()
    assert float(row[4]) > 0


def test_the_page_has_a_row_of_every_format():
    text = decoder_cost.PAGE.read_text()
    table = rows(text)
    assert set(table) == set(decoder_cost.tessera.formats())
    assert re.search(r"commit [0-9a-f]{7,}, medians of \d+ rounds", text)
    # Rotations of whole tensors go through memory once for each stride.
    slow = {name for name, row in table.items() if float(row[0] or 9) <= 8.5 and row[4] and float(row[4]) > 30}
    assert slow <= {"sketch.quip_sharp"}
