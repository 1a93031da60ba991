"""check_layers: each rule beside the include that obeys it; and this checkout obeys them all."""

from pathlib import Path

import check_layers
import pytest

LAYERS = """
# comment
base:
types: base
proto:
onnx: types proto
jobs: onnx
cli: jobs
python: jobs
bench: jobs
fuzz: jobs
"""


@pytest.fixture
def tree(tmp_path: Path):
    (tmp_path / "layers.txt").write_text(LAYERS)

    def write(file: str, text: str) -> list[str]:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return check_layers.violations(tmp_path)

    return write


@pytest.mark.parametrize(
    ("file", "include"),
    [
        ("src/tessera/types/a.h", '"tessera/types/b.h"'),
        ("src/tessera/types/a.h", '"tessera/base/error.h"'),
        ("src/tessera/onnx/a.cc", '"tessera/base/error.h"'),  # over types
        ("src/tessera/jobs/deep/a.cc", '"tessera/types/b.h"'),
        ("src/tessera/onnx/a.cc", '"onnx_struct.pb.h"'),
        ("src/tessera/jobs/a.cc", "<google/protobuf/message.h>"),
        ("src/tessera/base/a.h", "<vector>"),
        ("cli/main.cc", '"tessera/onnx/model.h"'),
        ("cli/main.cc", '"cli/commands.h"'),
        ("fuzz/a.cc", '"tessera/types/notation.h"'),
    ],
)
def test_allowed(tree, file, include):
    assert tree(file, f"#include {include}\n") == []


@pytest.mark.parametrize(
    ("file", "include", "message"),
    [
        ("src/tessera/base/a.h", '"tessera/types/b.h"', "base may include base, not types"),
        ("src/tessera/types/a.h", '"tessera/onnx/b.h"', "types may include base, types, not onnx"),
        ("src/tessera/types/a_test.cc", '"tessera/onnx/b.h"', "not onnx"),
        ("src/tessera/onnx/a.cc", '"tessera/quant/b.h"', "quant is no layer"),
        ("src/tessera/types/a.cc", '"onnx_struct.pb.h"', "types may not see protobuf"),
        ("src/tessera/base/a.cc", "<google/protobuf/message.h>", "base may not see protobuf"),
        ("cli/main.cc", '"onnx_struct.pb.h"', "cli may not see protobuf"),
        ("src/tessera/jobs/a.cc", '"cli/main.h"', "nothing includes cli"),
        ("bench/a.cc", '"fuzz/b.h"', "nothing includes fuzz"),
        ("src/tessera/types/a.cc", '"../base/error.h"', "path from src/"),
        ("src/tessera/base/a.cc", "<tessera/types/b.h>", "not types"),
    ],
)
def test_refused(tree, file, include, message):
    (found,) = tree(file, f"// a comment\n  #  include {include}\n")
    assert found.startswith(f"{file}:2: ")
    assert message in found


def test_every_violation_is_listed(tree):
    text = '#include "tessera/types/b.h"\n#include "tessera/base/c.h"\n#include "tessera/onnx/d.h"\n'
    assert [v.split(":")[1] for v in tree("src/tessera/base/a.h", text)] == ["1", "3"]


def test_folder_without_a_line(tree):
    (found,) = tree("src/tessera/quant/a.h", "")
    assert found == "src/tessera/quant/a.h: quant is no layer of layers.txt"


@pytest.mark.parametrize("text", ["a: b\nb:\n", "a: a\n", "a:\na:\n", "a b\n"])
def test_layers_that_make_no_sense(text):
    with pytest.raises(ValueError, match=r"layers\.txt:\d"):
        check_layers.read_arrows(text)


def test_this_checkout():
    assert check_layers.violations(Path(__file__).resolve().parents[1]) == []
