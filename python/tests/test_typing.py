"""The package is typed: its stubs and code pass mypy, and so does code that uses every part of it."""

import inspect
import subprocess
import sys
from pathlib import Path

import tessera

USE = """
from pathlib import Path
from typing import Any

import numpy as np
import tessera
from numpy.typing import NDArray
from typing_extensions import assert_type

model = tessera.load("m.onnx", limits=tessera.Limits(depth=3))
assert_type(model, tessera.Model)
assert_type(model.path, Path | None)
assert_type(model.tensors, dict[str, tessera.Tensor])
assert_type(model.tensor("w").numpy(), NDArray[Any])
assert_type(model.tensor("w").shape, tuple[int, ...])
assert_type(model.tensor("w").segments[0].offset, int)
dtype: np.dtype[Any] = model.tensor("w").dtype
assert_type(model.structs["v"]["blocks.scale"].numpy(), NDArray[Any])
assert_type(model.struct("v").type, tessera.StructType)
assert_type(model.struct("v").payload, NDArray[Any])
assert_type(list(model.struct("v")), list[str])
assert_type(model.struct_types, list[tessera.StructType])
types = tessera.parse_types("...", shape=(2, 3), parameters={"n": 1, "book": np.zeros(3)}, file_name="f")
assert_type(types, list[tessera.StructType])
type_ = tessera.StructType.parse("...", shape=[2])
assert_type(type_.leaves[0].constant, NDArray[Any] | None)
assert_type(type_.view(bytes(3))["x"].leaf, tessera.Leaf)
assert_type(type_.index, int | None)
array: NDArray[Any] = np.asarray(type_.view(np.zeros(3))["x"])
assert_type(model.add_struct_type(type_), int)
assert_type(model.add_struct_initializer("v", type_, b""), tessera.StructValue)
model.add_struct_initializer("v", "NAME", np.zeros(3))
model.add_struct_initializer("v", 3, bytearray())
assert_type(model.save(Path("n.onnx"), data="external"), tessera.SaveReport)
assert_type(model.serialize(), bytes)
assert_type(tessera.check("m.onnx", values={"x": Path("x.pb")}), list[tessera.Problem])
assert_type(tessera.check(model, data_files=False), list[tessera.Problem])
assert_type(tessera.inspect("m.onnx"), dict[str, Any])
profile = tessera.Profile.parse("...", shape=(2, 3), parameters={"codebook_data": np.zeros(3)}, file_name="f")
assert_type(profile, tessera.Profile)
assert_type(tessera.parse_profiles("...", limits=tessera.Limits()), list[tessera.Profile])
assert_type(profile.family, str)
assert_type(profile.data_type, str)
assert_type(profile.metadata, dict[str, str])
assert_type(profile.validate(), list[tessera.Problem])
assert_type(profile.resolved(), tessera.Profile)
assert_type(profile.struct_type((2, 3), name="W", outliers=3), tessera.StructType)
assert_type(profile.struct_type((2, 3), encoder_opset=13).encoder, str | None)
assert_type(tessera.Profile.from_struct_type(type_, [2, 3]), tessera.Profile)
assert_type(type_.profile(), tessera.Profile)
assert_type(profile == type_.profile(shape=(2, 3)), bool)
format_ = tessera.Format("int4_b32", parameters={"book": np.zeros(3)})
assert_type(tessera.formats(), list[str])
assert_type(tessera.Format.parse("...", file_name="f").with_block(3), tessera.Format)
assert_type(format_.aliases, list[str])
assert_type(format_.data, dict[str, int])
assert_type(format_.shape, tuple[int, ...])
assert_type(format_.bits_per_weight(), float | None)
assert_type(format_.struct_type((2, 3), name="W"), tessera.StructType)
assert_type(format_.profile(), tessera.Profile | None)
assert_type(format_.decoder([2, 3], opset=13), str)
assert_type(format_.struct_type((2, 3), decoder_opset=21, encoder_opset=21).encoder, str | None)
assert_type(format_.encoder([2, 3], opset=13), str)
assert_type(format_.quantize([[1.0]], weights=np.zeros(3)), tessera.StructView)
assert_type(format_.dequantize(model.struct("v")), NDArray[Any])
assert_type(format_.dequantize(type_.view(b"")), NDArray[Any])
assert_type(format_.decode(b"", (2, 3)), NDArray[Any])
try:
    pass
except tessera.FileAccessError as e:
    assert_type(e.code, str)
"""
WRONG = [
    "tessera.load(3)",
    "tessera.load('m.onnx').save('n.onnx', data='elsewhere')",
    "tessera.load('m.onnx').nothing",
    "tessera.StructType.parse('', shape='text').size_bytes + ''",
    "tessera.parse_types(b'')",
    "tessera.Profile.parse('').struct_type()",
    "tessera.Profile.parse('').struct_type((2, 3), 'W')",
    "tessera.Profile.parse('').validate() + 1",
    "tessera.Format(3)",
    "tessera.Format('nf4').decode(b'')",
    "tessera.Format('nf4').dequantize(b'')",
]
STRICT = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context"]


def mypy(tmp_path: Path, *arguments: str) -> str:
    command = [*STRICT, "--cache-dir", str(tmp_path / "cache"), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert result.returncode < 2, result.stderr
    return result.stdout


def test_mypy(tmp_path):
    (tmp_path / "use.py").write_text(USE)
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import tessera\n" + "\n".join(WRONG) + "\n")
    assert mypy(tmp_path, "-p", "tessera") == ""
    output = mypy(tmp_path, "use.py", "wrong.py").splitlines()
    assert [line for line in output if not line.startswith("wrong.py")] == []
    lines = {int(line.split(":")[1]) for line in output if ": error:" in line}
    assert lines == set(range(2, 2 + len(WRONG))), output


def test_everything_public_has_a_docstring():
    for name in tessera.__all__:
        item = getattr(tessera, name)
        if isinstance(item, str):
            continue
        assert inspect.getdoc(item), name
        if inspect.isclass(item) and item.__module__ == "tessera._tessera":
            for member, value in vars(item).items():
                if not member.startswith("_"):
                    assert inspect.getdoc(value), f"{name}.{member}"


def test_the_stub_names_everything_public():
    folder = Path(tessera.__file__).parent
    assert (folder / "py.typed").exists()
    stub = (folder / "_tessera.pyi").read_text()
    for name in tessera.__all__:
        item = getattr(tessera, name)
        if getattr(item, "__module__", "") == "tessera._tessera":
            assert f"class {name}:" in stub or f"def {name}(" in stub, name
