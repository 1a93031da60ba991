"""The verb `type`: profiles to struct types and back, in every form, and what it says when it cannot."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tessera

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("TESSERA_PROGRAM", ROOT / "build/release/tessera"))

# 18 bytes for 32 values.
Q4 = """QuantizationProto {
    data_type: FLOAT16,
    tiling: TilingQuantizationProto {
        tile_shape: [32],
        elem_quant: [QuantizationProto {
            linear: LinearUniformProto {
                storage_type: INT4, bits: 4, symmetric: true, scale: stored(FLOAT16, per=tile, at=before), axis: -1
            }
        }]
    }
}
"""
INT8 = """QuantizationProto {
    linear: LinearUniformProto { storage_type: INT8, bits: 8, symmetric: true, scale_float: 0.02, axis: -1 }
}
"""
CODEBOOK = """QuantizationProto {
    codebook: CodebookProto { scale_float: 0.5, codebook_data: [...], packed_count: 2, packed_bytes: 1 }
}
"""
SPARSE = """QuantizationProto {
    sparse: SparseQuantizationProto {
        base_quant: QuantizationProto {
            linear: LinearUniformProto { storage_type: UINT8, bits: 3, scale_float: 0.5, zero_point: 4, axis: -1 }
        },
        outlier_data_type: FLOAT16,
        outlier_threshold: 6.0
    }
}
"""
WRONG = """QuantizationProto {
    tiling: TilingQuantizationProto {
        tile_shape: [32, 32],
        elem_quant: [QuantizationProto {
            linear: LinearUniformProto { storage_type: INT8, bits: 13, scale_float: 0.0, axis: -1 }
        }]
    }
}
"""


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)


def output(*arguments: object) -> str:
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert result.stdout.endswith("\n")
    assert "\033" not in result.stdout
    return result.stdout


def errors(*arguments: object) -> list[str]:
    result = run(*arguments)
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert all(re.match(r"error: .*\[[a-z0-9-]+\]$", line) for line in lines), lines
    return lines


@pytest.fixture
def q4(tmp_path: Path) -> Path:
    path = tmp_path / "q4-v1.0.profile.txt"
    path.write_text(Q4)
    return path


def test_struct_is_the_default_and_named_after_the_file(q4: Path) -> None:
    text = output("type", q4, "--shape", "64x128")
    assert output("type", q4, "--shape", "64x128", "--struct") == text
    root = tessera.StructType.parse(text)
    assert root.name == "Q4_V1_0"
    assert root.size_bytes == 64 * 128 // 32 * 18
    assert root.metadata["tessera.shape"] == "64x128"
    assert [(leaf.element_type, leaf.shape) for leaf in root.leaves if leaf.constant is None] == [
        ("FLOAT16", (256, 1)),
        ("INT4", (256, 32)),
    ]
    # Commas in the shape, and a name of one's own, which the parts begin with.
    named = tessera.parse_types(output("type", q4, "--shape", "64,128", "--name", "MINE"))
    assert [type.name[:4] for type in named] == ["MINE"] * len(named)
    assert named[-1].name == "MINE"
    assert named[-1].size_bytes == root.size_bytes


def test_profile_as_written_and_resolved(tmp_path: Path, q4: Path) -> None:
    assert tessera.Profile.parse(output("type", q4, "--profile")) == tessera.Profile.parse(Q4)
    path = tmp_path / "nf2.profile.txt"
    path.write_text(CODEBOOK)
    np.save(tmp_path / "book.npy", np.array([-1, -0.25, 0.25, 1], np.float64))
    # Data may stay open where nothing is translated.
    assert "codebook_data: [...]" in output("type", path, "--profile")
    bound = (path, "--set", f"codebook_data=@{tmp_path}/book.npy", "--profile")
    assert "codebook_size" not in output("type", *bound)
    resolved = output("type", *bound, "--shape", "8")
    assert "codebook_size: 4" in resolved
    assert "-0.25" in resolved


def test_layout(q4: Path) -> None:
    lines = output("type", q4, "--shape", "2x32", "--layout", "--bytes", "3").splitlines()
    assert lines[0] == "Q4_V1_0: 36 bytes, 4.5 bits per weight"
    assert lines[-1] == "  ... 33 more bytes (--bytes N shows more)"
    assert "tiles.values[0,1] | tiles.values[0,0]" in lines[-2]
    assert output("layout", q4, "--shape", "2x32", "--bytes", "3").splitlines() == lines
    report = json.loads(output("layout", q4, "--shape", "2x32", "--json"))
    assert (report["size_bits"], report["bits_per_weight"]) == (288, 4.5)


def test_json(q4: Path) -> None:
    text = output("type", q4, "--shape", "64x128", "--json")
    report = json.loads(text)
    assert list(report) == [
        "name",
        "shape",
        "profile",
        "struct",
        "size_bits",
        "size_bytes",
        "bits_per_weight",
        "leaves",
    ]
    assert report["name"] == "Q4_V1_0"
    assert report["shape"] == [64, 128]
    assert report["size_bytes"] * 8 == report["size_bits"] == 64 * 128 * 4.5
    assert report["bits_per_weight"] == 4.5
    assert tessera.Profile.parse(report["profile"]) == tessera.Profile.parse(Q4).resolved()
    type = tessera.StructType.parse(report["struct"])
    assert [leaf["path"] for leaf in report["leaves"]] == [leaf.path for leaf in type.leaves]


def test_several_profiles_stay_in_order(tmp_path: Path) -> None:
    path = tmp_path / "two.profile.txt"
    path.write_text(INT8 + Q4)
    types = tessera.parse_types(output("type", path, "--shape", "4x32"))
    assert [type.name for type in types if "TILE" not in type.name] == ["TWO_1", "TWO_2"]
    assert [type.size_bytes for type in types if "TILE" not in type.name] == [128, 72]
    assert types[-1].profile() == tessera.Profile.parse(Q4)
    profiles = tessera.parse_profiles(output("type", path, "--profile"))
    assert [profile.family for profile in profiles] == ["linear", "tiling"]
    report = json.loads(output("type", path, "--shape", "4x32", "--json"))
    assert [entry["name"] for entry in report] == ["TWO_1", "TWO_2"]
    assert [entry["bits_per_weight"] for entry in report] == [8, 4.5]
    layout = output("type", path, "--shape", "4x32", "--layout", "--bytes", "0")
    assert re.findall(r"^\w+: \d+ bytes", layout, re.MULTILINE) == ["TWO_1: 128 bytes", "TWO_2: 72 bytes"]
    one = json.loads(output("type", path, "--shape", "4x32", "--json", "--type", "TWO_2"))
    assert one["name"] == "TWO_2"
    (line,) = errors("type", path, "--shape", "4x32", "--type", "TWO_3")
    assert "declares no type 'TWO_3'" in line
    assert "TWO_1" in line


@pytest.mark.parametrize(("text", "shape"), [(Q4, "64x128"), (INT8, "3x5x7"), (CODEBOOK, "6x3"), (SPARSE, "8x8")])
def test_struct_to_profile_to_struct(tmp_path: Path, text: str, shape: str) -> None:
    path = tmp_path / "x.profile.txt"
    path.write_text(text)
    np.save(tmp_path / "book.npy", np.array([-1, -0.25, 0.25, 1], np.float32))
    options = ["--shape", shape]
    if "[...]" in text:
        options += ["--set", f"codebook_data=@{tmp_path}/book.npy"]
    if "sparse" in text:
        options += ["--outliers", "5"]
    struct = tmp_path / "x.struct.txt"
    struct.write_text(output("type", path, *options))
    again = tmp_path / "again.profile.txt"
    again.write_text(output("type", struct, "--profile"))
    assert again.read_text() == output("type", path, *options, "--profile")
    outliers = ["--outliers", "5"] if "sparse" in text else []
    assert output("type", again, "--shape", shape, "--name", "X", *outliers) == struct.read_text()
    # A struct type goes through every form as well.
    report = json.loads(output("type", struct, "--json"))
    assert report == json.loads(output("type", path, *options, "--json"))
    assert output("type", struct, "--layout") == output("type", path, *options, "--layout")
    assert output("type", struct) == struct.read_text()


def model_with(type: tessera.StructType, path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    model = tessera.load(path)
    model.add_struct_initializer("w", type, bytes(type.size_bytes))
    model.save(path)


def test_models(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    profile = tessera.Profile.parse(Q4.replace("scale: stored(FLOAT16, per=tile, at=before)", "scale_float: 0.5"))
    model_with(profile.struct_type((64, 128), name="W_Q4"), path)
    for selection in ([], ["--type", "W_Q4"]):
        assert tessera.Profile.parse(output("type", path, "--profile", *selection)) == profile
    assert json.loads(output("type", path, "--json"))["shape"] == [64, 128]
    # A part alone is the profile of a tile.
    tiles = [type.name for type in tessera.load(path).struct_types if type.name != "W_Q4"]
    assert "linear" in output("type", path, "--profile", "--type", tiles[0])
    (line,) = errors("type", path, "--profile", "--type", "W")
    assert "W_Q4" in line
    (line,) = errors("type", path, "--set", "n=3")
    assert "has no template" in line or "have no template" in line
    values = {value["name"]: value for value in json.loads(output("inspect", path, "--json"))["values"]}
    assert values["w"]["shape"] == [64, 128]
    assert values["w"]["bits_per_weight"] == 4


def test_struct_types_that_are_no_profile(tmp_path: Path) -> None:
    path = tmp_path / "page.struct.txt"
    path.write_text(
        'StructTypeProto { name: "PAGE" structure: Structure { field: { name: "keys", type: array(FLOAT16, '
        "dimensions=[rows, 3]) } field: { name: "
        '"values", type: array(FLOAT16, dimensions=[rows, 3]) } } }'
    )
    shape = ("--shape", "4x2")
    assert "PAGE" in output("type", path, *shape)
    assert output("type", path, *shape, "--layout").startswith("PAGE: 48 bytes\n")
    (line,) = errors("type", path, *shape, "--profile")
    assert line.startswith(f"error: {path}: ")
    assert line.endswith("[not-a-profile]")
    report = json.loads(output("type", path, *shape, "--json"))
    assert report["profile"] is None
    assert report["no_profile"].endswith("[not-a-profile]")
    assert report["bits_per_weight"] is None
    (line,) = errors("type", path, *shape, "--name", "X")
    assert "for profiles" in line
    (line,) = errors("type", path, *shape, "--outliers", "3")
    assert "for profiles" in line


def test_a_shape_is_needed(q4: Path) -> None:
    for form in ([], ["--struct"], ["--layout"], ["--json"]):
        (line,) = errors("type", q4, *form)
        assert line.startswith(f"error: {q4}: ")
        assert line.endswith("(--shape 4096x4096) [argument]")
    (line,) = errors("layout", q4)
    assert "--shape" in line
    for option in (["--name", "X"], ["--outliers", "3"], ["--type", "X"]):
        (line,) = errors("type", q4, "--profile", *option)
        assert "--shape" in line
    for shape in ("4by4", "-4", "4x", "x"):
        (line,) = errors("type", q4, f"--shape={shape}")
        assert "is not a shape" in line


def test_shapes_that_do_not_fit(tmp_path: Path, q4: Path) -> None:
    (line,) = errors("type", q4, "--shape", "3x5")
    assert line.startswith(f"error: {q4}: ")
    assert line.endswith("[profile-shape]")
    (line,) = errors("type", q4, "--shape", "9223372036854775807x32", "--profile")
    assert line.endswith("[argument]")
    assert "2^63 - 1" in line
    path = tmp_path / "two.profile.txt"
    path.write_text(Q4 + Q4)
    lines = errors("type", path, "--shape", "3x5")
    assert [f"profiles[{i}]" in line for i, line in enumerate(lines)] == [True, True]


def test_data_without_a_value(tmp_path: Path) -> None:
    path = tmp_path / "nf2.profile.txt"
    path.write_text(CODEBOOK)
    for form in ("--struct", "--layout", "--json", "--profile"):
        (line,) = errors("type", path, "--shape", "8", form)
        assert line.startswith(f"error: {path}: 1 parameter without a value: codebook_data (")
        assert line.endswith("(--set codebook_data=@file.npy) [unbound-parameter]")
    # Two things are wrong: both are said.
    assert [re.search(r"\[([a-z-]+)\]$", line)[1] for line in errors("type", path)] == ["unbound-parameter", "argument"]
    number = tmp_path / "number.profile.txt"
    number.write_text(INT8.replace("bits: 8", "bits: width"))
    (line,) = errors("type", number, "--profile")
    assert "width (" in line
    assert "[unbound-parameter]" in line
    assert "bits: 8" in output("type", number, "--profile", "--set", "width=8")


def test_every_problem_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "wrong.profile.txt"
    path.write_text(WRONG)
    for arguments in (["--profile"], ["--shape", "4x32"], []):
        lines = errors("type", path, *arguments)
        places = [re.match(rf"error: {re.escape(str(path))}: (\S+): ", line)[1] for line in lines]
        assert places == [
            "tiling.tile_shape",
            "tiling.elem_quant[0].linear.bits",
            "tiling.elem_quant[0].linear.scale",
        ]
    path.write_text(INT8 + WRONG)
    assert all(f"{path}: profiles[1].tiling." in line for line in errors("type", path))
    result = run("type", path, "--limit", "problems=1")
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 2
    assert result.stderr.splitlines()[1] == "and 2 more"


def test_texts_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("QuantizationProto {\n    linear: LinearUniformProto { bits: }\n}\n")
    (line,) = errors("type", path, "--profile")
    assert f"{path}:2:" in line
    assert line.endswith("[syntax]")
    path.write_text("hello")
    (line,) = errors("type", path)
    assert line.endswith("[syntax]")
    (line,) = errors("type", tmp_path / "none.txt")
    assert line.endswith("[file-open]")
    (line,) = errors("type", tmp_path)
    assert line.endswith("[file-kind]")


def test_outliers(tmp_path: Path) -> None:
    path = tmp_path / "s.profile.txt"
    path.write_text(SPARSE)
    (line,) = errors("type", path, "--shape", "8x8")
    assert line.endswith("[profile-shape]")
    type = tessera.StructType.parse(output("type", path, "--shape", "8x8", "--outliers", "5"))
    assert type.size_bytes == 24 + 5 * (8 + 2)
    (line,) = errors("type", path, "--shape", "8x8", "--outliers", "65")
    assert line.endswith("[profile-shape]")
    (line,) = errors("type", path, "--shape", "8x8", "--outliers", "-1")
    assert line.endswith("[argument]")


def test_arguments(q4: Path) -> None:
    for wrong in (["--json", "--profile"], ["--layout", "--struct"], ["--set"], ["--bytes", "x"], ["--nothing"]):
        (line,) = errors("type", q4, "--shape", "1x32", *wrong)
        assert line.endswith("[argument]")
    (line,) = errors("type", q4, "--shape", "1x32", "--set", "x")
    assert "is not an assignment" in line
    # --set takes one assignment, so that FILE may follow it.
    assert output("type", "--set", "x=1", q4, "--shape", "1x32") == output("type", q4, "--shape", "1x32")


def test_limits(q4: Path) -> None:
    (line,) = errors("type", q4, "--profile", "--limit", "depth=1")
    assert line.endswith("[limit-depth]")
    fields = ("type", q4, "--shape", "1x32", "--limit")
    assert all(line.endswith("[limit-fields]") for line in errors(*fields, "fields=6"))
    assert output(*fields, "fields=7")


def test_help_has_examples() -> None:
    text = output("type", "--help")
    assert "Example:\n  tessera type " in text
    assert text.count("\n  tessera type ") >= 3
    for option in (
        "--shape",
        "--struct",
        "--profile",
        "--layout",
        "--json",
        "--set",
        "--outliers",
        "--name",
        "--bytes",
    ):
        assert option in text


def test_encoders_of_profiles_of_their_types_and_of_formats(tmp_path: Path, q4: Path) -> None:
    text = output("type", q4, "--shape", "64x128", "--encoder", "13")
    root = tessera.StructType.parse(text)
    assert root.encoder is not None and 'opset_import: ["" : 13]' in root.encoder and root.decoder is None
    assert root == tessera.Profile.parse(q4.read_text()).struct_type((64, 128), name=root.name, encoder_opset=13)
    plain = tmp_path / "plain.struct.txt"
    plain.write_text(output("type", q4, "--shape", "64x128"))
    assert output("type", plain, "--encoder", "13") == text
    # Beside a decoder, which says what the encoder's input is.
    both = tessera.StructType.parse(output("type", plain, "--encoder", "21", "--decoder", "21"))
    assert both.encoder is not None and "float16[64,128] X" in both.encoder
    assert both.decoder is not None and "float16[64,128] Y" in both.decoder
    by_format = tessera.StructType.parse(output("type", "int4_b32", "--shape", "4x64", "--encoder", "26"))
    assert by_format.encoder == tessera.Format("int4_b32").encoder((4, 64), opset=26)
    assert run("type", q4, "--shape", "64x128", "--encoder", "27").returncode == 2
    (line,) = errors("type", "q4_0", "--shape", "4x64", "--encoder", "21")
    assert "[no-encoder]" in line and "(encoder: FunctionProto { ... } in the format's text)" in line
    (line,) = errors("type", "int4z_b32", "--shape", "4x64", "--encoder", "21")
    assert "zero points that are stored are the choice of whoever encodes (a constant zero point) [no-encoder]" in line


def test_decoders_of_profiles_and_of_their_types(tmp_path: Path, q4: Path) -> None:
    text = output("type", q4, "--shape", "64x128", "--decoder", "21")
    root = tessera.StructType.parse(text)
    assert root.decoder is not None and 'opset_import: ["" : 21]' in root.decoder
    # A struct type is read back as its profile, and gets the same decoder; it may be one of another opset.
    plain = tmp_path / "plain.struct.txt"
    plain.write_text(output("type", q4, "--shape", "64x128"))
    assert output("type", plain, "--decoder", "21") == text
    assert output("type", plain, "--decoder", "26") != text
    (line,) = errors("type", q4, "--shape", "64x128", "--decoder", "13")
    assert "opset 13 does not convert INT4 (opset 21) [no-decoder]" in line
    assert run("type", q4, "--shape", "64x128", "--decoder", "12").returncode == 2
    other = tmp_path / "other.struct.txt"
    other.write_text(
        'StructTypeProto { name: "S" structure: { field: { name: "a", type: array(FLOAT, dimension=2) } '
        'field: { name: "b", type: array(INT8, dimension=2) } } }'
    )
    (line,) = errors("type", other, "--decoder", "21")
    assert "[not-a-profile]" in line or "[profile-shape]" in line
