"""Fixtures for all tests of the package."""

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[2]

BLOCKS = """ModelProto {
    struct_types: [
        StructTypeProto {
            name: "BLOCK"
            structure: Structure {
                field: { name: "scale", type: FLOAT16 }
                field: { name: "codes", type: array(INT4, dimension=32) }
                field: { name: "high", type: bit_packing(dimension=8, components=[sign:1, rest:3]) }
                field: { name: "block_size", constant: tensor(INT64, [], 32) }
                field: { name: "levels", constant: tensor(FLOAT4E2M1, [3], [0.5, -6, 2]) }
            }
        },
        StructTypeProto {
            name: "ROWS"
            structure: Structure {
                field: { name: "blocks", type: array(struct(type_index=0), dimensions=[rows, cols/32]) }
                field: { name: "bias", type: array(FLOAT, dimension=rows) }
            }
        }
    ]
}
"""
BLOCK_BYTES = 2 + 16 + 4


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture
def blocks_text() -> str:
    """A type ROWS of blocks of 22 bytes and a bias a row; takes a shape."""
    return BLOCKS


@pytest.fixture
def make_model() -> Callable[..., onnx.ModelProto]:
    """Makes a small stock model: y = x + w, with these initializers besides."""

    def make(*initializers: TensorProto) -> onnx.ModelProto:
        w = helper.make_tensor("w", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
        graph = helper.make_graph(
            [helper.make_node("Add", ["x", "w"], ["y"])],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
            [w, *initializers],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)

    return make
