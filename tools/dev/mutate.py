"""Plants mistakes in the native codecs, one at a time, and looks whether the tests of codecs find them.

    mutate.py [--count N] [--seed N] [FILE...]

A mistake is one changed token of a source file: a number with one bit flipped, + for -, < for <=, and the like. Each is
built in a copy of the checkout, build/mutation, and has to fail a test, or not compile. Those that survive are printed
with their line; exit code 1 if there are more than the tests let pass (a mistake may mean the same: LEAST_FOUND).
"""

import argparse
import os
import random
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build/mutation"
BUILD = COPY / "build/release"
FOLDERS = ("src/tessera/codecs/native", "src/tessera/formats/ggml")
TESTS = {
    "tessera_formats_test": "*Decode*:*Encode*:*Grid*:*Ggml*:*BlockType*",
    "tessera_codecs_test": "Native*:*CatalogMeaning*",
}
LEAST_FOUND = 0.9
OTHER = {
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "<<": ">>",
    ">>": "<<",
    "&": "|",
    "|": "&",
    "<": "<=",
    ">": ">=",
    "==": "!=",
    "!=": "==",
    "&&": "||",
    "||": "&&",
}
# With a space on both sides, so that no template, pointer or reference is one.
TOKEN = re.compile(r"(?<= )(<<|>>|==|!=|&&|\|\||[-+*/&|<>])(?= )|(?<![\w.\"'])(0x[0-9A-Fa-f]+|\d+)(?![\w.\"'])")


@dataclass
class Mistake:
    path: Path
    start: int
    end: int
    text: str

    def describe(self, source: str) -> str:
        line = source.count("\n", 0, self.start) + 1
        whole = source.splitlines()[line - 1].strip()
        return f"{self.path}:{line}: {source[self.start : self.end]} -> {self.text}: {whole}"


def sources() -> list[Path]:
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).glob("*.cc")):
            if not path.name.endswith("_test.cc"):
                found.append(path.relative_to(ROOT))
    return found


def is_code(source: str, at: int) -> bool:
    line = source[source.rfind("\n", 0, at) + 1 : source.find("\n", at)]
    before = line[: at - source.rfind("\n", 0, at) - 1]
    skipped = ("//", "#", "static_assert", "return Fail", "fmt::format", "constexpr size_t kBeam", "kSweeps")
    return not any(word in line for word in skipped) and before.count('"') % 2 == 0


def mistakes_of(path: Path, source: str, generator: random.Random) -> list[Mistake]:
    found = []
    for match in TOKEN.finditer(source):
        if not is_code(source, match.start()):
            continue
        token = match[0]
        if token in OTHER:
            text = OTHER[token]
        else:
            number = int(token, 0)
            flipped = number ^ 1 << generator.randrange(max(1, number.bit_length()))
            text = hex(flipped) if token.startswith("0x") else str(flipped)
        found.append(Mistake(path, match.start(), match.end(), text))
    return found


def ninja() -> bool:
    # What a compiler cache has of the checkout serves the copy.
    environment = os.environ | {"CCACHE_BASEDIR": str(COPY), "CCACHE_NOHASHDIR": "1"}
    return (
        subprocess.run(["ninja", "-C", BUILD, *TESTS], capture_output=True, check=False, env=environment).returncode
        == 0
    )


def tests_pass(programs: tuple[str, ...] = tuple(TESTS)) -> bool:
    for program in programs:
        pattern = TESTS[program]
        command = [BUILD / program, f"--gtest_filter={pattern}", "--gtest_fail_fast", "--gtest_brief=1"]
        try:
            if subprocess.run(command, capture_output=True, check=False, timeout=120).returncode != 0:
                return False
        except subprocess.TimeoutExpired:
            return False
    return True


def prepare() -> None:
    """A clean copy of the working tree, built."""
    COPY.mkdir(parents=True, exist_ok=True)
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in files:
        source, target = ROOT / name, COPY / name
        if not source.is_file():
            continue
        data = source.read_bytes()
        if not target.exists() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    subprocess.run(["cmake", "--preset", "release"], cwd=COPY, capture_output=True, check=True)
    if not ninja() or not tests_pass():
        sys.exit("mutate.py: without any mistake the tests of codecs do not pass")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    chosen = []
    for path in options.files or sources():
        chosen += mistakes_of(path, (ROOT / path).read_text(), generator)
    generator.shuffle(chosen)
    chosen = chosen[: options.count]
    prepare()
    survivors = []
    for mistake in chosen:
        target = COPY / mistake.path
        source = target.read_text()
        target.write_text(source[: mistake.start] + mistake.text + source[mistake.end :])
        own = (
            ("tessera_formats_test", "tessera_codecs_test") if "ggml" in str(mistake.path) else ("tessera_codecs_test",)
        )
        if ninja() and tests_pass(own):
            survivors.append(mistake.describe(source))
            print("survived", survivors[-1], flush=True)
        target.write_text(source)
    found = len(chosen) - len(survivors)
    print(f"{found} of {len(chosen)} mistakes found")
    if found < LEAST_FOUND * len(chosen):
        sys.exit(1)


if __name__ == "__main__":
    main()
