"""catalog_tables: files get their tables, a file without the field is refused, and the tables are right."""

import hashlib
import math
import re
import struct

import catalog_tables
import grid_tables
import pytest

FILE = """        field: { name: "other", constant: tensor(INT8, [2], [1, 2]) }
        field: { name: "levels", constant: tensor(FLOAT, [], 0.0) }
"""
LEVELS = {"levels": (catalog_tables.levels_of, "kvalues_iq4nl")}


def test_a_field_is_filled_and_stays():
    filled = catalog_tables.with_tables(FILE, "f", LEVELS)
    assert filled.splitlines()[0] == FILE.splitlines()[0]
    assert filled.splitlines()[1] == '        field: { name: "levels", constant: tensor(INT8, [16], ['
    assert filled.splitlines()[2].startswith("            -127, -104, -83,")
    assert catalog_tables.with_tables(filled, "f", LEVELS) == filled
    assert catalog_tables.with_tables(filled.replace("-104", "-105"), "f", LEVELS) == filled


def test_a_long_table_takes_lines():
    filled = catalog_tables.with_tables(FILE, "f", {"levels": (catalog_tables.sign_bytes, "ksigns_iq2xs")})
    lines = filled.splitlines()
    assert lines[1].endswith("constant: tensor(UINT8, [128], [") and lines[-1] == "        ]) }"
    assert max(map(len, lines)) <= catalog_tables.WIDTH
    assert catalog_tables.with_tables(filled, "f", {"levels": (catalog_tables.sign_bytes, "ksigns_iq2xs")}) == filled


def test_a_short_table_takes_none():
    filled = catalog_tables.with_tables(FILE, "f", {"levels": (catalog_tables.grid_levels, "iq1s_grid")})
    assert filled.splitlines()[1] == '        field: { name: "levels", constant: tensor(INT8, [3], [-1, 0, 1]) }'


@pytest.mark.parametrize("text", [FILE.replace("levels", "level"), FILE + FILE])
def test_the_field_stands_once(text):
    with pytest.raises(ValueError, match=r"f: [02] constants are called levels instead of one"):
        catalog_tables.with_tables(text, "f", LEVELS)


def test_files_of_this_checkout_are_up_to_date():
    assert catalog_tables.main(["--check"]) == 0


def constant(name: str, field: str) -> list[str]:
    text = (catalog_tables.CATALOG / f"{name}.txt").read_text()
    (data,) = re.findall(rf'name: "{field}", constant: tensor\(\w+, \[\d+\], \[([^\]]*)\]\)', text)
    return [value.strip() for value in data.split(",")]


def digest(table: str) -> str:
    rows = [line.split() for line in (grid_tables.TABLES / "sha256.txt").read_text().splitlines()]
    return {name: digest for digest, name in rows}[f"{table}.txt"]


def lines_digest(table: str, lines: list[str]) -> str:
    head = (grid_tables.TABLES / f"{table}.txt").read_text().splitlines()[0]
    return hashlib.sha256(("\n".join([head, *lines]) + "\n").encode()).hexdigest()


# From the files to the text of the tables, the other way round from what the tool does.
@pytest.mark.parametrize("name", [n for n, fields in catalog_tables.FIELDS.items() if "keys" in fields])
def test_grids_give_the_tables_back(name):
    table = catalog_tables.FIELDS[name]["keys"][1]
    keys, levels = constant(name, "keys"), [int(level) & 255 for level in constant(name, "levels")]
    elements, bits = (4, 3) if table.startswith("iq3") else (8, 2)
    lines = []
    for key in keys:
        point = [levels[int(key, 16) >> bits * k & (1 << bits) - 1] for k in range(elements)]
        lines.append(bytes(reversed(point)).hex())
    assert lines_digest(table, lines) == digest(table)


@pytest.mark.parametrize("name", [n for n, fields in catalog_tables.FIELDS.items() if "ksigns" in fields])
def test_signs_give_the_table_back(name):
    lines = [f"{int(value, 16):02x}" for value in constant(name, "ksigns")]
    assert lines_digest("ksigns_iq2xs", lines) == digest("ksigns_iq2xs")


@pytest.mark.parametrize("name", ["iq4_nl", "iq4_xs", "ggml_mxfp4", "ggml_nvfp4"])
def test_levels_give_the_table_back(name):
    table = catalog_tables.FIELDS[name]["levels"][1]
    lines = [f"{int(value) & 255:02x}" for value in constant(name, "levels")]
    assert lines_digest(table, lines) == digest(table)


def as_float(text: str) -> float:
    value = float(text)
    assert struct.unpack("<f", struct.pack("<f", value))[0] == value, text
    return value


def test_scales_of_mxfp4_are_bit_patterns_of_its_exponents():
    scales = [as_float(value) for value in constant("ggml_mxfp4", "scales")]
    bits = [0x00200000, 0x00400000, *((e - 1) << 23 for e in range(2, 256))]
    assert [struct.pack("<f", scale) for scale in scales] == [struct.pack("<I", b) for b in bits]


def test_scales_of_nvfp4_are_half_of_e4m3():
    scales = [as_float(value) for value in constant("ggml_nvfp4", "scales")]
    assert scales[0x38] == 0.5 and scales[0x01] == 2.0**-10 and scales[0x7E] == 224.0
    assert (scales[0x00], scales[0x7F], scales[0x80], scales[0xFF]) == (0.0, 0.0, 0.0, 240.0)
    assert all(math.copysign(1, scale) == 1 for scale in scales)
    assert scales[:0x7F] == sorted(scales[:0x7F]) and len(set(scales[:0x7F])) == 0x7F
    assert scales[0x80:0xFF] == scales[:0x7F]
