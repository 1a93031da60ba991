"""run_tests: what must count as a failure does, and the closing line sums up."""

import sys
from pathlib import Path

import pytest
import run_tests
from run_tests import Job, Result

GTEST = """<testsuites><testsuite>
  <testcase name="A" status="run" result="completed" time="0.25" classname="Size"/>
  <testcase name="B" status="run" result="skipped" time="0" classname="Size">
    <skipped message="needs AVX-512"/>
  </testcase>
  <testcase name="DISABLED_D" status="notrun" result="suppressed" time="0" classname="Size"/>
  %s
</testsuite></testsuites>"""
FAILED = """<testcase name="C" status="run" time="0" classname="Size">
  <failure message="m">size.cc:3: 1 != 2</failure></testcase>"""


def job(tmp_path: Path, report: str | None, code: str = "", **options) -> Job:
    """A process that writes this report, and does whatever else `code` does."""
    path = tmp_path / "report.xml"
    write = f"open({str(path)!r}, 'w').write({report!r})\n" if report is not None else ""
    return Job("program", [sys.executable, "-c", write + code], path, **options)


def outcomes(tests: list[Result]) -> dict[str, str]:
    return {t.name: t.outcome for t in tests}


def test_report(tmp_path):
    tests = run_tests.run(job(tmp_path, GTEST % FAILED, "raise SystemExit(1)"))
    assert outcomes(tests) == {
        "Size.A": "passed",
        "Size.B": "skipped",
        "Size.DISABLED_D": "skipped",
        "Size.C": "failed",
    }
    assert [t.detail for t in tests] == ["", "needs AVX-512", "disabled", "size.cc:3: 1 != 2"]
    assert tests[0].seconds == 0.25


def test_crash_names_the_test_it_was_in(tmp_path):
    printed = "[ RUN      ] Size.A\n[       OK ] Size.A (0 ms)\n[ RUN      ] Size.C"
    (test,) = run_tests.run(job(tmp_path, None, f"print({printed!r}, flush=True)\nimport os; os.abort()"))
    assert (test.name, test.outcome) == ("program: Size.C", "failed")
    assert test.detail.startswith("signal 6")


def test_report_of_an_earlier_run_does_not_count(tmp_path):
    (tmp_path / "report.xml").write_text(GTEST % "")
    (test,) = run_tests.run(job(tmp_path, None))
    assert (test.outcome, test.detail.strip()) == ("failed", "it ran no test")


def test_failure_after_the_report_counts(tmp_path):
    tests = run_tests.run(job(tmp_path, GTEST % "", "raise SystemExit(3)"))
    assert tests[-1].outcome == "failed"
    assert tests[-1].detail.startswith("exit code 3")


def test_no_test(tmp_path):
    empty = "<testsuites/>"
    assert outcomes(run_tests.run(job(tmp_path, empty))) == {"program": "failed"}
    assert run_tests.run(job(tmp_path, empty, may_be_empty=True)) == []


@pytest.mark.parametrize(("code", "outcome"), [("", "passed"), ("raise SystemExit(2)", "failed")])
def test_exit_code_without_report(code, outcome):
    assert outcomes(run_tests.run(Job("replay", [sys.executable, "-c", code]))) == {"replay": outcome}


def test_program_that_is_not_there(tmp_path):
    assert outcomes(run_tests.run(Job("gone", [str(tmp_path / "gone")]))) == {"gone": "failed"}


def test_time_out(monkeypatch):
    monkeypatch.setattr(run_tests, "TIMEOUT_S", 0.2)
    (test,) = run_tests.run(Job("slow", [sys.executable, "-c", "import time; time.sleep(30)"]))
    assert (test.outcome, test.seconds < 10) == ("failed", True)


@pytest.mark.parametrize(
    ("tests", "code", "last"),
    [
        ([Result("a", "passed")], 0, "1 passed, 0 failed"),
        ([Result("a", "passed"), Result("b", "failed", 0, "why")], 1, "1 passed, 1 failed"),
        ([Result("a", "passed"), Result("b", "skipped", 0, "why")], 0, "1 passed, 0 failed, 1 skipped"),
        ([Result("b", "skipped", 0, "why")], 1, "0 passed, 0 failed, 1 skipped"),
        ([], 1, "0 passed, 0 failed"),
    ],
)
def test_summary(capsys, tests, code, last):
    assert run_tests.summarize(tests) == code
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == last
    for test in tests:
        assert test.detail in printed


def test_ten_slowest(capsys):
    run_tests.summarize([Result(f"t{i}", "passed", i / 8) for i in range(30)])
    listed = [line.split()[-1] for line in capsys.readouterr().out.splitlines() if line.startswith("   ")]
    assert listed == [f"t{i}" for i in range(29, 19, -1)]
