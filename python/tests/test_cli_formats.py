"""The verbs `formats`, `decode` and `encode`, and names of formats where other verbs take files."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tessera

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("TESSERA_PROGRAM", ROOT / "build/release/tessera"))

OWN = """// One byte a value.
FormatProto {
    name: "bytes_b{block}"
    title: "Bytes in blocks of {block}"
    author: "a test"
    aliases: ["BY-{block}"]
    blocks: [2, 4]
    shape: [2, 8]
}
StructTypeProto {
    name: "BYTES"
    structure: Structure { field: { name: "codes", type: array(UINT8, dimensions=[rows, cols/block, block]) } }
    decoder: FunctionProto {
        <opset_import: ["" : 13]> decode (codes) => (Y) <float[shape] Y> {
            dims = Constant <value_ints: ints = shape> ()
            wide = Cast <to: int = 1> (codes)
            Y = Reshape (wide, dims)
        }
    }
    encoder: FunctionProto {
        <opset_import: ["" : 13]> encode (X) => (bytes) <uint8[elements] bytes> {
            flat = Constant <value_ints: ints = [-1]> ()
            codes = Cast <to: int = 2> (X)
            bytes = Reshape (codes, flat)
        }
    }
}
"""


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd)


def output(*arguments: object, cwd: Path | None = None) -> str:
    result = run(*arguments, cwd=cwd)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def error(*arguments: object, code: int = 2, cwd: Path | None = None) -> str:
    result = run(*arguments, cwd=cwd)
    assert result.returncode == code, (result.stdout, result.stderr)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert re.match(r"error: .*\[[a-z0-9-]+\]$", line), line
    return line


@pytest.fixture
def own(tmp_path) -> Path:
    path = tmp_path / "bytes.txt"
    path.write_text(OWN)
    return path


def test_the_table():
    lines = output("formats").splitlines()
    assert lines[0].split() == ["name", "bits", "block", "author", "aliases", "title"]
    rows = {line.split()[0]: line.split()[1:3] for line in lines[1:]}
    assert list(rows) == tessera.formats()
    assert rows["int4_b32"] == ["4.5", "32"]
    assert rows["int4_b128"] == ["4.125", "128"]
    assert rows["sketch.stq1_0"] == ["1.3125", "1"]
    table = json.loads(output("formats", "--json"))
    assert [row["name"] for row in table] == tessera.formats()
    for row in table:
        assert f"{row['bits_per_weight']:.6g}" == rows[row["name"]][0]
        assert row["sources"]


def test_one_format():
    text = output("formats", "INT4_B32")
    assert text.startswith("// Blocks of signed 4-bit integers")
    for part in (
        'FormatProto {\n    name: "int4_b32"',
        "9437184 bytes for 4096x4096, 4.5 bits per weight; codec: ",
        "---- profile\n\nQuantizationProto {",
        "---- struct types\n\nModelProto {",
        "---- byte map\n\nINT4_B32: 9437184 bytes",
        "---- decoder\n\n",
        "=> (Y) <float[4096,4096] Y>",
    ):
        assert part in text, part
    assert "1152 bytes for 32x64, 4.5 bits" in output("formats", "int4_b32", "--shape", "32x64")
    one = json.loads(output("formats", "int4_b64", "--shape", "2x64", "--json"))
    assert (one["name"], one["block"], one["shape"], one["size_bytes"]) == ("int4_b64", 64, [2, 64], 68)
    assert tessera.Format.parse(one["text"]) == tessera.Format("int4_b64")
    assert tessera.StructType.parse(one["struct"]) == tessera.Format("int4_b64").struct_type((2, 64))
    assert one["decoder"] and one["leaves"]
    every = {name: json.loads(output("formats", name, "--json")) for name in ("sketch.aqlm_2x8", "sketch.custom")}
    assert every["sketch.aqlm_2x8"]["placeholders"] == ["codebook_data"]
    assert every["sketch.custom"]["decoder"] is None
    assert "no-decoder" in every["sketch.custom"]["no_decoder"]
    assert "zeros stand for data of a model: codebook_data" in output("formats", "sketch.aqlm_2x8", "--shape", "8x8")


def test_formats_of_a_user(own, tmp_path):
    lines = output("formats", "--format-file", own).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["bytes_b2", "bytes_b4"]
    text = output("type", "bytes_b4", "--format-file", own, "--shape", "2x8", "--decoder", "22")
    assert re.search(r'opset_import: \["" *: *22\]', text)
    assert "bytes_b16" in output("formats", "by-16", "--format-file", own, "--shape", "16")
    assert output("type", "bytes_b4", "--format-file", own, "--shape", "2x8").startswith("StructTypeProto {")
    assert "BYTES: 16 bytes" in output("layout", "bytes_b4", "--format-file", own, "--shape", "2x8")
    # Its names go before those of the catalogue.
    shadow = tmp_path / "shadow.txt"
    shadow.write_text(OWN.replace("bytes_b{block}", "int4_b{block}").replace("BY-", "B-"))
    assert "BYTES" in output("type", "int4_b32", "--format-file", shadow, "--shape", "64")
    assert "taken by" in error("formats", "--format-file", own, "--format-file", own)
    own.write_text(OWN.replace("title", "titel"))
    assert f"{own}:4:5: FormatProto has no field 'titel'" in error("formats", "--format-file", own)
    assert "file-open" in error("type", "int4_b32", "--format-file", tmp_path / "none", "--shape", "64")


def test_names_in_place_of_files(tmp_path):
    assert tessera.StructType.parse(output("type", "int8_channel", "--shape", "3x5")) == tessera.Format(
        "int8_channel"
    ).struct_type((3, 5))
    assert output("type", "INT8_channel", "--profile") == str(tessera.Format("int8_channel").profile())
    assert json.loads(output("type", "int4_b32", "--shape", "2x64", "--json"))["bits_per_weight"] == 4.5
    assert "=> (Y) <float[2,64] Y>" in output("type", "int4_b32", "--shape", "2x64", "--decoder", "21")
    assert 'name: "W"' in output("type", "int4_b32", "--shape", "2x64", "--name", "W")
    assert "none is given (--shape 4096x4096)" in error("type", "int4_b32")
    assert "(nearest: 96 or 128) [format-shape]" in error("type", "int4_b32", "--shape", "2x100")
    assert "no format goes by that name (did you mean 'int4_b32'?)" in error("type", "int4_b3_", cwd=tmp_path)
    assert "--set NAME=@file.npy" in error("type", "sketch.aqlm_2x8", "--shape", "8x8")
    np.save(tmp_path / "book.npy", np.zeros(4096, np.float32))
    text = output("type", "sketch.aqlm_2x8", "--shape", "8x8", "--set", f"codebook_data=@{tmp_path}/book.npy")
    assert "AQLM_2X8" in text
    # A file of the same name.
    (tmp_path / "int4_b32").write_text(str(tessera.Format("int8_tensor").profile()))
    result = run("type", "int4_b32", "--shape", "2x64", cwd=tmp_path)
    assert result.returncode == 0 and "INT4_B32_TILE_32" in result.stdout
    assert result.stderr == "note: int4_b32 is the format of that name; ./int4_b32 is the file\n"
    assert "INT8" in output("type", "./int4_b32", "--shape", "2x64", cwd=tmp_path)
    # A format's own text.
    (tmp_path / "f.txt").write_text(
        OWN.replace("bytes_b{block}", "f")
        .replace("BY-{block}", "BY")
        .replace("{block}", "2")
        .replace("blocks: [2, 4]", "block: 2")
    )
    assert "BYTES: 4 bytes" in output("layout", tmp_path / "f.txt", "--shape", "2x2")


def test_decode_and_encode(own, tmp_path):
    values = np.arange(16, dtype=np.float32).reshape(2, 8)
    values.tofile(tmp_path / "in.f32")
    common = ["--format-file", own, "--shape", "2x8"]
    assert output("encode", "bytes_b4", *common, tmp_path / "in.f32", tmp_path / "w.bin") == ""
    assert (tmp_path / "w.bin").read_bytes() == bytes(range(16))
    assert output("decode", "BYTES_B4", *common, tmp_path / "w.bin", tmp_path / "out.f32") == ""
    assert (tmp_path / "out.f32").read_bytes() == values.tobytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bytes.txt", "in.f32", "out.f32", "w.bin"]

    payload = np.zeros(2 * 18, np.uint8)
    payload.reshape(2, 18)[:, :3] = 0x00, 0x3C, 0xF1
    payload.tofile(tmp_path / "q.bin")
    output("decode", "int4_b32", "--shape", "1x64", tmp_path / "q.bin", tmp_path / "q.f32")
    decoded = np.fromfile(tmp_path / "q.f32", np.float32)
    assert decoded.tolist() == ([1.0, -1.0] + [0.0] * 30) * 2


def test_what_decode_and_encode_refuse(own, tmp_path):
    common = ["--format-file", own, "--shape", "2x8"]
    (tmp_path / "w.bin").write_bytes(bytes(15))
    out = tmp_path / "out"
    line = error("decode", "bytes_b4", *common, tmp_path / "w.bin", out)
    assert "w.bin: bytes_b4: the payload has 15 bytes, and 2x8 takes 16 (16 bytes, or another shape)" in line
    np.zeros(15, np.float32).tofile(tmp_path / "in.f32")
    line = error("encode", "bytes_b4", *common, tmp_path / "in.f32", out)
    assert "in.f32: has 60 bytes, and 16 float32 are 64 (as many float32 as the shape has values) [argument]" in line
    np.zeros(16, np.float32).tofile(tmp_path / "in.f32")
    np.zeros(7, np.float32).tofile(tmp_path / "weights.f32")
    line = error("encode", "bytes_b4", *common, "--weights", tmp_path / "weights.f32", tmp_path / "in.f32", out)
    assert "weights.f32: has 28 bytes, and 8 float32 are 32 (as many float32 as a row has values) [argument]" in line
    assert "[format-name]" in error("decode", "bytes", "--shape", "4", tmp_path / "w.bin", out)
    assert "[format-shape]" in error("decode", "int4_b32", "--shape", "4", tmp_path / "w.bin", out)
    assert "[argument]" in error("decode", "int4_b32", tmp_path / "w.bin", out)
    assert "[argument]" in error("decode", "int4_b32", "--shape", "4y4", tmp_path / "w.bin", out)
    assert "[file-open]" in error("decode", "int4_b32", "--shape", "32", tmp_path / "none", out)
    (tmp_path / "w.bin").write_bytes(bytes(16))
    assert "[file-write]" in error("decode", "bytes_b4", *common, tmp_path / "w.bin", tmp_path / "no/out", code=3)
    assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bytes.txt", "in.f32", "w.bin", "weights.f32"]


def test_a_codec_that_there_is_not(own, tmp_path):
    own.write_text(OWN.replace("blocks:", 'codec: "no_such", blocks:'))
    (tmp_path / "w.bin").write_bytes(bytes(16))
    line = error("decode", "bytes_b4", "--format-file", own, "--shape", "2x8", tmp_path / "w.bin", tmp_path / "out")
    assert "bytes_b4: there is no codec 'no_such' (a codec that there is, or none) [format-value]" in line


APART = """FormatProto {
    name: "apart", title: "INT8 and large values", author: "these tests", sources: ["this file"], shape: [8, 8]
}

QuantizationProto {
    sparse: SparseQuantizationProto {
        base_quant: QuantizationProto {
            linear: LinearUniformProto { storage_type: INT8, bits: 8, axis: -1, scale_float: 1 }
        }
        outlier_data_type: FLOAT, outlier_threshold: 100
    }
}
"""


def test_outliers(tmp_path):
    (tmp_path / "apart.txt").write_text(APART)
    values = np.array([1, 2, 300, -200, 3, 4, 5, 6], "<f4")
    (tmp_path / "in.f32").write_bytes(values.tobytes())
    common = ("apart", "--format-file", "apart.txt", "--shape", "2x4", "--outliers")
    assert "2 values are above the threshold of 100, and the type has room for 1" in error(
        "encode", *common, 1, "in.f32", "out.bin", cwd=tmp_path
    )
    output("encode", *common, 2, "in.f32", "out.bin", cwd=tmp_path)
    output("decode", *common, 2, "out.bin", "back.f32", cwd=tmp_path)
    assert np.array_equal(np.fromfile(tmp_path / "back.f32", "<f4"), values)
    python = tessera.Format.parse(APART, outliers=2)
    assert np.array_equal(python.dequantize(python.quantize(values.reshape(2, 4))), values.reshape(2, 4))
    with pytest.raises(tessera.TesseraError, match="how many outliers"):
        tessera.Format.parse(APART).quantize(values)
