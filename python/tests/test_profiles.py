"""Quantization profiles: text, validation, struct types and back. What a translation holds is tested in C++."""

import os
from pathlib import Path

import numpy as np
import onnx
import pytest

import tessera

INT8 = """QuantizationProto {
    data_type: FLOAT16,
    doc_string: "one scale",
    metadata_props: [{ key: "origin", value: "a test" }],
    linear: LinearUniformProto { storage_type: INT8, bits: 8, symmetric: true, scale_float: 0.02, axis: -1 }
}
"""
TILES = """QuantizationProto {
    tiling: TilingQuantizationProto {
        tile_shape: [32],
        elem_quant: [QuantizationProto {
            linear: LinearUniformProto { storage_type: UINT4, bits: 4, scale: stored(FLOAT16, per=tile, at=before),
                                         zero_point: stored(UINT8, per=tile, at=after), axis: -1 }
        }]
    }
}
"""
CODEBOOK = """QuantizationProto {
    codebook: CodebookProto { codebook_data: [...], vector_size: v, index_bits: 8 }
}
"""
SPARSE = """QuantizationProto {
    sparse: SparseQuantizationProto {
        base_quant: QuantizationProto { log: LogUniformProto { bits: 4, base: 2.0, offset: -8.0, has_sign: true } },
        outlier_data_type: FLOAT16,
        outlier_ratio: 0.25
    }
}
"""
BOOK = np.linspace(-1, 1, 512, dtype=np.float32)


def test_text():
    profile = tessera.Profile.parse(INT8)
    assert (profile.family, profile.data_type) == ("linear", "FLOAT16")
    assert (profile.doc_string, profile.metadata) == ("one scale", {"origin": "a test"})
    assert repr(profile) == "<Profile linear>"
    assert tessera.Profile.parse(str(profile)) == profile
    plain = tessera.Profile.parse(TILES)
    assert (plain.family, plain.data_type, plain.doc_string, plain.metadata) == ("tiling", "FLOAT", "", {})


def test_equality():
    a = tessera.Profile.parse(INT8)
    b = tessera.Profile.parse(INT8)
    assert a == b
    assert hash(a) == hash(b)
    assert len({a, b}) == 1
    assert a != tessera.Profile.parse(INT8.replace("0.02", "0.03"))
    assert a != tessera.Profile.parse(TILES)
    assert a != str(a)


def test_one_or_several():
    profiles = tessera.parse_profiles(INT8 + TILES)
    assert [profile.family for profile in profiles] == ["linear", "tiling"]
    with pytest.raises(tessera.TesseraError, match="the text has 2 profiles") as raised:
        tessera.Profile.parse(INT8 + TILES, file_name="p.txt")
    assert (raised.value.code, raised.value.where) == ("argument", "p.txt")


def test_parameters():
    with pytest.raises(tessera.TesseraError) as raised:
        tessera.Profile.parse(CODEBOOK, file_name="p.txt")
    assert (raised.value.code, raised.value.where) == ("unbound-parameter", "p.txt")
    assert "v (" in raised.value.what

    # Data may stay open. Such a profile is in order, but no type yet.
    still_open = tessera.Profile.parse(CODEBOOK, parameters={"v": 2})
    assert "[...]" in str(still_open)
    assert still_open.validate() == []
    assert still_open == tessera.Profile.parse(str(still_open))
    with pytest.raises(tessera.TesseraError, match="codebook_data") as raised:
        still_open.struct_type((4, 4))
    assert raised.value.code == "unbound-parameter"

    bound = tessera.Profile.parse(CODEBOOK, parameters={"v": 2, "codebook_data": BOOK})
    (book,) = [leaf.constant for leaf in bound.struct_type((4, 4)).leaves if leaf.path == "codebook"]
    assert np.array_equal(book, BOOK.reshape(256, 2))
    # Doubles are rounded, integers taken as they are.
    for data in (BOOK.astype(np.float64), BOOK.astype(np.float16).astype(np.float64)):
        other = tessera.Profile.parse(CODEBOOK, parameters={"v": 2, "codebook_data": data})
        (book,) = [leaf.constant for leaf in other.struct_type((4, 4)).leaves if leaf.path == "codebook"]
        assert np.array_equal(book.reshape(-1), data.astype(np.float32))
    with pytest.raises(tessera.TesseraError) as raised:
        tessera.Profile.parse(CODEBOOK, parameters={"v": 2, "codebook_data": np.array(["text"])})
    assert raised.value.code == "parameter-data"

    text = INT8.replace("bits: 8", "bits: cols/4")
    assert tessera.Profile.parse(text, shape=(5, 32)) == tessera.Profile.parse(INT8)


def test_resolved():
    profile = tessera.Profile.parse(CODEBOOK, parameters={"v": 2, "codebook_data": BOOK})
    resolved = profile.resolved()
    assert resolved != profile
    assert "codebook_size: 256" in str(resolved)
    assert resolved.resolved() == resolved
    assert resolved.struct_type((4, 4), name="B") == profile.struct_type((4, 4), name="B")


def test_validate_lists_everything():
    text = TILES.replace("bits: 4", "bits: 13").replace("[32]", "[32, 32]")
    profile = tessera.Profile.parse(text)
    problems = profile.validate()
    assert [(problem.where, problem.code) for problem in problems] == [
        ("tiling.tile_shape", "profile-conflict"),
        ("tiling.elem_quant[0].linear.bits", "profile-value"),
    ]
    assert all(problem.what and problem.fix for problem in problems)
    assert repr(profile) == "<Profile tiling, not in order: profile-conflict>"
    with pytest.raises(tessera.TesseraError) as raised:
        profile.struct_type((32, 32))
    assert raised.value.code == "profile-conflict"
    assert tessera.Profile.parse(TILES).validate() == []
    with pytest.warns(RuntimeWarning, match="1 more problem"):
        assert len(profile.validate(limits=tessera.Limits(problems=1))) == 1
    (problem,) = tessera.Profile.parse(TILES).validate(limits=tessera.Limits(depth=1))
    assert problem.code == "limit-depth"
    (problem,) = tessera.Profile.parse("QuantizationProto { }").validate()
    assert problem.code == "profile-kind"


def test_a_profile_without_a_family():
    profile = tessera.Profile.parse("QuantizationProto { data_type: FLOAT }")
    assert (profile.family, profile.data_type) == ("", "FLOAT")
    assert repr(profile) == "<Profile without a family, not in order: profile-kind>"
    assert tessera.Profile.parse(str(profile)) == profile


def test_struct_type():
    profile = tessera.Profile.parse(TILES)
    type = profile.struct_type((64, 128), name="W")
    assert type.name == "W"
    assert type.size_bytes == 64 * 128 // 32 * (2 + 16 + 1)
    assert type.metadata["tessera.shape"] == "64x128"
    assert [(leaf.path, leaf.element_type, leaf.shape) for leaf in type.leaves if leaf.constant is None] == [
        ("tiles.scale", "FLOAT16", (256, 1)),
        ("tiles.values", "UINT4", (256, 32)),
        ("tiles.zero_point", "UINT8", (256, 1)),
    ]
    assert profile.struct_type([64, 128]).name  # chosen by rule
    assert type == profile.struct_type([64, 128], name="W")
    assert type != profile.struct_type([128, 64], name="W")
    for shape, code in (((3, 5), "profile-shape"), ((2**62, 2**62), "profile-shape"), ((-1,), "profile-shape")):
        with pytest.raises(tessera.TesseraError) as raised:
            profile.struct_type(shape)
        assert raised.value.code == code
        assert raised.value.fix
    with pytest.raises(tessera.TesseraError) as raised:
        profile.struct_type((64, 128), limits=tessera.Limits(fields=5))
    assert raised.value.code == "limit-fields"


def test_outliers():
    profile = tessera.Profile.parse(SPARSE)
    by_ratio = profile.struct_type((8, 8))
    assert by_ratio.size_bytes == 32 + 8 + 16 * (8 + 2)
    three = profile.struct_type((8, 8), outliers=3)
    assert three.size_bytes == 32 + 8 + 3 * (8 + 2)
    assert three.profile() == by_ratio.profile() == profile.resolved()
    with pytest.raises(tessera.TesseraError) as raised:
        profile.struct_type((8, 8), outliers=65)
    assert raised.value.code == "profile-shape"
    with pytest.raises(TypeError):
        profile.struct_type((8, 8), outliers=-1)


@pytest.mark.parametrize("text", [INT8, TILES, SPARSE])
def test_struct_types_give_their_profile_back(text):
    profile = tessera.Profile.parse(text)
    type = profile.struct_type((32, 64))
    assert type.profile() == profile
    assert tessera.Profile.from_struct_type(type) == profile
    assert type.profile(shape=(32, 64)) == profile
    assert tessera.StructType.parse(str(type)).profile() == profile  # through text


def test_struct_types_that_are_no_profile():
    type = tessera.StructType.parse(
        'StructTypeProto { name: "A" structure: Structure { field: { name: "x", type: FLOAT } '
        'field: { name: "y", type: FLOAT } } }'
    )
    with pytest.raises(tessera.TesseraError) as raised:
        type.profile()
    assert raised.value.code == "not-a-profile"
    with pytest.raises(tessera.TesseraError):
        tessera.Profile.parse(INT8).struct_type((32, 64)).profile(shape=(32, 65))


def test_a_profile_in_a_model(tmp_path, make_model):
    path = tmp_path / "m.onnx"
    onnx.save(make_model(), path)
    profile = tessera.Profile.parse(TILES)
    type = profile.struct_type((2, 32), name="W")
    model = tessera.load(path)
    model.add_struct_initializer("w.q4", type, bytes(range(type.size_bytes)))
    model.save(path)
    assert tessera.check(path) == []
    value = tessera.load(path).structs["w.q4"]
    assert value.type == type
    assert value.type.profile() == profile
    assert value["tiles.scale"].numpy().shape == (2, 1)
    values = {entry["name"]: entry for entry in tessera.inspect(path)["values"]}
    assert values["w.q4"]["shape"] == [2, 32]
    assert values["w.q4"]["bits_per_weight"] == 19 * 8 / 32


def test_errors_have_a_place():
    with pytest.raises(tessera.TesseraError) as raised:
        tessera.Profile.parse("QuantizationProto {\n  linear: 3\n}", file_name="p.txt")
    assert raised.value.code == "syntax"
    assert raised.value.where.startswith("p.txt:2:")
    with pytest.raises(tessera.TesseraError) as raised:
        tessera.Profile.parse("StructTypeProto { }")
    assert raised.value.code == "syntax"


def test_profiles_of_the_founding_document(root):
    folder = Path(os.environ.get("TESSERA_SHARED", root.parent / "shared")) / "spec/examples"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder} (set TESSERA_SHARED)")
    files = sorted(folder.glob("*.profile.txt"))
    assert len(files) == 38
    wrong = {}
    for path in files:
        for profile in tessera.parse_profiles(path.read_text(), file_name=path.name):
            assert tessera.Profile.parse(str(profile)) == profile
            if problems := profile.validate():
                wrong[path.name] = [(problem.where, problem.code) for problem in problems]
    # A scale of 0 stands there for one that is stored.
    assert wrong == {"24_matmulnbits_int4.profile.txt": [("tiling.elem_quant[0].linear.scale", "profile-value")]}
