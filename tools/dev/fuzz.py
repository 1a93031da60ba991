"""Runs the fuzz targets, or measures what their corpora reach.

    fuzz.py [--minutes N] [--merge] [TARGET...]
    fuzz.py --coverage [TARGET...]

A target is fuzz/NAME.cc, its seeds are fuzz/corpus/NAME. New inputs go to build/fuzz/found/NAME, findings to
build/fuzz/artifacts/NAME; --merge copies into the corpus what reaches new code, the smallest inputs first.
--coverage replays the corpora and prints the lines reached in the files that fuzz/coverage_files.txt names; exit code 1
if a target reaches less than 85 %.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / "build/fuzz"
COVERAGE = ROOT / "build/coverage"
LEAST_PERCENT = 85.0
# An input that takes 10 s or 2 GiB is a finding.
LIMITS = ["-timeout=10", "-rss_limit_mb=2048", "-max_len=65536", "-print_final_stats=1"]


def targets(build: Path, wanted: list[str]) -> list[str]:
    known = [p.stem for p in sorted((ROOT / "fuzz").glob("*.cc")) if (build / "fuzz" / p.stem).exists()]
    unknown = sorted(set(wanted) - set(known))
    if unknown or not known:
        sys.exit(f"no fuzz target {', '.join(unknown)}; there are: {', '.join(known) or 'none'}")
    return wanted or known


def corpus(name: str) -> Path:
    return ROOT / "fuzz/corpus" / name


def run_logged(command: list, log: Path) -> int:
    with log.open("w") as out:
        return subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode


def fuzz(name: str, minutes: float, merge: bool) -> bool:
    """One target for so many minutes; False if it found something."""
    program, found, artifacts = FUZZ / "fuzz" / name, FUZZ / "found" / name, FUZZ / "artifacts" / name
    for folder in (corpus(name), found, artifacts):
        folder.mkdir(parents=True, exist_ok=True)
    dictionary = ROOT / "fuzz" / f"{name}.dict"
    options = [f"-max_total_time={int(minutes * 60)}", f"-artifact_prefix={artifacts}/"]
    if dictionary.exists():
        options.append(f"-dict={dictionary}")
    log = FUZZ / f"{name}.log"
    code = run_logged([program, *LIMITS, *options, found, corpus(name)], log)
    lines = log.read_text(errors="replace").splitlines()
    stats = [line for line in lines if line.startswith(("stat::number_of_executed_units", "stat::peak_rss_mb"))]
    last = next((line for line in reversed(lines) if " cov: " in line), "")
    print(f"{name}: {'clean' if code == 0 else f'FOUND SOMETHING (exit code {code})'}; {last.strip()}", flush=True)
    print("\n".join(f"  {line}" for line in (stats if code == 0 else lines[-40:])), flush=True)
    if code:
        print(f"  run it again: {program.relative_to(ROOT)} {artifacts.relative_to(ROOT)}/...", flush=True)
    elif merge:  # edges only, not how often: the corpus stays small
        before = len(list(corpus(name).iterdir()))
        if run_logged(
            [program, "-set_cover_merge=1", "-use_counters=0", *LIMITS, corpus(name), found], FUZZ / f"{name}.merge.log"
        ):
            sys.exit(f"{name}: merging failed, see build/fuzz/{name}.merge.log")
        print(f"  corpus: {before} inputs before, {len(list(corpus(name).iterdir()))} now", flush=True)
    return code == 0


def wanted_files() -> dict[str, list[Path]]:
    """Target -> the files whose lines it should reach."""
    wanted = {}
    for line in (ROOT / "fuzz/coverage_files.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, globs = line.partition(":")
        wanted[name] = []
        for glob in globs.split():
            files = [f for f in sorted(ROOT.glob(glob)) if not f.name.endswith("_test.cc")]
            if not files:
                sys.exit(f"fuzz/coverage_files.txt: {name}: no file {glob}")
            wanted[name] += files
    return wanted


def tool(name: str) -> str:
    path = shutil.which(name)
    if not path:
        sys.exit(f"{name} is not installed (Debian package llvm)")
    return path


def coverage(name: str, files: list[Path]) -> bool:
    """Prints the lines of these files that the corpus reaches; False if they are too few."""
    program, raw, data = (COVERAGE / "fuzz" / name, COVERAGE / f"{name}.profraw", COVERAGE / f"{name}.profdata")
    subprocess.run(
        [program, "-runs=0", corpus(name)],
        env={**os.environ, "LLVM_PROFILE_FILE": str(raw)},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", raw, "-o", data], check=True)
    report = subprocess.run(
        [tool("llvm-cov"), "export", "-summary-only", f"-instr-profile={data}", program],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    # ccache may make the names relative to the build folder.
    found = json.loads(report)["data"][0]["files"]
    lines = {(COVERAGE / f["filename"]).resolve(): f["summary"]["lines"] for f in found}
    covered = count = 0
    print(f"\n{name}: {len(list(corpus(name).iterdir()))} inputs")
    for file in files:
        if file not in lines:  # declarations only
            continue
        summary = lines[file]
        covered, count = covered + summary["covered"], count + summary["count"]
        print(
            f"  {summary['percent']:6.1f} %  {summary['covered']:5} of {summary['count']:5}  {file.relative_to(ROOT)}"
        )
    percent = 100.0 * covered / count if count else 0.0
    good = percent >= LEAST_PERCENT
    print(f"  {percent:6.1f} %  {covered:5} of {count:5}  all{'' if good else f': BELOW {LEAST_PERCENT} %'}")
    return good


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, metavar="N", help="for each target (default 10)")
    parser.add_argument("--merge", action="store_true", help="copy what reached new code into fuzz/corpus")
    parser.add_argument("--coverage", action="store_true", help="replay the corpora and count lines")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    options = parser.parse_args(arguments)
    if options.coverage:
        wanted = wanted_files()
        names = targets(COVERAGE, options.targets)
        missing = [name for name in names if name not in wanted]
        if missing:
            sys.exit(f"fuzz/coverage_files.txt has no line for {', '.join(missing)}")
        results = [coverage(name, wanted[name]) for name in names]
    else:
        with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
            names = targets(FUZZ, options.targets)
            results = list(pool.map(lambda name: fuzz(name, options.minutes, options.merge), names))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
