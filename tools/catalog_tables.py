"""Writes the tables of formats into their files of the catalogue, src/tessera/formats/catalog.

catalog_tables.py [--check]    --check writes nothing; exit code 1 if a file has not what the tables give

A table is a constant field of a struct type: `field: { name: "keys", constant: tensor(...) }`. Only that is rewritten;
all else in a file is written by hand. Grids and lists of levels come from testdata/ggml/tables, a grid as levels and
keys (see grid_tables.py); scales come from what ggml says of their codes, numbers from their formats.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import grid_tables

ROOT = Path(__file__).resolve().parents[1]
CATALOG = ROOT / "src/tessera/formats/catalog"
WIDTH = 120


def words(table: str) -> list[bytes]:
    return grid_tables.read_table((grid_tables.TABLES / f"{table}.txt").read_text(), table)


def tensor(type_: str, values: list[str], indent: str, used: int) -> str:
    """`tensor(TYPE, [n], [...])`, on the line of which `used` characters are taken, or in lines behind `indent`."""
    head = f"tensor({type_}, [{len(values)}], ["
    short = head + ", ".join(values) + "])"
    if used + len(short) <= WIDTH:
        return short
    lines = [""]
    for value in values:
        if len(indent) + 4 + len(lines[-1]) + len(value) + 1 > WIDTH:
            lines.append("")
        lines[-1] += f"{value}, "
    lines = [line.rstrip() for line in lines]
    lines[-1] = lines[-1].removesuffix(",")
    return "\n".join([head, *(f"{indent}    {line}" for line in lines), f"{indent}])"])


def levels_of(table: str) -> tuple[str, list[str]]:
    return "INT8", [str(grid_tables.signed(word[0])) for word in words(table)]


def grid(table: str) -> tuple[list[int], list[int]]:
    levels, _, keys = grid_tables.compact(words(table), table, grid_tables.GRIDS[table][1])
    return levels, keys


def grid_levels(table: str) -> tuple[str, list[str]]:
    return "INT8", [str(level) for level in grid(table)[0]]


def grid_keys(table: str) -> tuple[str, list[str]]:
    return "UINT16", [f"0x{key:04X}" for key in grid(table)[1]]


def sign_bytes(table: str) -> tuple[str, list[str]]:
    return "UINT8", [f"0x{word[0]:02X}" for word in words(table)]


def half_e8m0(code: int) -> float:
    """Half of 2^(code - 127), for every code: there is no NaN."""
    return 2.0 ** (code - 128)


def half_e4m3(code: int) -> float:
    """Half of an E4M3 number without a sign. 0x7F is 0; 0xFF, the one code whose upper bit counts, is not."""
    exponent, mantissa = code >> 3 & 15, code & 7
    if code == 0x7F:
        return 0.0
    if exponent == 0:
        return mantissa * 2.0**-10
    return (8 + mantissa) * 2.0 ** (exponent - 11)


def e4m3(code: int) -> float:
    """The number of a FLOAT8E4M3FN code."""
    sign, exponent, mantissa = code >> 7, code >> 3 & 15, code & 7
    if code & 0x7F == 0x7F:
        return float("nan")
    magnitude = mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
    return -magnitude if sign else magnitude


def floats(rule: Callable[[int], float]) -> tuple[str, list[str]]:
    """The numbers of all codes of a byte. Each is a FLOAT, so that the decimal of the double gives it back."""
    return "FLOAT", [repr(rule(code)) for code in range(256)]


def grid_fields(table: str) -> dict[str, tuple]:
    return {"keys": (grid_keys, table), "levels": (grid_levels, table)}


SIGNS = {"ksigns": (sign_bytes, "ksigns_iq2xs")}
# File -> field -> function and its argument.
FIELDS: dict[str, dict[str, tuple]] = {
    "iq1_s": grid_fields("iq1s_grid"),
    "iq1_m": grid_fields("iq1s_grid"),
    "iq2_xxs": {**grid_fields("iq2xxs_grid"), **SIGNS},
    "iq2_xs": {**grid_fields("iq2xs_grid"), **SIGNS},
    "iq2_s": grid_fields("iq2s_grid"),
    "iq3_xxs": {**grid_fields("iq3xxs_grid"), **SIGNS},
    "iq3_s": grid_fields("iq3s_grid"),
    "iq4_nl": {"levels": (levels_of, "kvalues_iq4nl")},
    "iq4_xs": {"levels": (levels_of, "kvalues_iq4nl")},
    "fp8_block128x128": {"numbers": (floats, e4m3)},
    "ggml_mxfp4": {"levels": (levels_of, "kvalues_mxfp4"), "scales": (floats, half_e8m0)},
    "ggml_nvfp4": {"levels": (levels_of, "kvalues_mxfp4"), "scales": (floats, half_e4m3)},
}


def with_tables(text: str, name: str, fields: dict[str, tuple]) -> str:
    """The text of a file with its tables. Raises ValueError unless it has each field once."""
    for field, (function, argument) in fields.items():
        pattern = re.compile(rf'^( *)(field: \{{ name: "{field}", constant: )tensor\([^()]*\)( \}})$', re.M)
        found = pattern.findall(text)
        if len(found) != 1:
            raise ValueError(f"{name}: {len(found)} constants are called {field} instead of one")
        indent, before, after = found[0]
        constant = tensor(*function(argument), indent, len(indent + before + after))
        text = pattern.sub(lambda m, new=constant: m[1] + m[2] + new + m[3], text)
    return text


def main(arguments: list[str]) -> int:
    stale = []
    for name, fields in FIELDS.items():
        path = CATALOG / f"{name}.txt"
        text = path.read_text()
        new = with_tables(text, name, fields)
        if new == text:
            continue
        stale.append(path.name)
        if "--check" not in arguments:
            path.write_text(new)
    if stale and "--check" in arguments:
        print(f"stale: {', '.join(stale)} (run tools/catalog_tables.py)", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
