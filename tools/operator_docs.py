"""Makes docs/operators.md from the one table of operators, src/tessera/types/operators.cc.

operator_docs.py [--check]     --check writes nothing; exit code 1 if the page is not what the table gives
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "src/tessera/types/operators.cc"
FAMILIES = ROOT / "src/tessera/types/operators.h"
PAGE = ROOT / "docs/operators.md"

ROW = re.compile(r'Operator\{"(\w+)",\s*(\d+),\s*F::(k\w+),\s*"([^"]*)",\s*"([^"]*)"')
FAMILY = re.compile(r"^\s*(k\w+),\s*// (.*)$", re.MULTILINE)
HEAD = """# Operators of decoders

Made by `tools/operator_docs.py` from the table in `src/tessera/types/operators.cc`; change that.

A decoder or encoder may use these operators of `ai.onnx`, opsets 13 to 26, and no others. They are deterministic, and
elementwise, data-movement or integer operators. In a signature T stands for the types of the operator's family, B for
BOOL, L for INT64, I for INT32 or INT64, N for any number; `?` marks an optional input, `...` one or more; `@18` means
from opset 18 on. The result `to` has the type that the attribute names, `value` that of the value.
"""


def parse(table: str) -> list[tuple[str, ...]]:
    """Rows (name, since, family, signature, attributes). Raises ValueError if not every row is understood."""
    rows = ROW.findall(table)
    if len(rows) != len(re.findall(r"\bOperator\{\"", table)):
        raise ValueError(f"understood only {len(rows)} rows")
    return rows


def render(rows: list[tuple[str, ...]], families: dict[str, str]) -> str:
    lines = [HEAD, "| operator | from opset | signature | attributes | types of T |", "| --- | --- | --- | --- | --- |"]
    for name, since, family, signature, attributes in rows:
        cells = [f"`{cell}`" if cell else "" for cell in (name, since, signature, attributes)]
        cells[1] = since
        lines.append("| " + " | ".join([*cells, families[family]]) + " |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    families = dict(FAMILY.findall(FAMILIES.read_text()))
    page = render(parse(TABLE.read_text()), families)
    if "--check" in arguments:
        if PAGE.exists() and PAGE.read_text() == page:
            return 0
        print("docs/operators.md is stale: run tools/operator_docs.py", file=sys.stderr)
        return 1
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
