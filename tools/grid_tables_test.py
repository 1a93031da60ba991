"""grid_tables: the compact form gives the tables back, and a table that is not as it should be is refused."""

import hashlib
import re

import grid_tables
import pytest

TABLE = """# t count=3 word=u32 Four bytes
01010101
01010103
05010301
"""


def test_words_from_their_lowest_byte():
    assert grid_tables.read_table(TABLE, "t") == [bytes([1, 1, 1, 1]), bytes([3, 1, 1, 1]), bytes([1, 3, 1, 5])]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# t ", "# other ", "first line"),
        ("# t ", "t ", "first line"),
        ("word=u32", "word=u16", "first line"),
        ("count=3", "count=4", "3 words instead of 4"),
        ("01010103", "0101010", "line 3"),
        ("01010103", "0101010x", "line 3"),
        ("01010103", "0x010103", "line 3"),
    ],
)
def test_refused(old, new, message):
    assert old in TABLE
    with pytest.raises(ValueError, match=message):
        grid_tables.read_table(TABLE.replace(old, new), "t")


def test_compact():
    words = grid_tables.read_table(TABLE, "t")
    # Levels 1, 3, 5; the key of (1, 3, 1, 5) has level 1 in bits 3..5 and level 2 in bits 9..11.
    assert grid_tables.compact(words, "t", False) == ([1, 3, 5], 3, [0, 1, 1 << 3 | 2 << 9])
    signed = [bytes([255] * 8), bytes([0] * 7 + [1])]
    assert grid_tables.compact(signed, "t", True) == ([-1, 0, 1], 2, [0, 0b1001010101010101])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([bytes([1, 1, 1, 3]), bytes([1, 1, 3, 1])], "word 1 stands out of order"),
        ([bytes([1] * 4), bytes([1] * 4)], "word 1 stands out of order"),
        ([bytes([0, 0, 0, 1, 2, 3, 4, 5])], "8 elements of 6 levels"),
        ([bytes([0, 0, 0, 200])], "from 0 to 200"),
        ([bytes([0, 0])], "2 elements"),
    ],
)
def test_not_a_grid(words, message):
    with pytest.raises(ValueError, match=message):
        grid_tables.compact(words, "t", False)


def digests():
    rows = [line.split() for line in (grid_tables.TABLES / "sha256.txt").read_text().splitlines()]
    return {name: digest for digest, name in rows}


def test_tables_have_the_checksums_of_the_facts_sheet():
    found = {path.name for path in grid_tables.TABLES.glob("*.txt")} - {"sha256.txt"}
    assert found == set(digests())
    for name, digest in digests().items():
        assert hashlib.sha256((grid_tables.TABLES / name).read_bytes()).hexdigest() == digest, name


# From the source's text to the text of the tables: the other way round from what the tool does.
def test_source_gives_the_tables_back():
    source = grid_tables.SOURCE.read_text()
    arrays = dict(re.findall(r"(\w+)\[\] = \{([^}]*)\}", source))
    tables = re.findall(r'GridTable \w+ = \{"(\w+)", (\d), (\d), (\w+), (\w+)\};', source)
    assert {row[0] for row in tables} == set(grid_tables.GRIDS)
    for name, elements, bits, levels, keys in tables:
        levels = [int(value) & 255 for value in arrays[levels].split(",") if value.strip()]
        lines = [(grid_tables.TABLES / f"{name}.txt").read_text().splitlines()[0]]
        for key in (int(value, 16) for value in arrays[keys].split(",") if value.strip()):
            point = [levels[key >> int(bits) * k & (1 << int(bits)) - 1] for k in range(int(elements))]
            lines.append("".join(f"{byte:02x}" for byte in reversed(point)))
        text = "\n".join(lines) + "\n"
        assert hashlib.sha256(text.encode()).hexdigest() == digests()[f"{name}.txt"], name


def test_source_of_this_checkout_is_up_to_date():
    assert grid_tables.main(["--check"]) == 0
