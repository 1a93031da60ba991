"""testdata/ggml is what make_ggml_goldens.py makes of the shared folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHARED = Path(os.environ.get("TESSERA_SHARED", ROOT.parent / "shared"))


@pytest.mark.skipif(not (SHARED / "goldens/ggml").is_dir(), reason="no shared folder with the goldens of ggml")
def test_committed_files_are_those_of_the_script(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "tools/make_ggml_goldens.py", SHARED, tmp_path], check=True)
    committed = ROOT / "testdata/ggml"
    files = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(committed) for p in committed.rglob("*") if p.is_file())
    for path in files:
        assert (tmp_path / path).read_bytes() == (committed / path).read_bytes(), path
