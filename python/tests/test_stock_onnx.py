"""Round trips with stock onnx: what it writes we keep, what we write it keeps."""

from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import onnx.external_data_helper
import onnx.numpy_helper
import pytest
import tessera
from onnx import TensorProto, helper

WHEEL = Path(onnx.__file__).parent
MODELS = sorted(WHEEL.rglob("*.onnx"))
# A field that neither schema has: number 2000, length-delimited.
UNKNOWN = bytes([0x82, 0x7D, 0x03]) + b"abc"


def exact(proto: onnx.ModelProto) -> bytes:
    """Everything in a message, unknown fields included."""
    return proto.SerializeToString(deterministic=True)


def test_the_wheel_has_models():
    assert len(MODELS) >= 100


@pytest.mark.parametrize("path", MODELS, ids=lambda p: str(p.relative_to(WHEEL)))
def test_load_and_save_change_nothing(path, tmp_path):
    copy = tmp_path / "copy.onnx"
    model = tessera.load(path)
    model.save(copy)
    before, after = onnx.load(path, load_external_data=False), onnx.load(copy, load_external_data=False)
    assert before == after
    assert exact(before) == exact(after)
    # Once more, from our own bytes: they are settled now.
    again = tmp_path / "again.onnx"
    tessera.load(copy).save(again)
    assert again.read_bytes() == copy.read_bytes() == model.serialize()


@pytest.mark.parametrize("path", MODELS, ids=lambda p: str(p.relative_to(WHEEL)))
def test_models_of_the_wheel_are_in_order_and_read(path):
    assert tessera.check(path) == []
    stock = onnx.load(path, load_external_data=False)
    model = tessera.load(path)
    for tensor in stock.graph.initializer:
        if tensor.data_type == TensorProto.STRING:
            continue
        mine = model.tensor(tensor.name)
        array = onnx.numpy_helper.to_array(tensor)
        assert mine.dtype == array.dtype
        assert mine.shape == array.shape
        assert np.array_equal(mine.numpy().view(np.uint8), array.view(np.uint8)) if array.ndim else mine.numpy() == array


def test_equality_of_stock_messages_sees_unknown_fields():
    """What the tests above rest on."""
    plain = onnx.ModelProto(ir_version=10)
    extended = onnx.ModelProto.FromString(plain.SerializeToString() + UNKNOWN)
    assert plain != extended
    assert exact(plain) != exact(extended)


def test_unknown_fields_survive_everywhere(make_model, tmp_path):
    stock = make_model()
    for message in (stock.graph, stock.graph.node[0], stock.graph.initializer[0], stock.graph.input[0].type, stock):
        message.MergeFromString(UNKNOWN)
    source, copy = tmp_path / "m.onnx", tmp_path / "c.onnx"
    source.write_bytes(stock.SerializeToString())
    assert source.read_bytes().count(UNKNOWN) == 5
    tessera.load(source).save(copy)
    assert copy.read_bytes().count(UNKNOWN) == 5
    assert exact(onnx.load(copy)) == exact(stock)


def test_presence_and_odd_values_survive(make_model, tmp_path):
    stock = make_model()
    node = stock.graph.node[0]
    node.doc_string = ""  # present and empty
    attribute = node.attribute.add(name="axis", type=onnx.AttributeProto.INT)
    attribute.i = 0  # present and zero
    stock.graph.initializer[0].data_type = 999  # no type that we know
    stock.graph.input.add(name="no type")
    copy = tmp_path / "c.onnx"
    tessera.Model.from_bytes(stock.SerializeToString()).save(copy)
    after = onnx.load(copy)
    assert exact(after) == exact(stock)
    assert after.graph.node[0].HasField("doc_string")
    assert after.graph.node[0].attribute[0].HasField("i")


def test_stock_onnx_keeps_struct_values(make_model, blocks_text, tmp_path):
    """Stock onnx loads our file, checks it, saves it, and we read the same back."""
    (_, rows) = tessera.parse_types(blocks_text, shape=(2, 64))
    payload = np.random.default_rng(1).integers(0, 256, rows.size_bytes, dtype=np.uint8)
    large = np.arange(100_000, dtype=np.float32)  # over the size that stays in the file
    model = tessera.Model.from_bytes(make_model(onnx.numpy_helper.from_array(large, "large")).SerializeToString())
    model.add_struct_initializer("v", rows, payload)
    model.add_struct_initializer("u", "StructTypeProto { array: array(UINT8, dimension=70000) }", bytes(range(250)) * 280)
    ours, theirs = tmp_path / "ours.onnx", tmp_path / "theirs.onnx"
    model.save(ours)

    stock = onnx.load(ours)
    onnx.checker.check_model(stock)
    onnx.save(stock, theirs)
    assert exact(onnx.load(theirs)) == exact(stock)
    back = tessera.load(theirs)
    assert tessera.check(back) == [] == tessera.check(theirs)
    assert list(back.structs) == ["v", "u"]
    assert back.struct("v").type == rows
    assert np.array_equal(back.struct("v").payload, payload)
    assert bytes(back.struct("u").payload) == bytes(range(250)) * 280
    assert np.array_equal(back.tensor("large").numpy(), large)


def test_stock_onnx_edits_our_model(make_model, blocks_text, tmp_path):
    (_, rows) = tessera.parse_types(blocks_text, shape=(1, 32))
    model = tessera.Model.from_bytes(make_model().SerializeToString())
    model.add_struct_initializer("v", rows, bytes(rows.size_bytes))
    stock = onnx.ModelProto.FromString(model.serialize())
    stock.graph.node[0].name = "renamed"
    stock.graph.initializer.append(helper.make_tensor("more", TensorProto.INT64, [1], [7]))
    back = tessera.Model.from_bytes(stock.SerializeToString())
    assert list(back.structs) == ["v"]
    assert back.tensor("more").numpy() == [7]


def test_external_data_of_stock_onnx(make_model, tmp_path):
    arrays = {"a": np.arange(3000, dtype=np.float32), "b": np.arange(2000, dtype=np.int16).reshape(4, 500)}
    stock = make_model(*(onnx.numpy_helper.from_array(a, n) for n, a in arrays.items()))
    path = tmp_path / "m.onnx"
    onnx.save(stock, path, save_as_external_data=True, location="weights.bin", size_threshold=1000)
    model = tessera.load(path)
    for name, array in arrays.items():
        tensor = model.tensor(name)
        assert tensor.segments[0].location == "weights.bin"
        assert np.array_equal(tensor.numpy(), array)


def test_stock_onnx_reads_our_external_data(make_model, tmp_path):
    large = np.arange(600_000, dtype=np.float32).reshape(2, -1)
    model = tessera.Model.from_bytes(make_model(onnx.numpy_helper.from_array(large, "large")).SerializeToString())
    report = model.save(tmp_path / "m.onnx", data="external")
    assert report.data_file == "m.onnx.data"
    assert report.data_bytes >= large.nbytes
    (tensor,) = (t for t in onnx.load(tmp_path / "m.onnx").graph.initializer if t.name == "large")
    assert np.array_equal(onnx.numpy_helper.to_array(tensor), large)
    (segment,) = tessera.load(tmp_path / "m.onnx").tensor("large").segments
    assert segment.offset % 65_536 == 0
