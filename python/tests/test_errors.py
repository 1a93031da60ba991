"""Errors of the library as Python exceptions."""

import os
import pickle

import pytest
import tessera
from tessera import _errors, _tessera

HAS_PERMISSIONS = os.geteuid() != 0


def test_a_missing_file_is_an_os_error(tmp_path):
    for call in (tessera.load, tessera.check, tessera.inspect):
        with pytest.raises(OSError, match="file-open") as raised:
            call(tmp_path / "none.onnx")
        error = raised.value
        assert isinstance(error, tessera.TesseraError)
        assert isinstance(error, tessera.FileAccessError)
        assert error.code == "file-open"
        assert error.filename == error.where == str(tmp_path / "none.onnx")
        assert "No such file" in error.what


def test_a_folder_is_no_model(tmp_path):
    with pytest.raises(OSError, match="file-kind"):
        tessera.load(tmp_path)


def test_a_file_that_cannot_be_written_is_an_os_error(make_model, tmp_path):
    model = tessera.Model.from_bytes(make_model().SerializeToString())
    with pytest.raises(OSError, match="file-write") as raised:
        model.save(tmp_path / "no folder" / "m.onnx")
    assert isinstance(raised.value, tessera.FileAccessError)
    assert raised.value.fix
    with pytest.raises(tessera.TesseraError, match="keep, external or inline"):
        model.save(tmp_path / "m.onnx", data="outside")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"text, no model", b"\x0a\xff", b"\x08\x0a"])
def test_files_that_are_no_models(tmp_path, content):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(tessera.TesseraError) as raised:
        tessera.load(path)
    assert not isinstance(raised.value, OSError)
    assert raised.value.where.startswith(str(path))
    with pytest.raises(tessera.TesseraError):
        tessera.check(path)
    with pytest.raises(tessera.TesseraError):
        tessera.Model.from_bytes(content)


def test_an_error_says_code_place_what_and_fix():
    with pytest.raises(tessera.TesseraError) as raised:
        tessera.parse_types("StructTypeProto { array: array(UINT8, dimension=-1) }", file_name="t.txt")
    error = raised.value
    assert error.where.startswith("t.txt:1:")
    assert error.what
    assert str(error) == str(tessera.Problem(error.code, error.where, error.what, error.fix))
    assert str(error).endswith(f"[{error.code}]")


def test_names_that_are_not_there(make_model):
    model = tessera.Model.from_bytes(make_model().SerializeToString())
    for call in (model.tensor, model.struct):
        with pytest.raises(KeyError) as raised:
            call("nope")
        assert isinstance(raised.value, tessera.NotFoundError)
        assert str(raised.value).endswith("[no-such-value]")  # and not in quotes, as a KeyError's text would be


@pytest.mark.parametrize("code", _tessera._error_codes())
def test_every_code_makes_an_exception(code):
    error = _errors.make(code, "where", "what", "fix")
    assert isinstance(error, tessera.TesseraError)
    assert (error.code, error.where, error.what, error.fix) == (code, "where", "what", "fix")
    assert str(error) == f"where: what (fix) [{code}]"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert isinstance(error, OSError) == code.startswith("file-")


def test_table_of_classes_names_codes_that_exist():
    assert set(_errors._CLASSES) <= set(_tessera._error_codes())


def test_problem():
    problem = tessera.Problem("syntax", "", "what")
    assert str(problem) == "what [syntax]"
    assert repr(problem) == "<Problem what [syntax]>"
    assert problem == tessera.Problem("syntax", "", "what", "")
    assert problem != tessera.Problem("syntax", "", "what", "x")
    assert problem != "what [syntax]"
    with pytest.raises(tessera.TesseraError, match="no error code 'nonsense'"):
        tessera.Problem("nonsense", "", "what")


def test_a_type_that_is_not_in_order_raises_when_it_is_used(tmp_path):
    # ModelProto { graph {} struct_types { name: "T" } }: a declaration without a kind.
    model = tessera.Model.from_bytes(b"\x3a\x00\x82\x4b\x03\x42\x01T")
    (type,) = model.struct_types
    assert type.name == "T"
    assert repr(type) == "<StructType 'T', not in order: root-kind>"
    for use in (lambda: type.size_bytes, lambda: type.leaves, lambda: type.view(b"")):
        with pytest.raises(tessera.TesseraError) as raised:
            use()
        assert (raised.value.code, raised.value.where) == ("root-kind", "struct_types[0]")
    with pytest.raises(tessera.TesseraError) as raised:
        model.add_struct_initializer("v", 0, b"")
    assert raised.value.code == "type-invalid"
    assert [p.code for p in tessera.check(model)] == ["root-kind"]
