"""Runs the C++ tests of build folders, and pytest, two at a time; sums up over both languages.

    run_tests.py [--pytest] BUILD_FOLDER...

A build folder's tests are what CMake registered there. A program that links GoogleTest runs in shards and reports each
of its tests; any other test counts as one. Prints the failures with their output, why tests were skipped, the ten
slowest tests, and last `N passed, N failed`. Exit code 1 on a failure: a crash, a time-out and a runner that ran no
test are failures too.
"""

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARDS = 2
WORKERS = max(2, os.cpu_count() or 2)
TIMEOUT_S = 1200
SLOWEST = 10


@dataclass
class Result:
    name: str
    outcome: str  # passed, failed, skipped
    seconds: float = 0.0
    detail: str = ""  # why it failed or was skipped


@dataclass
class Job:
    """One process and how to read its results."""

    name: str
    command: list[str]
    report: Path | None = None  # JUnit-like XML that the process writes; without one the exit code is the result
    env: dict[str, str] = field(default_factory=dict)
    cwd: Path = ROOT
    may_be_empty: bool = False  # a shard may get no test


def gtest_jobs(name: str, program: str, results: Path) -> list[Job]:
    jobs = []
    for shard in range(SHARDS):
        report = results / f"{Path(name).name}.{shard + 1}.xml"
        env = {"GTEST_TOTAL_SHARDS": str(SHARDS), "GTEST_SHARD_INDEX": str(shard), "GTEST_COLOR": "no"}
        command = [program, "--gtest_brief=0", f"--gtest_output=xml:{report}"]
        jobs.append(Job(f"{name} {shard + 1}/{SHARDS}", command, report, env, may_be_empty=shard > 0))
    return jobs


def ctest_jobs(build: Path) -> list[Job]:
    """The tests that CMake registered in a build folder."""
    listing = subprocess.run(
        ["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, text=True, check=True
    )
    results = build.resolve() / "test-results"
    results.mkdir(exist_ok=True)
    prefix = "" if build.name == "release" else f"{build.name}/"
    jobs = []
    for test in json.loads(listing.stdout)["tests"]:
        name, command = prefix + test["name"], test["command"]
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if test["name"].endswith("_test") and len(command) == 1:
            jobs += gtest_jobs(name, command[0], results)
        else:
            jobs.append(Job(name, command, cwd=Path(properties.get("WORKING_DIRECTORY", ROOT))))
    return jobs


def pytest_job() -> Job:
    report = ROOT / "build/release/test-results/pytest.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    return Job("pytest", [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}"], report)


def read_report(job: Job) -> list[Result]:
    """The tests of a report by GoogleTest or pytest."""
    tests = []
    for case in ET.parse(job.report).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        failures = case.findall("failure") + case.findall("error")
        skipped = case.find("skipped")
        if failures:
            outcome, detail = "failed", "\n".join(f.text or f.get("message", "") for f in failures)
        elif skipped is not None or case.get("status") == "notrun":
            detail = (skipped.get("message") if skipped is not None else "") or "disabled"
            outcome = "skipped"
        else:
            outcome, detail = "passed", ""
        tests.append(Result(name, outcome, float(case.get("time", 0)), detail.strip()))
    return tests


def unfinished_gtest(output: str) -> str:
    """The test that a GoogleTest program had begun and not finished when it died; "" if none."""
    begun = re.findall(r"^\[ RUN      \] (\S+)$", output, re.MULTILINE)
    ended = set(re.findall(r"^\[ (?:      OK|  FAILED|  SKIPPED) \] (\S+?),? ", output, re.MULTILINE))
    return begun[-1] if begun and begun[-1] not in ended else ""


def run(job: Job) -> list[Result]:
    if job.report:
        job.report.unlink(missing_ok=True)
    start = time.monotonic()
    try:
        process = subprocess.run(
            job.command,
            cwd=job.cwd,
            env={**os.environ, **job.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
        output, code = process.stdout.decode(errors="replace"), process.returncode
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
    except subprocess.TimeoutExpired as e:
        output, code, how = (e.stdout or b"").decode(errors="replace"), -1, f"no end within {TIMEOUT_S} s"
    except OSError as e:
        output, code, how = "", -1, str(e)
    seconds = time.monotonic() - start

    tail = "\n".join(output.splitlines()[-60:])
    if job.report is None:
        tests = [Result(job.name, "failed" if code else "passed", seconds, f"{how}\n{tail}" if code else "")]
    else:
        try:
            tests = read_report(job)
        except (OSError, ET.ParseError):
            tests = []
        if code and not any(t.outcome == "failed" for t in tests):
            at = unfinished_gtest(output)
            tests.append(Result(f"{job.name}{f': {at}' if at else ''}", "failed", seconds, f"{how}\n{tail}"))
        elif not tests and not job.may_be_empty:
            tests.append(Result(job.name, "failed", seconds, f"it ran no test\n{tail}"))
    bad = any(t.outcome == "failed" for t in tests)
    print(f"{'FAIL' if bad else 'ok  '}  {job.name:<44} {len(tests):>5} tests {seconds:8.1f} s", flush=True)
    return tests


def summarize(tests: list[Result]) -> int:
    """Prints what is worth knowing and the closing line; returns the exit code."""
    by = {outcome: [t for t in tests if t.outcome == outcome] for outcome in ("passed", "failed", "skipped")}
    for test in by["failed"]:
        print(f"\nFAILED {test.name}\n{test.detail}")
    if by["skipped"]:
        print("\nSkipped:")
        for test in by["skipped"]:
            print(f"  {test.name}: {test.detail.splitlines()[0]}")
    print(f"\nThe {SLOWEST} slowest tests:")
    for test in sorted(tests, key=lambda t: -t.seconds)[:SLOWEST]:
        print(f"  {test.seconds:8.2f} s  {test.name}")
    skipped = f", {len(by['skipped'])} skipped" if by["skipped"] else ""
    print(f"\n{len(by['passed'])} passed, {len(by['failed'])} failed{skipped}", flush=True)
    return 1 if by["failed"] or not by["passed"] else 0


def set_onnx_models() -> None:
    """Tells the C++ tests where this Python's onnx package has its models, as files to load and save."""
    spec = importlib.util.find_spec("onnx")
    if spec is not None and spec.submodule_search_locations:
        os.environ.setdefault("TESSERA_ONNX_MODELS", spec.submodule_search_locations[0])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pytest", action="store_true")
    parser.add_argument("builds", nargs="*", type=Path)
    options = parser.parse_args(arguments)
    set_onnx_models()
    jobs = [pytest_job()] if options.pytest else []  # first: it is the longest
    for build in options.builds:
        jobs += ctest_jobs(build)
    with ThreadPoolExecutor(WORKERS) as pool:
        return summarize([test for tests in pool.map(run, jobs) for test in tests])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
