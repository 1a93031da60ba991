"""Writes testdata/ggml from the golden data and the facts sheet in the project's shared folder.

    python tools/make_ggml_goldens.py SHARED testdata/ggml

Golden blocks and values are copied. From spec/formats/gguf.md come, one line a row:

block_types.txt      id, name, values and bytes of a block (0 0 for a number that ggml removed); section 2.1
worked_examples.txt  name, bytes of a block in hex, sha256 of its values as little-endian floats; section 8
encode_errors.txt    name, `without` or `with` importance weights, relative root mean square error of ggml's encoder on
                     encode-input.f32, and the same weighted by encode-imatrix.f32; section 7
tables/sha256.txt    sha256 and name of each file in tables, which are copies of spec/formats/tables; section 4
"""

import re
import shutil
import sys
from pathlib import Path

PROVENANCE = """\
Made by tools/make_ggml_goldens.py, which says what block_types.txt, worked_examples.txt, encode_errors.txt and
tables/sha256.txt hold. The other files in tables are copies of spec/formats/tables of the project's shared folder: the
grids of ggml's IQ types and its lists of levels, as numbers. tools/grid_tables.py turns them into source.
The other files are copies of goldens/ggml of the project's shared folder. They hold what ggml computed, none of its
code; ggml is under the MIT licence. Their own note:

"""


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def section(text, title):
    start = text.index(f"\n{title}")
    end = re.compile(r"^#{2,3} |^-{20,}$", re.M).search(text, start + len(title) + 1)
    return text[start : end.start() if end else len(text)]


def block_types(text):
    rows = {}
    for line in section(text, "### 2.1").splitlines():
        if not line.startswith("|") or line.startswith("|---"):
            continue
        row = cells(line)
        for part in (row[:5], row[6:]):
            numbers = re.fullmatch(r"(\d+)(?:-(\d+))?", part[0]) if part else None
            if not numbers or "count" in part[1]:
                continue
            first = int(numbers[1])
            removed = part[1].endswith(" removed")
            names = part[1].removesuffix(" removed").split(", ")
            for k, name in enumerate(names):
                # "Q4_0_4_4, _4_8, _8_8" are three names of which the later ones leave out how the first begins.
                full = names[0][: -len(name)] + name if name.startswith("_") else name
                rows[first + k] = (full, *((0, 0) if removed else map(int, part[2:4])))
            assert first + len(names) - 1 == int(numbers[2] or first), line
    assert sorted(rows) == list(range(43)), sorted(rows)
    return [f"{number} {' '.join(map(str, rows[number]))}" for number in sorted(rows)]


def worked_examples(text):
    found = re.findall(
        r"^\*\*(\w+)\*\* \(.*\)\n`([0-9a-f]+)`\nfirst: .* · sha256 ([0-9a-f]{64})$", section(text, "## 8."), re.M
    )
    assert len(found) == 30, len(found)
    return [" ".join(row) for row in found]


def encode_errors(text):
    lines = []
    for line in section(text, "## 7.").splitlines():
        row = cells(line)
        if len(row) != 3 or not re.fullmatch(r"[A-Z0-9_]+", row[0]):
            continue
        for mode, cell in (("without", row[1]), ("with", row[2])):
            pair = re.fullmatch(r"([\d.]+) / ([\d.]+)", cell)
            if pair:
                lines.append(f"{row[0]} {mode} {pair[1]} {pair[2]}")
    assert len(lines) > 40, len(lines)
    return lines


def table_digests(text):
    rows = re.findall(r"^\| (\w+\.txt) \| .* \| ([0-9a-f]{64}) \|$", section(text, "## 4."), re.M)
    assert len(rows) == 10, len(rows)
    return [f"{digest} {name}" for name, digest in rows]


def main():
    shared, out = Path(sys.argv[1]), Path(sys.argv[2])
    (out / "tables").mkdir(parents=True, exist_ok=True)
    text = (shared / "spec/formats/gguf.md").read_text()
    for name, rows in (
        ("block_types.txt", block_types(text)),
        ("worked_examples.txt", worked_examples(text)),
        ("encode_errors.txt", encode_errors(text)),
        ("tables/sha256.txt", table_digests(text)),
    ):
        (out / name).write_text("\n".join(rows) + "\n")
    for path in sorted((shared / "spec/formats/tables").glob("*.txt")):
        shutil.copyfile(path, out / "tables" / path.name)
    goldens = shared / "goldens/ggml"
    for path in sorted(goldens.iterdir()):
        if path.suffix in (".bin", ".f32") or path.name == "manifest.json":
            shutil.copyfile(path, out / path.name)
    (out / "PROVENANCE").write_text(PROVENANCE + (goldens / "PROVENANCE").read_text().rstrip() + "\n")


if __name__ == "__main__":
    main()
