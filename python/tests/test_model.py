"""Models: tensors as arrays, additions, saving, checking, inspecting."""

import gc
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnx.numpy_helper
import pytest
import tessera
from onnx import TensorProto, helper

MODELS = sorted(Path(onnx.__file__).parent.rglob("*.onnx"))


def load(stock: onnx.ModelProto) -> tessera.Model:
    return tessera.Model.from_bytes(stock.SerializeToString())


def mapped_range(path: Path) -> list[tuple[int, int]]:
    """Where this process has a file mapped."""
    ranges = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(str(path)):
            begin, end = (int(x, 16) for x in line.split()[0].split("-"))
            ranges.append((begin, end))
    return ranges


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def lies_in(array: np.ndarray, ranges: list[tuple[int, int]]) -> bool:
    return any(begin <= address(array) and address(array) + array.nbytes <= end for begin, end in ranges)


# ---- tensors


def test_tensor_facts(make_model):
    tensor = load(make_model()).tensors["w"]
    assert (tensor.name, tensor.path) == ("w", "graph.initializer[0]")
    assert (tensor.element_type, tensor.shape, tensor.size_bytes) == ("FLOAT", (3,), 12)
    assert tensor.dtype == np.float32
    assert tensor.doc_string == ""
    assert "'w'" in repr(tensor)
    assert not tensor.is_view  # float_data, in the message
    array = tensor.numpy()
    assert array.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 5


def sample(name: str) -> np.ndarray:
    """A few elements of an ONNX type, none alike, as onnx wants them."""
    dtype = helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name))
    if dtype == bool:
        return np.array([[True, False, True, True, False]])
    if np.dtype(dtype).kind == "c":
        return np.array([[1 + 2j, -3.5j, 4, 0, 7 - 1j]], dtype)
    if name.startswith("UINT2") or name == "UINT2":
        return np.array([[0, 1, 2, 3, 1]], np.uint8).astype(dtype)
    if name == "INT2":
        return np.array([[0, 1, -2, -1, 1]], np.int8).astype(dtype)
    if name.startswith("UINT"):
        return np.array([[0, 1, 2, 13, 15]], np.uint8).astype(dtype)
    if name.startswith("INT"):
        return np.array([[0, 1, -2, -8, 7]], np.int8).astype(dtype)
    if name == "FLOAT8E8M0":
        return np.array([[1, 2, 0.5, 4, 16]], np.float32).astype(dtype)
    return np.array([[0.5, -1, 2, -4, 1.5]], np.float32).astype(dtype)


FIXED = [n for n in TensorProto.DataType.keys() if n not in ("UNDEFINED", "STRING")]


@pytest.mark.parametrize("name", FIXED)
def test_every_element_type_in_raw_data(make_model, name):
    array = sample(name)
    tensor = load(make_model(onnx.numpy_helper.from_array(array, "t"))).tensor("t")
    got = tensor.numpy()
    assert tensor.element_type == name
    assert got.dtype == array.dtype == tensor.dtype
    assert got.shape == array.shape
    assert got.tobytes() == array.tobytes()
    assert not got.flags.writeable
    packed = array.dtype.itemsize == 1 and tensor.size_bytes != array.size
    assert tensor.is_view == (not packed)
    assert np.asarray(tensor).tobytes() == array.tobytes()


# onnx.helper puts these into the typed fields as onnx.proto says.
@pytest.mark.parametrize("name", FIXED)
def test_every_element_type_in_typed_data(make_model, name):
    array = sample(name)
    number = getattr(TensorProto, name)
    stock = helper.make_tensor("t", number, array.shape, array.flatten())
    assert not stock.HasField("raw_data")
    tensor = load(make_model(stock)).tensor("t")
    assert not tensor.is_view
    assert tensor.numpy().dtype == array.dtype
    assert tensor.numpy().tobytes() == array.tobytes()


def test_strings_are_bytes(make_model):
    tensor = load(make_model(helper.make_tensor("s", TensorProto.STRING, [2, 1], [b"a\0b", "ü".encode()]))).tensor("s")
    assert tensor.dtype == object
    array = tensor.numpy()
    assert array.shape == (2, 1)
    assert array[:, 0].tolist() == [b"a\0b", "ü".encode()]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4)])
@pytest.mark.parametrize("name", ["FLOAT", "INT4"])
def test_shapes(make_model, name, shape):
    array = np.ones(shape, helper.tensor_dtype_to_np_dtype(getattr(TensorProto, name)))
    got = load(make_model(onnx.numpy_helper.from_array(array, "t"))).tensor("t").numpy()
    assert got.shape == shape
    assert got.dtype == array.dtype
    assert got.tobytes() == array.tobytes()


def test_shapes_that_numpy_cannot_hold_are_refused(make_model):
    tensor = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[1] * 64, raw_data=bytes(4))
    with pytest.raises(tessera.TesseraError, match=r"64 dimensions.*\[unsupported\]"):
        load(make_model(tensor)).tensor("t").numpy()
    tensor = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[0, 2**62], raw_data=b"")
    with pytest.raises(tessera.TesseraError, match="unsupported"):
        load(make_model(tensor)).tensor("t").numpy()


@pytest.mark.parametrize("inline", [True, False], ids=["inline", "external"])
def test_large_tensors_are_views_of_the_mapped_file(make_model, tmp_path, inline):
    array = np.arange(50_000, dtype=np.float32)
    path = tmp_path / "m.onnx"
    load(make_model(onnx.numpy_helper.from_array(array, "t"))).save(path, data="inline" if inline else "external")
    file = path if inline else tmp_path / "m.onnx.data"
    model = tessera.load(path)
    first, second = model.tensor("t").numpy(), model.tensor("t").numpy()
    assert model.tensor("t").is_view
    ranges = mapped_range(file)
    assert ranges
    assert lies_in(first, ranges)
    assert np.shares_memory(first, second)
    # The arrays alone keep the mapping.
    del model, second
    gc.collect()
    assert mapped_range(file) == ranges
    assert np.array_equal(first, array)
    del first
    gc.collect()
    assert mapped_range(file) == []


def test_asarray_protocol(make_model):
    tensor = load(make_model(onnx.numpy_helper.from_array(np.arange(4, dtype=np.int32), "t"))).tensor("t")
    assert np.shares_memory(np.asarray(tensor), tensor.numpy())
    assert np.shares_memory(np.asarray(tensor, copy=False), tensor.numpy())
    assert not np.shares_memory(np.array(tensor), tensor.numpy())
    assert np.asarray(tensor, dtype=np.float64).tolist() == [0.0, 1.0, 2.0, 3.0]
    packed = load(make_model(onnx.numpy_helper.from_array(np.zeros(4, ml_dtypes.int4), "t"))).tensor("t")
    assert np.asarray(packed).dtype == ml_dtypes.int4
    with pytest.raises(ValueError, match="copied"):
        np.asarray(packed, copy=False)


def test_names_that_are_missing_or_taken_give_way_to_paths(make_model):
    stock = make_model(
        helper.make_tensor("w", TensorProto.FLOAT, [1], [9.0]), helper.make_tensor("", TensorProto.FLOAT, [1], [8.0])
    )
    inner = helper.make_graph([], "inner", [], [], [helper.make_tensor("deep", TensorProto.FLOAT, [1], [7.0])])
    stock.graph.node.append(helper.make_node("If", ["c"], ["z"], then_branch=inner))
    model = load(stock)
    assert list(model.tensors) == [
        "w", "graph.initializer[1]", "graph.initializer[2]", "deep",
    ]  # fmt: skip
    assert model.tensor("w").numpy().tolist() == [1.0, 2.0, 3.0]
    assert model.tensor("graph.initializer[1]").numpy() == [9.0]
    assert model.tensor("deep").path == "graph.node[1].attribute[0].g.initializer[0]"


def test_attribute_tensors_are_no_initializers(make_model):
    stock = make_model()
    value = helper.make_tensor("value", TensorProto.FLOAT, [1], [1.0])
    stock.graph.node.append(helper.make_node("Constant", [], ["c"], value=value))
    assert list(load(stock).tensors) == ["w"]


def test_names_that_are_not_utf8(make_model):
    name = b"w\xff"
    raw = make_model().SerializeToString().replace(b"\x42\x01w", b"\x42\x02" + name)
    stock = make_model()
    stock.graph.initializer[0].ClearField("name")
    tensor = stock.graph.initializer[0].SerializeToString() + bytes([0x42, len(name)]) + name
    # GraphProto.initializer is field 5; protobuf merges a second graph into the first.
    graph = bytes([0x2A, len(tensor)]) + tensor
    del stock.graph.initializer[:]
    raw = stock.SerializeToString() + bytes([0x3A, len(graph)]) + graph
    model = tessera.Model.from_bytes(raw)
    key = name.decode("utf-8", "surrogateescape")
    assert list(model.tensors) == [key]
    assert model.tensor(key).name == key
    assert name in model.serialize()
    with pytest.raises(KeyError, match=r"x\\xfe"):
        model.tensor("x\udcfe")


# ---- additions


def test_add_struct_initializer_takes_types_in_every_form(make_model, blocks_text):
    model = load(make_model())
    types = tessera.parse_types(blocks_text, shape=(2, 64))
    rows = types[1]
    size = rows.size_bytes
    added = model.add_struct_initializer("a", rows, bytes(size))
    assert (added.name, added.path) == ("a", "graph.struct_initializer[0]")
    assert [t.name for t in model.struct_types] == ["BLOCK", "ROWS"]
    model.add_struct_initializer("b", "ROWS", bytearray(size))
    model.add_struct_initializer("c", 1, memoryview(bytes(size)))
    model.add_struct_initializer("d", model.struct_types[1], np.zeros(size // 4, np.float32))
    model.add_struct_initializer("e", str(rows), np.zeros((size, 2), np.uint8)[:, 0])
    model.add_struct_initializer("f", model.structs["a"].type, np.zeros(size, ml_dtypes.float8_e4m3fn))
    assert len(model.struct_types) == 2  # never twice
    assert list(model.structs) == list("abcdef")
    assert all(value.type == rows for value in model.structs.values())
    assert tessera.check(model) == []


def test_a_type_without_a_name_stands_in_the_value(make_model):
    model = load(make_model())
    model.add_struct_initializer("v", "StructTypeProto { array: array(INT8, dimension=3) }", b"\x01\x02\xff")
    assert model.struct_types == []
    value = model.struct("v")
    assert value.type.index is None
    assert value["values"].numpy().tolist() == [1, 2, -1]
    assert tessera.check(model) == []


def test_add_struct_type(make_model, blocks_text):
    model = load(make_model())
    assert model.add_struct_type('StructTypeProto { name: "X" array: array(UINT8, dimension=3) }') == 0
    (_, rows) = tessera.parse_types(blocks_text, shape=(2, 64))
    assert model.add_struct_type(rows) == 2
    assert model.add_struct_type(rows) == 2
    assert model.add_struct_type("X") == 0
    assert model.add_struct_type(model.struct_types[1]) == 1
    # The reference was renumbered: BLOCK is 1 here.
    assert "type_index=1" in str(tessera.parse_types("ModelProto { struct_types: [] }")) or rows == model.struct_types[2]
    assert [t.index for t in model.struct_types] == [0, 1, 2]
    with pytest.raises(tessera.TesseraError) as raised:
        model.add_struct_type('StructTypeProto { name: "X" array: array(UINT8, dimension=4) }')
    assert raised.value.code == "type-name"


def test_types_pass_from_model_to_model(make_model, blocks_text):
    (_, rows) = tessera.parse_types(blocks_text, shape=(2, 64))
    one, other = load(make_model()), load(make_model())
    one.add_struct_initializer("v", rows, bytes(range(200)) [: rows.size_bytes].ljust(rows.size_bytes, b"\1"))
    other.add_struct_type('StructTypeProto { name: "X" array: array(UINT8, dimension=3) }')
    value = one.struct("v")
    other.add_struct_initializer("v", value.type, value.payload)
    assert other.struct("v").type == value.type
    assert np.array_equal(other.struct("v").payload, value.payload)
    assert tessera.check(other) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("v", "ROWS", b"\0" * 95), "payload-size"),
        (("v", "ROWS", b""), "payload-size"),
        (("", "ROWS", b"\0" * 96), "value-name"),
        (("w", "ROWS", b"\0" * 96), "value-name"),
        (("taken", "ROWS", b"\0" * 96), "value-name"),
        (("v", 7, b"\0" * 96), "type-index"),
        (("v", -1, b"\0" * 96), "type-index"),
        (("v", "NONE", b"\0" * 96), "no-such-value"),
        (("v", "StructTypeProto { array: array(UINT8, dimension=) }", b""), "syntax"),
        (("v", 'StructTypeProto { name: "ROWS" array: array(UINT8, dimension=1) }', b"\0"), "type-name"),
    ],
)
def test_refused_additions_leave_the_model_alone(make_model, blocks_text, arguments, code):
    model = load(make_model())
    (_, rows) = tessera.parse_types(blocks_text, shape=(2, 64))
    assert rows.size_bytes == 96
    model.add_struct_initializer("taken", rows, bytes(96))
    before = model.serialize()
    with pytest.raises(tessera.TesseraError) as raised:
        model.add_struct_initializer(*arguments)
    assert raised.value.code == code
    assert model.serialize() == before
    model.add_struct_initializer("v", "ROWS", bytes(96))  # one edit away


def test_wrong_python_types(make_model):
    model = load(make_model())
    with pytest.raises(TypeError):
        model.add_struct_initializer("v", 1.5, b"")
    with pytest.raises(TypeError):
        model.add_struct_initializer("v", "StructTypeProto { array: array(UINT8, dimension=1) }", "text")
    with pytest.raises(TypeError):
        tessera.load(7)


# ---- save


def test_save_reports(make_model, tmp_path):
    path = tmp_path / "m.onnx"
    model = load(make_model(onnx.numpy_helper.from_array(np.arange(5000, dtype=np.float32), "t")))
    report = model.save(path)
    assert report.model_bytes == path.stat().st_size
    assert (report.data_file, report.data_bytes, report.removed) == ("", 0, [])
    report = model.save(path, data="external")
    assert report.data_file == "m.onnx.data"
    assert report.data_bytes == (tmp_path / "m.onnx.data").stat().st_size
    assert model.save(path, data="external").data_reused
    assert "m.onnx.data" in repr(report)
    assert tessera.load(path).save(path, data="inline").removed == ["m.onnx.data"]
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]
    assert model.save(path, data="external", external_bytes=1 << 20).data_file == ""
    assert model.save(path, model_bytes=10_000).data_file == "m.onnx.data"


def test_struct_values_go_to_the_data_file_and_back(make_model, tmp_path):
    payload = np.random.default_rng(2).integers(0, 256, 5000, dtype=np.uint8)
    model = load(make_model())
    model.add_struct_initializer("v", "StructTypeProto { array: array(UINT8, dimension=5000) }", payload)
    model.save(tmp_path / "m.onnx", data="external")
    value = tessera.load(tmp_path / "m.onnx").struct("v")
    (segment,) = value.segments
    assert (segment.location, segment.length) == ("m.onnx.data", 5000)
    assert lies_in(value["values"].numpy(), mapped_range(tmp_path / "m.onnx.data"))
    assert np.array_equal(value.payload, payload)


def test_save_over_the_file_that_is_mapped(make_model, tmp_path):
    array = np.arange(50_000, dtype=np.float32)
    path = tmp_path / "m.onnx"
    load(make_model(onnx.numpy_helper.from_array(array, "t"))).save(path)
    model = tessera.load(path)
    view = model.tensor("t").numpy()
    model.add_struct_initializer("v", "StructTypeProto { array: array(UINT8, dimension=1) }", b"x")
    model.save(path)
    assert np.array_equal(view, array)
    assert np.array_equal(tessera.load(path).tensor("t").numpy(), array)
    assert list(tessera.load(path).structs) == ["v"]


def test_model_facts(make_model, tmp_path):
    path = tmp_path / "m.onnx"
    model = load(make_model())
    assert model.path is None
    assert "1 tensors" in repr(model)
    model.save(str(path))
    assert tessera.load(str(path)).path == path
    assert tessera.load(path).serialize() == path.read_bytes()
    assert tessera.load(bytes(path)).path == path


# ---- check and inspect


def test_check_lists_every_problem(make_model, tmp_path):
    stock = make_model(
        TensorProto(name="a", data_type=TensorProto.FLOAT, dims=[2], raw_data=bytes(7)),
        TensorProto(name="b", data_type=TensorProto.FLOAT, dims=[-1]),
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(stock.SerializeToString())
    problems = tessera.check(path)
    assert [p.code for p in problems] == ["tensor-size", "tensor-dims"]
    assert "graph.initializer[1]" in problems[0].where
    assert problems[0].fix
    assert str(problems[0]).endswith("[tensor-size]")
    assert problems == tessera.check(tessera.load(path))
    assert len({*problems, *tessera.check(path)}) == 2
    with pytest.warns(RuntimeWarning, match="1 more"):
        assert len(tessera.check(path, limits=tessera.Limits(problems=1))) == 1


def test_check_looks_at_data_files_only_if_asked(make_model, tmp_path):
    path = tmp_path / "m.onnx"
    load(make_model(onnx.numpy_helper.from_array(np.arange(5000, dtype=np.float32), "t"))).save(path, data="external")
    assert tessera.check(path) == []
    (tmp_path / "m.onnx.data").unlink()
    assert [p.code for p in tessera.check(path)] == ["external-missing"]
    assert tessera.check(path, data_files=False) == []
    with pytest.raises(tessera.TesseraError) as raised:
        tessera.load(path).tensor("t").numpy()
    assert raised.value.code == "external-missing"


def test_check_takes_values_in_files(tmp_path):
    stock = helper.make_model(helper.make_graph([], "g", [], []), ir_version=10)
    sequence = stock.graph.input.add(name="s")
    sequence.type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    path, value = tmp_path / "m.onnx", tmp_path / "s.pb"
    path.write_bytes(stock.SerializeToString())
    value.write_bytes(onnx.SequenceProto(name="s", elem_type=onnx.SequenceProto.TENSOR).SerializeToString())
    assert tessera.check(path, values={"s": value}) == []
    with pytest.raises(tessera.TesseraError, match="no input or output"):
        tessera.check(path, values={"t": value})


def test_inspect(make_model, blocks_text, tmp_path):
    model = load(make_model())
    model.add_struct_initializer("v", tessera.parse_types(blocks_text, shape=(2, 64))[1], bytes(96))
    path = tmp_path / "m.onnx"
    model.save(path)
    for about in (tessera.inspect(path), tessera.inspect(str(path)), tessera.inspect(tessera.load(path))):
        assert about["ir_version"] == 10
        assert about["struct_types"] == 2
        rows = {v["name"]: v for v in about["values"]}
        assert rows["w"]["kind"] == "tensor"
        assert rows["w"]["shape"] == [3]
        assert rows["v"]["type"] == "ROWS"
        assert rows["v"]["bytes"] == 96


# ---- limits and threads


def test_limits(make_model):
    assert tessera.Limits().depth == 64
    limits = tessera.Limits(depth=2, payload_bytes=10)
    assert (limits.depth, limits.payload_bytes, limits.fields) == (2, 10, 65_536)
    with pytest.raises(TypeError, match="dept"):
        tessera.Limits(dept=2)
    with pytest.raises(TypeError):
        tessera.Limits(depth=-1)
    model = tessera.Model.from_bytes(make_model().SerializeToString(), limits=limits)
    with pytest.raises(tessera.TesseraError) as raised:
        model.add_struct_initializer("v", "StructTypeProto { array: array(UINT8, dimension=11) }", bytes(11))
    assert raised.value.code == "limit-payload"
    with pytest.raises(tessera.TesseraError, match="wire-depth"):
        tessera.Model.from_bytes(make_model().SerializeToString(), limits=tessera.Limits(message_depth=2))


def test_threads_save_check_and_add_at_once(make_model, tmp_path):
    model = load(make_model(onnx.numpy_helper.from_array(np.arange(100_000, dtype=np.float32), "t")))
    failures: list[BaseException] = []

    def run(work) -> None:
        try:
            for i in range(20):
                work(i)
        except BaseException as e:  # reported by the assertion below
            failures.append(e)

    works = [
        lambda i: model.save(tmp_path / "a.onnx"),
        lambda i: model.save(tmp_path / "b.onnx", data="external"),
        lambda i: tessera.check(model),
        lambda i: model.add_struct_initializer(f"v{i}", f'StructTypeProto {{ name: "T{i}" array: array(UINT8, dimension=4) }}', b"1234"),
        lambda i: [bytes(v.payload) for v in model.structs.values()],
        lambda i: tessera.inspect(model),
    ]
    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert tessera.check(model) == []
    model.save(tmp_path / "a.onnx")
    assert [bytes(v.payload) for v in tessera.load(tmp_path / "a.onnx").structs.values()] == [b"1234"] * 20
