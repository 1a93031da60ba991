"""Leaves as arrays: in place where the layout allows, unpacked elsewhere, always the right elements."""

import gc

import ml_dtypes
import numpy as np
import pytest
import tessera
from tessera import _tessera


def bits_of(payload: np.ndarray, offset: int, width: int) -> int:
    """By the contract: bit 0 is the least significant of byte 0, and up."""
    bits = np.unpackbits(payload, bitorder="little")[offset : offset + width]
    return sum(int(b) << i for i, b in enumerate(bits))


def codes_by_the_contract(leaf: tessera.Leaf, payload: np.ndarray) -> np.ndarray:
    """Codes of a leaf, read bit by bit from its offset and strides."""
    codes = np.empty(leaf.shape, object)
    for index in np.ndindex(*leaf.shape):
        offset = leaf.bit_offset + sum(i * s for i, s in zip(index, leaf.bit_strides, strict=True))
        codes[index] = bits_of(payload, offset, leaf.bits)
    return codes


def codes_of(array: np.ndarray, bits: int) -> np.ndarray:
    """Codes of the elements of an array."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, array.dtype.itemsize)
    values = [int.from_bytes(bytes(row), "little") & ((1 << bits) - 1) for row in raw]
    return np.array(values, object).reshape(array.shape)


@pytest.fixture
def rows(blocks_text) -> tessera.StructType:
    return tessera.parse_types(blocks_text, shape=(2, 64))[1]


@pytest.fixture
def payload(rows) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, rows.size_bytes, dtype=np.uint8)


def test_leaves_hold_what_the_contract_says(rows, payload):
    view = rows.view(payload)
    for leaf in rows.leaves:
        if leaf.constant is None:
            got = view[leaf.path].numpy()
            assert got.shape == leaf.shape
            assert got.dtype == leaf.dtype
            assert not got.flags.writeable
            assert np.array_equal(codes_of(got, leaf.bits), codes_by_the_contract(leaf, payload)), leaf.path


@pytest.mark.parametrize(("name", "bits"), [(n, b) for n, _, b in _tessera._element_types() if b])
@pytest.mark.parametrize("before", [0, 1, 3, 8])
def test_every_element_type_at_every_place(name, bits, before):
    """In an array of records, behind so many bits."""
    head = f'field: {{ name: "head", type: bit_packing(components=[x:{before}]) }}' if before else ""
    tail_bits = -(before + 3 * bits) % 8
    tail = f'field: {{ name: "padding", type: bit_packing(components=[x:{tail_bits}]) }}' if tail_bits else ""
    type = tessera.StructType.parse(f"""ModelProto {{ struct_types: [
        StructTypeProto {{ name: "R" structure: Structure {{
            {head} field: {{ name: "x", type: array({name}, dimension=3) }} {tail} }} }},
        StructTypeProto {{ name: "T" structure: Structure {{
            field: {{ name: "r", type: array(struct(type_index=0), dimensions=[2, 2]) }} }} }} ] }}""")
    payload = np.random.default_rng(bits).integers(0, 256, type.size_bytes, dtype=np.uint8)
    if name == "BOOL":
        payload &= 0x01 if before in (0, 8) else 0xFF
    leaf_view = type.view(payload)["r.x"]
    leaf, got = leaf_view.leaf, leaf_view.numpy()
    assert got.shape == (2, 2, 3)
    assert got.dtype == _tessera._dtype(name)
    assert np.array_equal(codes_of(got, bits), codes_by_the_contract(leaf, payload))
    in_place = bits % 8 == 0 and before % 8 == 0
    assert leaf_view.is_view == in_place
    assert np.shares_memory(got, payload) == in_place
    assert leaf_view.packed() is None or (before == 0 and tail_bits == 0 and not head)


@pytest.mark.parametrize("width", range(1, 65))
def test_components_of_every_width(width):
    rest = -width % 8
    second = f", rest:{rest}" if rest else ""
    type = tessera.StructType.parse(
        f"StructTypeProto {{ bit_packing: bit_packing(dimensions=[5], components=[x:{width}{second}]) }}"
    )
    payload = np.random.default_rng(width).integers(0, 256, type.size_bytes, dtype=np.uint8)
    leaf_view = type.view(payload)["x"]
    smallest = next(b for b in (8, 16, 32, 64) if b >= width)
    assert leaf_view.dtype == np.dtype(f"uint{smallest}")
    assert codes_of(leaf_view.numpy(), smallest).tolist() == codes_by_the_contract(leaf_view.leaf, payload).tolist()
    assert leaf_view.is_view == (width == smallest)


def test_signed_elements_are_sign_extended():
    type = tessera.StructType.parse("StructTypeProto { array: array(INT4, dimension=4) }")
    assert type.view(b"\x8f\x70")["values"].numpy().astype(np.int32).tolist() == [-1, -8, 0, 7]
    type = tessera.StructType.parse("StructTypeProto { array: array(INT2, dimension=4) }")
    assert type.view(b"\xe4")["values"].numpy().astype(np.int32).tolist() == [0, 1, -2, -1]


def test_strided_leaves_are_views(rows, payload):
    scales = rows.view(payload)["blocks.scale"].numpy()
    assert scales.strides == (44, 22)
    assert np.shares_memory(scales, payload)
    payload[22:24] = [0x00, 0x3C]  # 1.0
    assert scales[0, 1] == 1.0  # the same memory, so what is written there is seen


def test_packed_bytes_are_in_place():
    type = tessera.StructType.parse("""StructTypeProto { name: "S" structure: Structure {
        field: { name: "q", type: array(UINT4, dimensions=[2, 3]) }
        field: { name: "z", type: array(UINT4, dimension=2) }
        field: { name: "odd", type: array(INT2, dimension=2) }
        field: { name: "shifted", type: array(UINT4, dimension=3) } } }""")
    payload = np.arange(type.size_bytes, dtype=np.uint8)
    view = type.view(payload)
    packed = view["q"].packed()
    assert packed is not None
    assert packed.tolist() == [0, 1, 2]
    assert np.shares_memory(packed, payload)
    assert not view["q"].is_view
    assert view["shifted"].packed() is None


def test_view_is_a_mapping(rows, payload):
    view = rows.view(payload)
    assert list(view) == list(view.keys()) == [leaf.path for leaf in rows.leaves]
    assert [leaf.path for leaf in view.values()] == list(view)
    assert len(view) == 7
    assert "bias" in view
    assert "nope" not in view
    assert view.type == rows
    assert dict(zip(view.keys(), view.values(), strict=True))["bias"].shape == (2,)
    assert "ROWS" in repr(view)
    with pytest.raises(KeyError, match=r"no leaf 'nope'.*blocks.scale.*\[no-such-leaf\]"):
        view["nope"]


def test_payload_is_the_buffer(rows, payload):
    view = rows.view(payload)
    assert np.shares_memory(view.payload, payload)
    assert np.array_equal(view.payload, payload)
    assert not view.payload.flags.writeable


def test_view_keeps_the_buffer_and_arrays_keep_the_view(rows, payload):
    data = bytearray(payload.tobytes())
    array = rows.view(data)["bias"].numpy()
    gc.collect()
    with pytest.raises(BufferError):
        data.append(0)  # something looks into it
    assert array.tobytes() == payload[-8:].tobytes()
    del array
    gc.collect()
    data.append(0)


@pytest.mark.parametrize("make", [bytes, bytearray, lambda b: memoryview(bytes(b)), lambda b: np.frombuffer(bytes(b), np.uint8),
                                  lambda b: np.frombuffer(bytes(b), ml_dtypes.float8_e5m2)])  # fmt: skip
def test_buffers_of_every_kind(rows, payload, make):
    assert np.array_equal(rows.view(make(payload.tobytes())).payload, payload)


def test_refused_buffers(rows, payload):
    for wrong in (payload[:-1], np.append(payload, 0).astype(np.uint8), b""):
        with pytest.raises(tessera.TesseraError) as raised:
            rows.view(wrong)
        assert raised.value.code == "payload-size"
    with pytest.raises(tessera.TesseraError, match="not contiguous"):
        rows.view(np.repeat(payload, 2)[::2])
    with pytest.raises(TypeError):
        rows.view("text")
    with pytest.raises(TypeError):
        rows.view(None)


def test_constants_are_leaves_of_a_value(rows, payload):
    levels = rows.view(payload)["blocks.levels"]
    assert levels.numpy().astype(np.float32).tolist() == [0.5, -6.0, 2.0]
    assert rows.view(payload)["blocks.block_size"].numpy() == 32
    assert levels.leaf.constant is not None


def test_asarray_protocol(rows, payload):
    view = rows.view(payload)
    assert np.shares_memory(np.asarray(view["bias"]), payload)
    assert np.asarray(view["blocks.codes"]).dtype == ml_dtypes.int4
    assert np.asarray(view["blocks.codes"], dtype=np.int32).dtype == np.int32
    assert not np.shares_memory(np.array(view["bias"]), payload)
    with pytest.raises(ValueError, match="copied"):
        np.asarray(view["blocks.codes"], copy=False)


@pytest.mark.parametrize("dims", ["dimension=0", "dimensions=[3, 0, 2]"])
@pytest.mark.parametrize("element", ["FLOAT", "INT4"])
def test_leaves_without_elements(dims, element):
    type = tessera.StructType.parse(f"StructTypeProto {{ array: array({element}, {dims}) }}")
    assert type.size_bytes == 0
    leaf = type.view(b"")["values"]
    assert leaf.numpy().shape == leaf.shape
    assert leaf.numpy().dtype == leaf.dtype


def test_a_value_in_several_segments(tmp_path):
    """A payload that lies in two files; each leaf in one of them."""
    model = tessera.Model.from_bytes(b"\x08\x0a\x3a\x03\x12\x01g")
    type = tessera.StructType.parse("""StructTypeProto { name: "S" structure: Structure {
        field: { name: "a", type: array(FLOAT, dimension=2) } field: { name: "b", type: array(INT4, dimension=6) } } }""")
    model.add_struct_initializer("v", type, bytes(11))
    (tmp_path / "a.bin").write_bytes(bytes(4) + np.array([1.5, -2], "<f4").tobytes())
    (tmp_path / "b.bin").write_bytes(b"\x21\x43\x65")
    entries = [("location", "a.bin"), ("offset", "4"), ("length", "8"), ("location", "b.bin"), ("length", "3")]
    external = b"".join(
        b"\x22" + bytes([len(e)]) + e
        for e in (b"\x0a" + bytes([len(k)]) + k.encode() + b"\x12" + bytes([len(v)]) + v.encode() for k, v in entries)
    )
    raw = b"\x1a\x0b" + bytes(11)
    serialized = model.serialize()
    at = serialized.index(raw)
    # The value's length and the graph's grow by the difference; both are of one byte or two.
    value = serialized[serialized.rindex(b"\x82\x4b", 0, at) + 3 :]
    length = serialized[serialized.rindex(b"\x82\x4b", 0, at) + 2]
    value = value[:length].replace(raw, external)
    value = b"\x82\x4b" + bytes([len(value) & 0x7F | 0x80, len(value) >> 7]) + value
    graph = b"\x12\x01g" + value
    types = serialized[serialized.index(b"\x82\x4b", at + len(raw)) :]
    whole = b"\x08\x0a\x3a" + bytes([len(graph) & 0x7F | 0x80, len(graph) >> 7]) + graph + types
    path = tmp_path / "m.onnx"
    path.write_bytes(whole)

    assert tessera.check(path)[:1] == [] or [p.code for p in tessera.check(path)] == ["external-orphan"]
    loaded = tessera.load(path).struct("v")
    assert [(s.location, s.offset, s.length) for s in loaded.segments] == [("a.bin", 4, 8), ("b.bin", 0, 3)]
    assert loaded["a"].numpy().tolist() == [1.5, -2.0]
    assert loaded["b"].numpy().astype(int).tolist() == [1, 2, 3, 4, 5, 6]
    assert loaded["a"].is_view
    assert bytes(loaded.payload) == np.array([1.5, -2], "<f4").tobytes() + b"\x21\x43\x65"
    assert loaded.segments == tessera.load(path).struct("v").segments
