"""The documentation does what it says: files are written, commands run, code is executed, tables are tried out.

A fenced block is tried out if its first line says so:

    text file=NAME   is a file of that name, in a folder of the page's own
    console          `$ command` lines, and what they print; a line `...` stands for any lines
    python           is executed; the blocks of a page share their names

Each page has a folder with a small model, model.onnx. Tables with a column `profile` are tried out as well.
"""

import os
import re
import subprocess
from pathlib import Path

import onnx
import pytest

import tessera

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("TESSERA_PROGRAM", ROOT / "build/release/tessera"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """(info, body, line) of each fenced block."""
    text = page.read_text()
    return [(m["info"].strip(), m["body"], text.count("\n", 0, m.start()) + 2) for m in FENCE.finditer(text)]


def matches(expected: str, actual: str) -> bool:
    pattern = "".join(r"(.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in expected.splitlines())
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in actual.splitlines())) is not None


def run_console(body: str, where: str) -> None:
    commands = re.split(r"^\$ ", body, flags=re.MULTILINE)
    assert commands[0] == "", f"{where}: begins with no command"
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands[1:]:
        line, _, expected = command.partition("\n")
        result = subprocess.run(
            ["bash", "-c", line],
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        expected = "".join(text.rstrip() + "\n" for text in expected.splitlines())
        assert matches(expected, result.stdout), f"{where}: $ {line}\n{result.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks(page, tmp_path, monkeypatch, make_model):
    monkeypatch.chdir(tmp_path)
    onnx.save(make_model(), "model.onnx")
    names: dict = {"__name__": "docs"}
    for info, body, line in blocks(page):
        where = f"{page.name}:{line}"
        kind, _, rest = info.partition(" ")
        if kind == "text":
            assert re.fullmatch(r"file=[\w.-]+", rest), where
            Path(rest.removeprefix("file=")).write_text(body)
        elif kind == "console":
            run_console(body, where)
        elif kind == "python":
            exec(compile("\n" * (line - 1) + body, str(page), "exec"), names)
        else:
            assert info == "", f"{where}: a block of an unknown kind"


def test_pages_with_examples_have_some():
    """A fence that is spelled otherwise would be skipped in silence."""
    kinds = {str(page.relative_to(ROOT)): {info.split(" ")[0] for info, _, _ in blocks(page)} for page in PAGES}
    assert {"text", "console"} <= kinds["docs/profiles.md"]
    assert {"text", "console", "python"} <= kinds["docs/first-type.md"]
    assert "python" in kinds["docs/python.md"]
    assert {"text", "console", "python"} <= kinds["docs/formats.md"]
    assert {"text", "console", "python"} <= kinds["docs/adding/format.md"]
    assert "python" in kinds["README.md"]


def test_the_comparison_of_output():
    assert matches("a\n...\nc\n", "a\nb  \nb\nc\n")
    assert matches("a\n...\n", "a\n")
    assert not matches("a\nc\n", "a\nb\nc\n")
    assert not matches("a\n...\nc\n", "a\nb\n")
    with pytest.raises(AssertionError):
        run_console("$ echo a\nb\n", "here")
    run_console("$ echo a\na\n$ echo b\nb\n", "here")


def rows(page: Path, *columns: str) -> list[dict[str, str]]:
    """The rows of all tables of a page that have just these columns."""
    found = []
    head = "| " + " | ".join(columns) + " |"
    lines = iter(page.read_text().splitlines())
    for line in lines:
        if line != head:
            continue
        next(lines)
        for row in lines:
            if not row.startswith("|"):
                break
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            assert len(cells) == len(columns), row
            found.append(dict(zip(columns, cells, strict=True)))
    return found


def profile_of(cell: str) -> tessera.Profile:
    assert re.fullmatch("`[^`]+`", cell), cell
    return tessera.Profile.parse(f"QuantizationProto {{ {cell.strip('`')} }}")


def test_every_rule_of_profiles_has_an_example_that_breaks_it():
    table = rows(ROOT / "docs/profiles.md", "code", "what is wrong", "profile")
    assert len(table) > 50
    for row in table:
        code = row["code"].strip("`")
        codes = {problem.code for problem in profile_of(row["profile"]).validate()}
        assert codes == {code}, f"{row['what is wrong']}: {codes}"
    codes = {row["code"].strip("`") for row in table}
    assert codes == {
        "profile-kind",
        "profile-value",
        "profile-conflict",
        "profile-data",
        "profile-block",
        "profile-stored",
        "profile-metadata",
    }


def test_every_rule_of_shapes_has_an_example_that_breaks_it():
    table = rows(ROOT / "docs/profiles.md", "what is wrong", "profile", "shape", "a shape that fits")
    assert len(table) > 8
    for row in table:
        profile = profile_of(row["profile"])
        assert profile.validate() == [], row["profile"]
        wrong, right = (
            [int(size) for size in row[column].split("x")] if row[column] else []
            for column in ("shape", "a shape that fits")
        )
        with pytest.raises(tessera.TesseraError) as raised:
            profile.struct_type(wrong)
        assert raised.value.code == "profile-shape", row
        type = profile.struct_type(right)
        assert type.profile() == profile.resolved(), row


def test_every_family_has_a_section():
    text = (ROOT / "docs/profiles.md").read_text()
    sections = re.findall(r"^### `(\w+)`$", text, re.MULTILINE)
    assert sections == [
        "linear",
        "codebook",
        "floating_point",
        "sparse",
        "log",
        "function",
        "tiling",
        "cast",
        "structured_block",
    ]
