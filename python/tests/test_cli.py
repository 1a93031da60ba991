"""The command line: verbs, exit codes, error lines, and the cases of other tools' failures that it has to get right."""

import json
import os
import re
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("TESSERA_PROGRAM", ROOT / "build/release/tessera"))

TYPES = """ModelProto {
    struct_types: [
        StructTypeProto {
            name: "BLOCK"
            structure: Structure {
                field: { name: "scale", type: FLOAT16 }
                field: { name: "codes", type: array(INT4, dimension=32) }
            }
        },
        StructTypeProto {
            name: "BLOCKS"
            structure: Structure {
                field: { name: "blocks", type: array(struct("BLOCK"), dimensions=[rows, cols/block]) }
                field: { name: "table", constant: tensor(FLOAT, [4], table) }
            }
        }
    ]
}
"""


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, **options)


def small_model(*initializers: TensorProto) -> onnx.ModelProto:
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    node = helper.make_node("Identity", ["x"], ["y"])
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    graph = helper.make_graph([node], "g", [value], [output], list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def external(name: str, count: int, location: str, offset: int = 0, length: int | None = None) -> TensorProto:
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[count], data_location=TensorProto.EXTERNAL)
    entries = {"location": location, "offset": str(offset), "length": str(4 * count if length is None else length)}
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def one_error_line(result: subprocess.CompletedProcess[str]) -> str:
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert re.search(r"\[[a-z0-9-]+\]$", lines[0]), lines[0]
    assert "\033" not in result.stdout + result.stderr  # colour is for terminals
    return lines[0]


def test_every_verb_has_help_with_an_example() -> None:
    overview = run("--help")
    assert overview.returncode == 0
    verbs = re.findall(r"^  (\w+) {3,}", overview.stdout, re.MULTILINE)
    assert verbs == ["check", "inspect", "layout", "formats", "decode", "encode", "type"]
    for verb in verbs:
        text = run(verb, "--help").stdout
        assert f"Example:\n  tessera {verb} " in text
        assert "Exit codes:" in text


@pytest.mark.parametrize(
    "arguments",
    [[], ["shrink"], ["check"], ["check", "--no-such-option", "x"], ["inspect", "a", "b"], ["layout"], ["type"]]
    + [["check", "x", "--limit", v] for v in ("depth", "depth=x", "deep=3", "depth=99999999")],
)
def test_wrong_arguments_are_one_line_and_exit_code_2(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert "[argument]" in one_error_line(result)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "text.onnx").write_bytes(b"hello, this is text")
    (tmp_path / "cut.onnx").write_bytes(small_model().SerializeToString()[:-3])
    os.mkfifo(tmp_path / "pipe.onnx")
    expected = {
        "none.onnx": "file-open",
        "empty.onnx": "not-a-model",
        "text.onnx": "wire-",
        "cut.onnx": "wire-truncated",
        "pipe.onnx": "file-kind",
        ".": "file-kind",
    }
    for name, slug in expected.items():
        for verb in ("check", "inspect"):
            result = run(verb, tmp_path / name)
            assert result.returncode == 2, name
            assert f"[{slug}" in one_error_line(result)


def test_check_lists_every_problem_and_takes_several_files(tmp_path: Path) -> None:
    good = tmp_path / "good.onnx"
    bad = tmp_path / "bad.onnx"
    onnx.save(small_model(helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 2])), good)
    wrong = small_model(
        TensorProto(name="short", data_type=TensorProto.FLOAT, dims=[2], raw_data=b"1234"),
        TensorProto(name="negative", data_type=TensorProto.FLOAT, dims=[-2], raw_data=b""),
        TensorProto(name="short", data_type=99, dims=[]),
    )
    onnx.save(wrong, bad)
    assert run("check", good).returncode == 0
    result = run("check", good, bad)
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert lines[0] == f"{good}: ok (1 tensor, 0 struct values, 0 struct types)"
    slugs = [re.search(r"\[([a-z-]+)\]$", line)[1] for line in lines[1:-1]]
    assert slugs == ["tensor-size", "tensor-dims", "tensor-name", "tensor-type"]
    assert "graph.initializer[0] 'short'" in lines[1]
    assert "raw_data has 4 bytes (8 for 2 elements of FLOAT)" in lines[1]
    assert run("check", "--quiet", good).stdout == ""
    assert run("check", bad, "--limit", "problems=2").stdout.splitlines()[2] == f"{bad}: and 2 more"


def test_c29_and_x16_locations_that_lead_outside(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "outside.bin").write_bytes(bytes(64))
    (folder / "inside.bin").write_bytes(bytes(16))
    (folder / "link.bin").symlink_to(tmp_path / "outside.bin")
    (folder / "hard.bin").hardlink_to(tmp_path / "outside.bin")
    cases = {
        "../outside.bin": "external-escape",
        "a/../../outside.bin": "external-escape",
        str(tmp_path / "outside.bin"): "external-location",
        "link.bin": "external-escape",
        "*/_ORT_MEM_ADDR_/*": "external-location",
        "none.bin": "external-missing",
        "..\\outside.bin": "external-escape",
        "": "external-location",
    }
    for location, slug in cases.items():
        path = folder / "m.onnx"
        path.write_bytes(small_model(external("secret", 4, location)).SerializeToString())
        result = run("check", path)
        assert result.returncode == 1, location
        line = result.stdout.splitlines()[0]
        assert line.endswith(f"[{slug}]"), line
        assert "'secret'" in line
        assert str(folder) in line or slug == "external-location"
    path.write_bytes(small_model(external("secret", 16, "hard.bin")).SerializeToString())
    assert run("check", path).returncode == 0  # read, never written through
    assert (tmp_path / "outside.bin").read_bytes() == bytes(64)


def test_a_cache_of_links_into_one_folder_of_blobs(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots/1"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    (blobs / "aa").write_bytes(small_model(external("w", 4, "m.onnx.data")).SerializeToString())
    (blobs / "bb").write_bytes(bytes(16))
    (snapshot / "m.onnx").symlink_to("../../blobs/aa")
    (snapshot / "m.onnx.data").symlink_to("../../blobs/bb")
    assert run("check", snapshot / "m.onnx").returncode == 0


def test_c31_orphaned_bytes(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(small_model(external("a", 4, "d.bin"), external("b", 4, "d.bin", 64)).SerializeToString())
    (tmp_path / "d.bin").write_bytes(bytes(80))
    assert run("check", path).returncode == 0  # 48 bytes in front of offset 64 are padding
    (tmp_path / "d.bin").write_bytes(bytes(180))
    result = run("check", path)
    assert result.returncode == 1
    assert "100 of 180 bytes belong to no value of this model, the first at offset 80" in result.stdout
    assert "[external-orphan]" in result.stdout
    assert run("check", path, "--no-data-files").returncode == 0


def test_external_ranges(tmp_path: Path) -> None:
    (tmp_path / "d.bin").write_bytes(bytes(64))
    path = tmp_path / "m.onnx"
    for offset, slug in (
        (0, None),
        (48, None),
        (52, "external-range"),
        (2**64 - 8, "external-range"),
        (2**64, "external-number"),
    ):
        path.write_bytes(small_model(external("w", 4, "d.bin", offset)).SerializeToString())
        result = run("check", path)
        if slug is None:
            assert "external-range" not in result.stdout
        else:
            assert result.returncode == 1
            assert result.stdout.splitlines()[0].endswith(f"[{slug}]")
    path.write_bytes(small_model(external("w", 4, "d.bin", 0, 12)).SerializeToString())
    assert "[tensor-size]" in run("check", path).stdout


def test_c34_packed_int4(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    for raw, code in ((b"\x21\xf3\x08", 0), (b"\x21\xf3", 1), (b"\x21\xf3\x08\x00", 1)):
        onnx.save(small_model(TensorProto(name="w", data_type=TensorProto.INT4, dims=[5], raw_data=raw)), path)
        assert run("check", path).returncode == code
    negative = TensorProto(name="w", data_type=TensorProto.INT4, dims=[4], int32_data=[0xFF, 0x8F])
    onnx.save(small_model(negative), path)
    assert run("check", path).returncode == 0
    onnx.save(
        small_model(TensorProto(name="w", data_type=TensorProto.INT4, dims=[4], int32_data=[-1, -1, -1, -8])), path
    )
    assert "[tensor-size]" in run("check", path).stdout


def test_inspect_of_100_gb_reads_nothing(tmp_path: Path) -> None:
    """Also X17: a model far over 2 GiB."""
    gigabyte = 2**30
    tensors = [external(f"w{i}", gigabyte // 4, "m.onnx.data", i * gigabyte) for i in range(100)]
    path = tmp_path / "m.onnx"
    path.write_bytes(small_model(*tensors).SerializeToString())
    with (tmp_path / "m.onnx.data").open("wb") as data:
        data.truncate(100 * gigabyte)
    fastest = 10.0
    for _ in range(7):
        start = time.perf_counter()
        result = run("inspect", path)
        fastest = min(fastest, time.perf_counter() - start)
    assert result.returncode == 0
    assert f"total: 100 tensors, 0 struct values, {100 * gigabyte} bytes" in result.stdout
    assert fastest < 0.1
    assert run("check", path).returncode == 0


def test_inspect_json(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    big = TensorProto(name="big", data_type=TensorProto.FLOAT, dims=[50000], raw_data=bytes(200000))
    half = helper.make_tensor("half", TensorProto.FLOAT16, [2, 3], np.arange(6, dtype=np.float16))
    odd = TensorProto(name="odd", data_type=99, dims=[3])
    path.write_bytes(small_model(big, half, odd).SerializeToString())
    result = run("inspect", path, "--json")
    assert result.returncode == 0
    report = json.loads(result.stdout)
    assert report["ir_version"] == 10
    assert report["opsets"] == [{"domain": "ai.onnx", "version": 21}]
    values = {value["name"]: value for value in report["values"]}
    assert values["big"]["bytes"] == 200000
    assert values["big"]["bits_per_weight"] == 32
    (segment,) = values["big"]["segments"]
    assert path.read_bytes()[segment["offset"] : segment["offset"] + 200000] == bytes(200000)
    assert values["half"]["shape"] == [2, 3]
    assert values["half"]["bytes"] == 12
    assert values["odd"]["bytes"] is None
    assert "data_type is 99" in values["odd"]["problem"]
    assert report["total_bytes"] == 200012


def test_names_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    data = small_model(helper.make_tensor("NAME", TensorProto.FLOAT, [1], [1])).SerializeToString()
    path.write_bytes(data.replace(b"NAME", b"\xff\x00\x1b["))
    result = run("inspect", path)
    assert result.returncode == 0
    assert "\\xff\\x00\\x1b[" in result.stdout
    assert "\x1b" not in result.stdout
    json.loads(run("inspect", path, "--json").stdout)


def test_layout_binds_shape_numbers_and_data(tmp_path: Path) -> None:
    text = tmp_path / "t.struct.txt"
    text.write_text(TYPES)
    np.save(tmp_path / "table.npy", np.arange(4, dtype=np.float32))
    np.save(tmp_path / "wrong.npy", np.arange(4, dtype=np.float64))

    unbound = run("layout", text)
    assert unbound.returncode == 2
    line = one_error_line(unbound)
    assert "4 parameters without a value" in line
    assert all(name in line for name in ("block", "cols", "rows", "table"))

    arguments = [text, "--shape", "2x64", "--set", "block=32"]
    result = run("layout", *arguments, "--set", f"table=@{tmp_path}/table.npy", "--bytes", "3")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "BLOCKS: 72 bytes"
    assert "  a  blocks.scale  FLOAT16         0  [2, 2]  every 36, 18" in lines
    assert lines[-2].split() == ["2", "BBBBbbbb", "blocks.codes[0,0,1]", "|", "blocks.codes[0,0,0]"]
    assert "69 more bytes" in lines[-1]
    report = json.loads(run("layout", *arguments, "--set", f"table=@{tmp_path}/table.npy", "--json").stdout)
    assert report["size_bits"] == 576
    assert [leaf["path"] for leaf in report["leaves"]] == ["blocks.scale", "blocks.codes", "table"]

    assert "[parameter-data]" in one_error_line(run("layout", *arguments, "--set", f"table=@{tmp_path}/wrong.npy"))
    assert "[file-open]" in one_error_line(run("layout", *arguments, "--set", "table=@none.npy"))
    assert "[argument]" in one_error_line(run("layout", *arguments, "--set", "table"))
    assert "[argument]" in one_error_line(run("layout", text, "--shape", "2by64"))
    uneven = run("layout", text, "--shape", "2x60", "--set", "block=32")
    assert uneven.returncode == 2
    assert "t.struct.txt:13:" in one_error_line(uneven)
    only = run("layout", *arguments, "--set", f"table=@{tmp_path}/table.npy", "--type", "BLOCK")
    assert only.stdout.startswith("BLOCK: 18 bytes")
    none = run("layout", *arguments, "--set", f"table=@{tmp_path}/table.npy", "--type", "B")
    assert "BLOCK, BLOCKS" in one_error_line(none)


def test_hostile_files(tmp_path: Path) -> None:
    """10,000-deep nesting, lengths near 2^64, 1 TB declared in a few bytes: plain errors in little memory."""

    def varint(value: int) -> bytes:
        out = b""
        while value > 127:
            out, value = out + bytes([value & 127 | 128]), value >> 7
        return out + bytes([value])

    def field(number: int, payload: bytes) -> bytes:
        return varint(number << 3 | 2) + varint(len(payload)) + payload

    nested = b""
    for _ in range(10_000):  # a graph in an attribute of a node of a graph ...
        nested = field(1, field(5, field(6, nested)))
    files = {
        "deep": (field(7, nested), "wire-depth", 2),
        "length": (b"\x3a" + varint(2**64 - 1), "wire-truncated", 2),
        "varint": (b"\x3a" + b"\xff" * 11, "wire-malformed", 2),
        "huge": (small_model(TensorProto(name="t", data_type=1, dims=[2**38])).SerializeToString(), "tensor-size", 1),
        "product": (
            small_model(TensorProto(name="t", data_type=1, dims=[2**62, 2**62])).SerializeToString(),
            "tensor-dims",
            1,
        ),
    }
    for name, (content, slug, code) in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        limited = ["bash", "-c", 'ulimit -v 600000; exec "$0" "$@"', str(PROGRAM), "check", str(path)]
        result = subprocess.run(limited, capture_output=True, text=True, check=False)
        assert result.returncode == code, (name, result.stderr)
        assert f"[{slug}]" in result.stdout + result.stderr


@pytest.mark.skipif(
    not (ROOT.parent / "shared/spec/examples").is_dir(), reason="no ../shared here: the founding document's files"
)
def test_layout_of_the_founding_documents_types() -> None:
    """Every file of the founding document either draws or says which parameters it needs."""
    files = sorted((ROOT.parent / "shared/spec/examples").glob("*.struct.txt"))
    assert len(files) == 37
    for file in files:
        result = run("layout", file)
        if result.returncode == 0:
            assert " bytes" in result.stdout
        else:
            assert "[unbound-parameter]" in one_error_line(result)
