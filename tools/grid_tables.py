"""Makes src/tessera/formats/ggml/grid_tables.cc from the tables in testdata/ggml/tables.

grid_tables.py [--check]    --check writes nothing; exit code 1 if the source is not what the tables give

A table is a text file: `# name count=N word=TYPE meaning`, then a hexadecimal word a line. A word of a grid holds the
bytes of one point, the first element in the lowest byte. Few different bytes occur in a grid: the levels. A point in
short is its key, the numbers of its levels, two bits each for eight elements or three for four. Words ascend by their
keys, so that keys, levels and their order are all there is to know.
"""

import itertools
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT / "testdata/ggml/tables"
SOURCE = ROOT / "src/tessera/formats/ggml/grid_tables.cc"

# Table -> name in C++, are its bytes signed.
GRIDS = {
    "iq1s_grid": ("kIq1sTable", True),
    "iq2xxs_grid": ("kIq2xxsTable", False),
    "iq2xs_grid": ("kIq2xsTable", False),
    "iq2s_grid": ("kIq2sTable", False),
    "iq3xxs_grid": ("kIq3xxsTable", False),
    "iq3s_grid": ("kIq3sTable", False),
}
LEVELS = {"kvalues_iq4nl": "kIq4nlLevels"}

HEAD = """// Made by tools/grid_tables.py from testdata/ggml/tables; change those.
#include "tessera/formats/ggml/grid_tables.h"

namespace tessera::ggml {
namespace {

// clang-format off
"""
WORD_BYTES = {"u8": 1, "i8": 1, "u32": 4, "u64": 8}
KEYS_A_LINE = 14


def read_table(text: str, name: str) -> list[bytes]:
    """The words, each as its bytes from the lowest. Raises ValueError for anything that is not as the module says."""
    head, *lines = text.splitlines()
    said = re.fullmatch(r"# (\w+) count=(\d+) word=(\w+)( .*)?", head)
    if not said or said[1] != name or said[3] not in WORD_BYTES:
        raise ValueError(f"{name}: the first line is '{head}'")
    if int(said[2]) != len(lines):
        raise ValueError(f"{name}: {len(lines)} words instead of {said[2]}")
    digits = 2 * WORD_BYTES[said[3]]
    for number, line in enumerate(lines, 2):
        if not re.fullmatch(f"[0-9a-f]{{{digits}}}", line):
            raise ValueError(f"{name}: line {number} is '{line}' instead of {digits} hexadecimal digits")
    return [bytes.fromhex(line)[::-1] for line in lines]


def signed(byte: int) -> int:
    return byte - 256 if byte >= 128 else byte


def compact(words: list[bytes], name: str, is_signed: bool) -> tuple[list[int], int, list[int]]:
    """Levels, bits a level and keys of a grid. Raises ValueError if they would not give the words back."""
    points = [[signed(b) if is_signed else b for b in word] for word in words]
    levels = sorted({value for point in points for value in point})
    bits = {8: 2, 4: 3}.get(len(words[0]))
    if bits is None or len(levels) > 1 << bits or not -128 <= levels[0] <= levels[-1] <= 127:
        raise ValueError(f"{name}: {len(words[0])} elements of {len(levels)} levels from {levels[0]} to {levels[-1]}")
    keys = [sum(levels.index(value) << bits * k for k, value in enumerate(point)) for point in points]
    for number, (key, following) in enumerate(itertools.pairwise(keys)):
        if key >= following:
            raise ValueError(f"{name}: word {number + 1} stands out of order")
    return levels, bits, keys


def array(kind: str, name: str, values: list[str], a_line: int) -> list[str]:
    rows = [", ".join(values[at : at + a_line]) for at in range(0, len(values), a_line)]
    return [f"constexpr {kind} {name}[] = {{", *(f"    {row}," for row in rows), "};"]


def render(tables: dict[str, str]) -> str:
    """The source, from the text of each table by its name."""
    data, rows = [], []
    for name, (symbol, is_signed) in GRIDS.items():
        words = read_table(tables[name], name)
        levels, bits, keys = compact(words, name, is_signed)
        stem = symbol.removesuffix("Table")
        data += array("int8_t", f"{stem}LevelBytes", [str(level) for level in levels], 16)
        data += array("uint16_t", f"{stem}Keys", [f"0x{key:04X}" for key in keys], KEYS_A_LINE) + [""]
        rows.append(
            f'constinit const GridTable {symbol} = {{"{name}", {len(words[0])}, {bits}, {stem}LevelBytes, {stem}Keys}};'
        )
    for name, symbol in LEVELS.items():
        levels = [str(signed(word[0])) for word in read_table(tables[name], name)]
        rows += [
            "",
            f"constinit const std::array<int8_t, {len(levels)}> {symbol} = {{",
            f"    {', '.join(levels)},",
            "};",
        ]
    lines = [*data, "}  // namespace", "", *rows, "// clang-format on", "", "}  // namespace tessera::ggml", ""]
    return HEAD + "\n".join(lines)


def main(arguments: list[str]) -> int:
    source = render({name: (TABLES / f"{name}.txt").read_text() for name in (*GRIDS, *LEVELS)})
    if "--check" in arguments:
        if SOURCE.exists() and SOURCE.read_text() == source:
            return 0
        print(f"{SOURCE.relative_to(ROOT)} is stale: run tools/grid_tables.py", file=sys.stderr)
        return 1
    SOURCE.write_text(source)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
