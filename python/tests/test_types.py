"""Struct types as objects: parsing, printing, sizes, leaves, equality."""

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tessera


def test_facts_of_a_type(blocks_text):
    block, rows = tessera.parse_types(blocks_text, shape=(2, 64))
    assert (block.name, block.index, block.size_bytes, block.size_bits) == ("BLOCK", 0, 22, 176)
    assert (rows.name, rows.index, rows.size_bytes) == ("ROWS", 1, 2 * 2 * 22 + 2 * 4)
    assert repr(rows) == "<StructType 'ROWS', 96 bytes, 7 leaves>"
    assert rows.decoder is None


def test_leaves(blocks_text):
    (_, rows) = tessera.parse_types(blocks_text, shape=(2, 64))
    leaves = {leaf.path: leaf for leaf in rows.leaves}
    assert list(leaves) == [
        "blocks.scale",
        "blocks.codes",
        "blocks.high.sign",
        "blocks.high.rest",
        "blocks.block_size",
        "blocks.levels",
        "bias",
    ]
    codes = leaves["blocks.codes"]
    assert codes.input_name == "blocks_codes"
    assert (codes.element_type, codes.bits, codes.bit_offset) == ("INT4", 4, 16)
    assert codes.dtype == ml_dtypes.int4
    assert codes.shape == (2, 2, 32)
    assert codes.bit_strides == (2 * 176, 176, 4)
    assert codes.constant is None
    sign = leaves["blocks.high.sign"]
    assert (sign.element_type, sign.bits, sign.bit_offset) == ("UINT8", 1, 16 + 128 + 3)
    size = leaves["blocks.block_size"].constant
    assert size is not None
    assert (size.shape, size.dtype, int(size)) == ((), np.int64, 32)
    levels = leaves["blocks.levels"].constant
    assert levels is not None
    assert levels.dtype == ml_dtypes.float4_e2m1fn
    assert levels.astype(np.float32).tolist() == [0.5, -6.0, 2.0]
    assert repr(codes) == "<Leaf 'blocks.codes' INT4[2, 2, 32] at bit 16>"


def test_str_is_the_notation_with_what_the_type_refers_to(blocks_text):
    for type in tessera.parse_types(blocks_text, shape=(2, 64)):
        assert tessera.StructType.parse(str(type)) == type
    assert str(type).index('"BLOCK"') < str(type).index('"ROWS"')
    # A type alone prints alone.
    assert str(tessera.parse_types(blocks_text, shape=(2, 64))[0]).startswith("StructTypeProto {")


def test_examples_of_the_founding_document(root):
    folder = Path(os.environ.get("TESSERA_SHARED", root.parent / "shared")) / "spec/examples"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder} (set TESSERA_SHARED)")
    files = sorted(folder.glob("*.struct.txt"))
    assert len(files) == 37
    for path in files:
        try:
            types = tessera.parse_types(path.read_text(), shape=(256, 1024), file_name=path.name)
        except tessera.TesseraError as e:
            assert e.code == "unbound-parameter", str(e)
            assert e.where == path.name
            continue
        for type in types:
            assert tessera.StructType.parse(str(type)) == type


def test_equality_is_by_meaning():
    text = """ModelProto { struct_types: [
        StructTypeProto { name: "A" array: array(UINT8, dimension=4) },
        StructTypeProto { name: "B" structure: Structure { field: { name: "a", type: struct(type_index=0) } } }
    ] }"""
    swapped = """ModelProto { struct_types: [
        StructTypeProto { name: "B" structure: Structure { field: { name: "a", type: struct(type_index=2) } } },
        StructTypeProto { name: "X" array: array(UINT8, dimension=1) },
        StructTypeProto { name: "A" array: array(UINT8, dimension=4) }
    ] }"""
    b = tessera.parse_types(text)[1]
    assert b == tessera.parse_types(swapped)[0]
    assert hash(b) == hash(tessera.parse_types(swapped)[0])
    assert b != tessera.parse_types(text.replace("dimension=4", "dimension=5"))[1]  # what it refers to differs
    assert b != tessera.parse_types(text)[0]
    assert b != "B"
    assert len({b, tessera.parse_types(swapped)[0]}) == 1


def test_parse_wants_one_root(blocks_text):
    assert tessera.StructType.parse(blocks_text, shape=(2, 64)).name == "ROWS"
    two = """ModelProto { struct_types: [
        StructTypeProto { name: "A" array: array(UINT8, dimension=4) },
        StructTypeProto { name: "B" array: array(UINT8, dimension=4) } ] }"""
    with pytest.raises(tessera.TesseraError, match="2 types that no other refers to: A, B"):
        tessera.StructType.parse(two)
    with pytest.raises(tessera.TesseraError, match="declares no type"):
        tessera.StructType.parse("ModelProto { struct_types: [] }")
    assert tessera.parse_types("ModelProto { struct_types: [] }") == []


def test_docs_and_metadata():
    type = tessera.StructType.parse(
        'StructTypeProto { name: "A" doc_string: "says what" array: array(UINT8, dimension=4) '
        'metadata_props: [{ key: "k", value: "v" }] }'
    )
    assert (type.doc_string, type.metadata) == ("says what", {"k": "v"})
    plain = tessera.StructType.parse("StructTypeProto { array: array(UINT8, dimension=4) }")
    assert (plain.name, plain.doc_string, plain.metadata, plain.index) == ("", "", {}, None)
    assert "without a name" in repr(plain)


PARAMETERS = """StructTypeProto { name: "P" structure: Structure {
    field: { name: "data", type: array(UINT8, dimension=count) }
    field: { name: "scale", constant: tensor(FLOAT, [], s) }
    field: { name: "book", constant: tensor(INT4, [2, 3], book) }
} }"""
BOOK = np.array([[0, 1, -2], [7, -8, 3]], np.int8).astype(ml_dtypes.int4)


def constants(type: tessera.StructType) -> dict:
    return {leaf.path: leaf.constant for leaf in type.leaves if leaf.constant is not None}


def test_parameters():
    type = tessera.StructType.parse(PARAMETERS, parameters={"count": 5, "s": 0.1, "book": BOOK})
    assert type.size_bytes == 5
    got = constants(type)
    assert got["scale"] == np.float32(0.1)
    assert np.array_equal(got["book"].astype(np.int8), BOOK.astype(np.int8))
    # NumPy's numbers, and arrays that are not contiguous or have the other byte order.
    strange = np.asfortranarray(BOOK)
    type = tessera.StructType.parse(
        PARAMETERS, parameters={"count": np.int32(5), "s": np.array(0.1, ">f4"), "book": strange}
    )
    assert constants(type)["scale"] == np.float32(0.1)
    assert np.array_equal(constants(type)["book"].astype(np.int8), BOOK.astype(np.int8))


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"count": 5, "s": 0.1}, "unbound-parameter"),
        ({"count": 5, "s": 0.1, "book": BOOK[:1]}, "parameter-data"),
        ({"count": 5, "s": 0.1, "book": BOOK.astype(np.float32)}, "parameter-data"),
        ({"count": 5, "s": 0.1, "book": np.array(["text"])}, "parameter-data"),
        ({"count": 2**70, "s": 0.1, "book": BOOK}, "argument"),
    ],
)
def test_wrong_parameters(parameters, code):
    with pytest.raises(tessera.TesseraError) as raised:
        tessera.StructType.parse(PARAMETERS, parameters=parameters)
    assert raised.value.code == code


def test_all_unbound_names_are_listed():
    with pytest.raises(tessera.TesseraError) as raised:
        tessera.StructType.parse(PARAMETERS, file_name="p.txt")
    assert raised.value.where == "p.txt"
    assert all(name in raised.value.what for name in ("count", "book"))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("StructTypeProto { array: array(UINT8, dimension=3) ", "syntax"),
        ("StructTypeProto { array: array(STRING, dimension=3) }", "leaf-type"),
        ("StructTypeProto { array: array(UINT4, dimension=3) }", "size-bits"),
        ("StructTypeProto { array: array(UINT8, dimension=3/2) }", "expression"),
        ('ModelProto { struct_types: [StructTypeProto { name: "A" array: array(struct(type_index=3), dimension=2) }] }',
         "type-index"),
        ('ModelProto { struct_types: [StructTypeProto { name: "A" array: array(struct(type_index=0), dimension=2) }] }',
         "reference-cycle"),
        ("ModelProto { struct_types: [StructTypeProto { array: array(UINT8, dimension=2) }, StructTypeProto "
         '{ name: "A" array: array(struct(type_index=0), dimension=2) }] }', "type-name"),
    ],
)  # fmt: skip
def test_texts_that_are_not_in_order(text, code):
    with pytest.raises(tessera.TesseraError) as raised:
        tessera.parse_types(text)
    assert raised.value.code == code


def test_a_part_may_end_inside_a_byte():
    nibble, pair = tessera.parse_types("""ModelProto { struct_types: [
        StructTypeProto { name: "N" structure: Structure { field: { name: "x", type: UINT4 } } },
        StructTypeProto { name: "P" array: array(struct(type_index=0), dimension=2) } ] }""")
    assert nibble.size_bits == 4
    with pytest.raises(tessera.TesseraError, match="size-bits"):
        _ = nibble.size_bytes
    assert pair.size_bytes == 1
