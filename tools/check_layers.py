"""Checks every #include against layers.txt, and that protobuf is seen only where it may be.

    check_layers.py [ROOT]      prints each violation; exit code 1 if there is one

A file of layer A may include "tessera/B/..." if an arrow leads from A to B, directly or over others. Programs (cli,
python, bench, fuzz) may include what they like among the layers; nothing includes them.
"""

import re
import sys
from pathlib import Path

PROTOBUF_LAYERS = {"proto", "onnx", "cache", "jobs"}
PROGRAMS = {"cli": "cli", "python": "python/src", "bench": "bench", "fuzz": "fuzz"}  # layer: its folder
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)


def read_arrows(text: str) -> dict[str, set[str]]:
    """Layer -> what it may include, itself among them. Raises ValueError if a line or the whole makes no sense."""
    direct: dict[str, set[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        layer, colon, targets = line.partition(":")
        if not colon or layer in direct:
            raise ValueError(f"layers.txt:{number}: expected 'LAYER: LAYER...', each layer once")
        unknown = [t for t in targets.split() if t not in direct]
        if unknown:  # an arrow leads to a line above: so there is no cycle
            raise ValueError(f"layers.txt:{number}: {', '.join(unknown)} has no line above this one")
        direct[layer] = set(targets.split())
    closure: dict[str, set[str]] = {}
    for layer, targets in direct.items():
        closure[layer] = {layer}.union(*(closure[t] for t in targets))
    return closure


def files_of_layers(root: Path) -> list[tuple[str, Path]]:
    """Every C++ source with the name of its layer."""
    folders = [(folder.name, folder) for folder in sorted((root / "src/tessera").glob("*")) if folder.is_dir()]
    folders += [(layer, root / folder) for layer, folder in PROGRAMS.items()]
    return [
        (layer, file) for layer, folder in folders for file in sorted(folder.rglob("*")) if file.suffix in (".cc", ".h")
    ]


def check_include(layer: str, include: str, arrows: dict[str, set[str]]) -> str:
    """What is wrong with this include in a file of this layer; "" if nothing."""
    parts = include.split("/")
    if include.endswith(".pb.h") or include.startswith("google/protobuf"):
        if layer not in PROTOBUF_LAYERS:
            return f"{layer} may not see protobuf; only {', '.join(sorted(PROTOBUF_LAYERS))} may"
    elif ".." in parts:
        return "write the path from src/, as tessera/<layer>/<file>"
    elif parts[0] == "tessera" and len(parts) > 2:
        if parts[1] not in arrows:
            return f"{parts[1]} is no layer of layers.txt"
        if parts[1] not in arrows[layer]:
            return f"{layer} may include {', '.join(sorted(arrows[layer]))}, not {parts[1]}"
    elif parts[0] in PROGRAMS and len(parts) > 1 and parts[0] != layer:
        return f"nothing includes {parts[0]}"
    return ""


def violations(root: Path) -> list[str]:
    arrows = read_arrows((root / "layers.txt").read_text())
    found = []
    for layer, file in files_of_layers(root):
        name = file.relative_to(root)
        if layer not in arrows:
            found.append(f"{name}: {layer} is no layer of layers.txt")
            continue
        text = file.read_text()
        for match in INCLUDE.finditer(text):
            wrong = check_include(layer, match[1], arrows)
            if wrong:
                line = text.count("\n", 0, match.start(1)) + 1
                found.append(f'{name}:{line}: "{match[1]}": {wrong}')
    return found


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[1]
    found = violations(root)
    print("\n".join(found) if found else "layers: every #include follows layers.txt")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
