"""Makes docs/errors.md from the one list of error codes, src/tessera/base/error_codes.h.

error_docs.py [--check]     --check writes nothing; exit code 1 if the page is not what the list gives
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "src/tessera/base/error_codes.h"
PAGE = ROOT / "docs/errors.md"

# ErrorKind -> what a user sees of it.
KINDS = {
    "kInput": "2, input or arguments",
    "kOutput": "3, output not written",
    "kFinding": "1, a finding of `check`",
}
ENTRY = re.compile(
    r"/\*\s*(?P<section>.*?)\s*\*/"
    r'|X\((?P<name>k\w+),\s*"(?P<slug>[^"]+)",\s*(?P<kind>k\w+),\s*(?P<text>(?:"[^"]*"\s*)+)\)'
)
HEAD = """# Error codes

Made by `tools/error_docs.py` from `src/tessera/base/error_codes.h`; change that.

Every error that Tessera reports ends in one of these codes, in brackets:
`struct_types[3].structure.field[1]: the type index 7 is out of range (there are 5 struct types) [type-index]`.
A code is stable: scripts may match on it, and it is never renamed or reused. A finding is something that `check`
lists; another verb that cannot go on because of it exits with 2.
"""


def parse(text: str) -> list[tuple[str, list[dict[str, str]]]]:
    """Sections with their codes. Raises ValueError on a duplicate or a list that is not understood whole."""
    macro = re.search(r"#define TESSERA_ERROR_CODES\(X\)((?:.*\\\n)+.*)", text)
    if not macro:
        raise ValueError("no #define TESSERA_ERROR_CODES(X)")
    body = macro[1].replace("\\\n", "\n")
    sections: list[tuple[str, list[dict[str, str]]]] = []
    seen: set[str] = set()
    for match in ENTRY.finditer(body):
        if match["section"] is not None:
            sections.append((match["section"], []))
            continue
        if not sections:
            raise ValueError(f"{match['name']} stands before the first section comment")
        if match["kind"] not in KINDS:
            raise ValueError(f"{match['name']}: unknown kind {match['kind']}")
        if not seen.isdisjoint({match["slug"], match["name"]}):
            raise ValueError(f"{match['name']} or {match['slug']} stands there twice")
        seen |= {match["slug"], match["name"]}
        summary = "".join(re.findall(r'"([^"]*)"', match["text"]))
        sections[-1][1].append({"slug": match["slug"], "kind": match["kind"], "summary": summary})
    entries = sum(len(codes) for _, codes in sections)
    if entries != len(re.findall(r"\bX\(", body)):
        raise ValueError(f"understood only {entries} of {len(re.findall(r'X[(]', body))} entries")
    return sections


def render(sections: list[tuple[str, list[dict[str, str]]]]) -> str:
    lines = [HEAD]
    for title, codes in sections:
        lines += [f"## {title}\n", "| code | exit | meaning |", "| --- | --- | --- |"]
        for code in codes:
            meaning = code["summary"].replace("|", "\\|")
            lines.append(f"| `{code['slug']}` | {KINDS[code['kind']]} | {meaning} |")
        lines.append("")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    page = render(parse(LIST.read_text()))
    if "--check" in arguments:
        if PAGE.exists() and PAGE.read_text() == page:
            return 0
        print("docs/errors.md is stale: run tools/error_docs.py", file=sys.stderr)
        return 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
