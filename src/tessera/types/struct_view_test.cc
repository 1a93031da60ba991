#include "tessera/types/struct_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tessera/types/element_value.h"
#include "tessera/types/testing/type_builders.h"

namespace tessera {
namespace {

using namespace build;  // NOLINT(google-build-using-namespace)
using E = ElementType;
using Bytes = std::vector<uint8_t>;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::shared_ptr<const CheckedType> Checked(std::vector<StructType> types, size_t index = 0) {
  Problems problems;
  TypeTable table = TypeTable::Build(std::move(types), Limits(), &problems);
  EXPECT_TRUE(None(problems));
  return table.Get(static_cast<int64_t>(index));
}

StructView View(const std::shared_ptr<const CheckedType>& type, Payload payload) {
  Result<StructView> view = StructView::Create(type, std::move(payload), "v");
  EXPECT_TRUE(view) << view.error().Format();
  return *std::move(view);
}

// All elements of a leaf, unpacked, as numbers of `Out`.
template <typename Out>
std::vector<Out> Read(const StructView& view, std::string_view path) {
  Result<LeafView> leaf = view.leaf(path);
  EXPECT_TRUE(leaf) << leaf.error().Format();
  EXPECT_EQ(sizeof(Out), UnpackedBytes(leaf->leaf().type)) << path;
  std::vector<Out> values(leaf->count());
  std::span<uint8_t> out(reinterpret_cast<uint8_t*>(values.data()), values.size() * sizeof(Out));
  Result<void> ok = leaf->Unpack(0, leaf->count(), out);
  EXPECT_TRUE(ok) << ok.error().Format();
  return values;
}

template <typename T>
testing::AssertionResult FailsWith(const Result<T>& result, ErrorCode code, std::string_view where) {
  if (result) return testing::AssertionFailure() << "no error";
  if (result.error().code == code && result.error().where == where && !result.error().what.empty()) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << result.error().Format();
}

// ---- reading, against bytes written by hand

// cases.tsv C34: five INT4 in 21 F3 08 are 1, 2, 3, -1, -8.
TEST(StructView, C34Int4OfOddCount) {
  auto type = Checked({Structure("s", {Part("x", Array(E::kInt4, {5})), Part("padding", Packing({{"p", 4}}, {1}))})});
  const Bytes bytes = {0x21, 0xF3, 0x08};
  StructView view = View(type, {bytes});
  EXPECT_THAT(Read<int8_t>(view, "x"), ElementsAre(1, 2, 3, -1, -8));
  EXPECT_THAT(Read<uint8_t>(view, "padding.p"), ElementsAre(0));
  std::optional<std::span<const uint8_t>> packed = view.leaf(0).Contiguous();
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->data(), bytes.data());
  EXPECT_EQ(packed->size(), 3u);
}

// [sign:1, exponent:3, mantissa:2] is the FLOAT6E3M2 code: four codes of 6 bits, straddling bytes.
//   codes 0b1_101_10 = 0x36, 0b0_001_11 = 0x07, 0b1_111_01 = 0x3D, 0b0_100_00 = 0x10
//   bits  0x36 | 0x07 << 6 | 0x3D << 12 | 0x10 << 18 = 0x43D1F6
TEST(StructView, ComponentsAreListedFromTheMostSignificantBit) {
  const Bytes bytes = {0xF6, 0xD1, 0x43};
  StructView parts =
      View(Checked({Declare("c", Packing({{"sign", 1}, {"exponent", 3}, {"mantissa", 2}}, {4}))}), {bytes});
  EXPECT_THAT(Read<uint8_t>(parts, "sign"), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(Read<uint8_t>(parts, "exponent"), ElementsAre(5, 1, 7, 4));
  EXPECT_THAT(Read<uint8_t>(parts, "mantissa"), ElementsAre(2, 3, 1, 0));
  EXPECT_FALSE(parts.leaf(0).Contiguous());
  StructView codes = View(Checked({Declare("c", Array(E::kFloat6E3M2, {4}))}), {bytes});
  EXPECT_THAT(Read<uint8_t>(codes, "values"), ElementsAre(0x36, 0x07, 0x3D, 0x10));
}

// Ten bytes, one element: a 3, b 7, c 64, d 6 bits. d = 0x2A, c = 0x0123456789ABCDEF, b = 0x55, a = 0x6:
// the number a << 77 | b << 70 | c << 6 | d.
TEST(StructView, WideComponentsStraddleBytes) {
  __extension__ using Wide = unsigned __int128;
  Wide number = Wide{6} << 77 | Wide{0x55} << 70 | Wide{0x0123456789ABCDEF} << 6 | 0x2A;
  Bytes bytes;
  for (int i = 0; i < 10; ++i) bytes.push_back(static_cast<uint8_t>(number >> (8 * i)));
  StructView view = View(Checked({Declare("c", Packing({{"a", 3}, {"b", 7}, {"c", 64}, {"d", 6}}, {1}))}), {bytes});
  EXPECT_THAT(Read<uint8_t>(view, "a"), ElementsAre(6));
  EXPECT_THAT(Read<uint8_t>(view, "b"), ElementsAre(0x55));
  EXPECT_THAT(Read<uint64_t>(view, "c"), ElementsAre(0x0123456789ABCDEF));
  EXPECT_THAT(Read<uint8_t>(view, "d"), ElementsAre(0x2A));
}

// Two blocks of {three UINT8, INT16}: the leaves interleave.
TEST(StructView, LeavesOfBlocks) {
  auto type = Checked({Structure("block", {Part("values", Array(E::kUint8, {3})), Part("scale", E::kInt16)}),
                       Structure("w", {Part("blocks", Array(Ref(0), {2})), Part("tail", E::kUint16)})},
                      1);
  const Bytes bytes = {1, 2, 3, 0xFE, 0xFF, 4, 5, 6, 0x34, 0x12, 0xCD, 0xAB};
  StructView view = View(type, {bytes});
  EXPECT_THAT(Read<uint8_t>(view, "blocks.values"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Read<int16_t>(view, "blocks.scale"), ElementsAre(-2, 0x1234));
  EXPECT_THAT(Read<uint16_t>(view, "tail"), ElementsAre(0xABCD));
  EXPECT_FALSE(view.leaf(0).Contiguous());
  EXPECT_FALSE(view.leaf(1).Contiguous());
  ASSERT_TRUE(view.leaf(2).Contiguous());
  EXPECT_EQ(view.leaf(2).Contiguous()->data(), bytes.data() + 10);
  // Any range, across rows.
  std::array<uint8_t, 3> some{};
  ASSERT_TRUE(view.leaf(0).Unpack(2, 3, some));
  EXPECT_THAT(some, ElementsAre(3, 4, 5));
}

TEST(StructView, DimensionsOfOneDoNotBreakContiguity) {
  auto type = Checked({Structure("row", {Part("x", Array(E::kUint16, {2})), Part("y", E::kUint8)}),
                       Structure("w", {Part("rows", Array(Ref(0), {1}))})},
                      1);
  const Bytes bytes = {1, 0, 2, 0, 3};
  StructView view = View(type, {bytes});
  ASSERT_TRUE(view.leaf(0).Contiguous());
  EXPECT_EQ(view.leaf(0).Contiguous()->size(), 4u);
  EXPECT_THAT(Read<uint16_t>(view, "rows.x"), ElementsAre(1, 2));
}

// A component is contiguous only where it fills its type.
TEST(StructView, WholeByteComponents) {
  const Bytes bytes = {1, 2, 3, 4};
  StructView one = View(Checked({Declare("c", Packing({{"x", 8}}, {4}))}), {bytes});
  EXPECT_TRUE(one.leaf(0).Contiguous());
  EXPECT_THAT(Read<uint8_t>(one, "x"), ElementsAre(1, 2, 3, 4));
  StructView two = View(Checked({Declare("c", Packing({{"hi", 8}, {"lo", 8}}, {2}))}), {bytes});
  EXPECT_FALSE(two.leaf(0).Contiguous());
  EXPECT_THAT(Read<uint8_t>(two, "hi"), ElementsAre(2, 4));
  EXPECT_THAT(Read<uint8_t>(two, "lo"), ElementsAre(1, 3));
  StructView wide = View(Checked({Declare("c", Packing({{"x", 16}}, {2}))}), {bytes});
  EXPECT_THAT(Read<uint16_t>(wide, "x"), ElementsAre(0x0201, 0x0403));
}

// A leaf that begins inside a byte is unpacked, whatever its width.
TEST(StructView, BytesAfterANibble) {
  auto type = Checked({Structure("s", {Part("n", E::kUint4), Part("x", Array(E::kUint16, {2})),
                                       Part("c", Array(E::kComplex128, {1})), Part("m", E::kInt4)})});
  Bytes bytes(21);
  // Everything is shifted by four bits: n = 0xA; x = 0x1234, 0x5678; c = 1.0 + 2.0i; m = -3.
  bytes[0] = 0x4A;
  bytes[1] = 0x23;
  bytes[2] = 0x81;
  bytes[3] = 0x67;
  bytes[4] = 0x05;
  const double parts[2] = {1.0, 2.0};
  std::array<uint8_t, 16> raw{};
  std::memcpy(raw.data(), parts, 16);
  for (int i = 0; i < 16; ++i) {
    bytes[4 + i] = static_cast<uint8_t>(bytes[4 + i] | raw[i] << 4);
    bytes[5 + i] = static_cast<uint8_t>(raw[i] >> 4);
  }
  bytes[20] = static_cast<uint8_t>(bytes[20] | 0xD0);
  StructView view = View(type, {bytes});
  EXPECT_THAT(Read<uint8_t>(view, "n"), ElementsAre(0xA));
  EXPECT_THAT(Read<uint16_t>(view, "x"), ElementsAre(0x1234, 0x5678));
  EXPECT_THAT(Read<int8_t>(view, "m"), ElementsAre(-3));
  std::array<double, 2> c{};
  ASSERT_TRUE(view.leaf(2).Unpack(0, 1, {reinterpret_cast<uint8_t*>(c.data()), 16}));
  EXPECT_THAT(c, ElementsAre(1.0, 2.0));
  EXPECT_FALSE(view.leaf(1).Contiguous());
}

TEST(StructView, ConstantsAreReadFromTheType) {
  auto type = Checked({Structure("s", {Part("x", E::kUint8), Const("t", Tensor(E::kInt4, {5}, {0x21, 0xF3, 0x08})),
                                       Const("f", Tensor(E::kUint16, {2, 1}, {1, 2, 3, 4}))})});
  const Bytes bytes = {9};
  StructView view = View(type, {bytes});
  EXPECT_THAT(Read<int8_t>(view, "t"), ElementsAre(1, 2, 3, -1, -8));
  EXPECT_THAT(Read<uint16_t>(view, "f"), ElementsAre(0x0201, 0x0403));
  EXPECT_EQ(view.leaf(1).count(), 5u);
  ASSERT_TRUE(view.leaf(2).Contiguous());
  EXPECT_EQ(view.leaf(2).Contiguous()->data(), type->leaves[2].constant->bytes.data());
}

TEST(StructView, DimensionZeroReadsNothing) {
  auto type = Checked({Structure("s", {Part("x", E::kUint8), Part("none", Array(E::kFloat, {3, 0}))})});
  const Bytes bytes = {9};
  StructView view = View(type, {bytes});
  EXPECT_EQ(view.leaf(1).count(), 0u);
  EXPECT_TRUE(view.leaf(1).Contiguous()->empty());
  EXPECT_TRUE(view.leaf(1).Unpack(0, 0, {}));
  std::array<uint8_t, 4> one{};
  EXPECT_TRUE(FailsWith(view.leaf(1).Unpack(0, 1, one), ErrorCode::kReadRange, "none"));
  // A value without any bytes has no segment, or an empty one.
  auto empty = Checked({Declare("e", Array(E::kUint8, {0}))});
  EXPECT_EQ(View(empty, {}).leaf(0).count(), 0u);
  EXPECT_TRUE(View(empty, {Bytes()}).leaf(0).Contiguous());
}

TEST(StructView, LeavesInSegments) {
  auto type = Checked({Structure("s", {Part("a", Array(E::kUint8, {3})), Part("b", Array(E::kUint16, {2})),
                                       Part("none", Array(E::kUint8, {0})), Part("c", E::kUint8)})});
  const Bytes first = {1, 2, 3};
  const Bytes second;
  const Bytes third = {4, 0, 5, 0};
  const Bytes fourth = {6};
  StructView view = View(type, {first, second, third, fourth});
  EXPECT_THAT(Read<uint8_t>(view, "a"), ElementsAre(1, 2, 3));
  EXPECT_THAT(Read<uint16_t>(view, "b"), ElementsAre(4, 5));
  EXPECT_THAT(Read<uint8_t>(view, "c"), ElementsAre(6));
  EXPECT_EQ(view.leaf(1).Contiguous()->data(), third.data());
}

// Random structures against reading bit by bit from the leaf's offset and strides, every element and every range start.
TEST(StructView, EqualsBitByBitReading) {
  std::mt19937 random(5);
  const std::vector<E> elements = {E::kUint2, E::kInt2,    E::kInt4,  E::kFloat6E2M3,
                                   E::kInt8,  E::kFloat16, E::kInt32, E::kDouble};
  for (int round = 0; round < 300; ++round) {
    std::vector<Field> inner;
    for (int f = 0; f < 3; ++f) {
      E element = elements[random() % elements.size()];
      if (random() % 3 == 0) {
        inner.push_back(Part("p" + std::to_string(f), Packing({{"a", static_cast<uint32_t>(1 + random() % 64)},
                                                               {"b", static_cast<uint32_t>(1 + random() % 13)}},
                                                              {1 + random() % 3})));
      } else {
        inner.push_back(Part("f" + std::to_string(f), Array(element, {1 + random() % 3, 1 + random() % 5})));
      }
    }
    auto type =
        Checked({Structure("inner", inner),
                 Structure("outer", {Part("first", Packing({{"x", static_cast<uint32_t>(1 + random() % 7)}}, {1})),
                                     Part("in", Array(Ref(0), {1 + random() % 3, 8})), Part("second", Ref(0)),
                                     Part("many", Array(Ref(0), {7})), Part("third", Packing({{"x", 1}}, {0}))}),
                 Declare("whole", Array(Ref(1), {8}))},
                2);
    Bytes bytes(type->size_bits / 8);
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
    StructView view = View(type, {bytes});
    for (size_t l = 0; l < view.leaf_count(); ++l) {
      LeafView leaf = view.leaf(l);
      const Leaf& facts = leaf.leaf();
      const uint32_t out_bytes = UnpackedBytes(facts.type);
      const uint64_t first = leaf.count() == 0 ? 0 : random() % leaf.count();
      const uint64_t count = leaf.count() - first;
      Bytes out(count * out_bytes);
      ASSERT_TRUE(leaf.Unpack(first, count, out));
      for (uint64_t i = 0; i < count; ++i) {
        uint64_t rest = first + i;
        uint64_t bit = facts.bit_offset;
        for (size_t d = facts.dims.size(); d-- > 0; rest /= facts.dims[d])
          bit += rest % facts.dims[d] * facts.bit_strides[d];
        uint64_t expected = 0;
        for (uint32_t b = 0; b < facts.bits; ++b)
          expected |= uint64_t{static_cast<uint8_t>(bytes[(bit + b) / 8] >> (bit + b) % 8 & 1)} << b;
        bool is_signed = Info(facts.type).kind == ElementKind::kSigned;
        if (is_signed && (expected >> (facts.bits - 1) & 1) != 0 && facts.bits < 64)
          expected |= ~uint64_t{0} << facts.bits;
        if (out_bytes < 8) expected &= (uint64_t{1} << 8 * out_bytes) - 1;
        uint64_t value = 0;
        std::memcpy(&value, out.data() + i * out_bytes, out_bytes);
        ASSERT_EQ(value, expected) << facts.path << " element " << first + i << " round " << round;
      }
    }
  }
}

// ---- each error beside a call one edit away that succeeds

TEST(StructViewErrors, PayloadSize) {
  auto type = Checked({Declare("a", Array(E::kUint16, {3}))});
  EXPECT_TRUE(CheckPayload(*type, std::vector<uint64_t>{6}, "v"));
  EXPECT_TRUE(FailsWith(CheckPayload(*type, std::vector<uint64_t>{5}, "v"), ErrorCode::kPayloadSize, "v"));
  EXPECT_TRUE(FailsWith(CheckPayload(*type, std::vector<uint64_t>{7}, "v"), ErrorCode::kPayloadSize, "v"));
  EXPECT_TRUE(FailsWith(CheckPayload(*type, std::vector<uint64_t>{}, "v"), ErrorCode::kPayloadSize, "v"));
  // A sum that passes 2^64 must not come out as 6.
  EXPECT_TRUE(FailsWith(CheckPayload(*type, std::vector<uint64_t>{UINT64_MAX, 7}, "v"), ErrorCode::kPayloadSize, "v"));
  const Bytes bytes(6);
  EXPECT_TRUE(StructView::Create(type, {bytes}, "v"));
  EXPECT_TRUE(FailsWith(StructView::Create(type, {std::span(bytes).first(5)}, "v"), ErrorCode::kPayloadSize, "v"));
}

TEST(StructViewErrors, PayloadOf2To64Bits) {
  auto type = Checked({Declare("a", Array(E::kUint8, {(uint64_t{1} << 61) - 1}))});
  EXPECT_TRUE(CheckPayload(*type, std::vector<uint64_t>{(uint64_t{1} << 61) - 1}, "v"));
  EXPECT_TRUE(
      FailsWith(CheckPayload(*type, std::vector<uint64_t>{uint64_t{1} << 61}, "v"), ErrorCode::kPayloadSize, "v"));
}

TEST(StructViewErrors, SizeBits) {
  std::vector<StructType> types = {Declare("nibbles", Array(E::kInt4, {3})),
                                   Structure("s", {Part("a", Ref(0)), Part("b", Ref(0))})};
  EXPECT_TRUE(CheckPayload(*Checked(types, 1), std::vector<uint64_t>{3}, "v"));
  EXPECT_TRUE(FailsWith(CheckPayload(*Checked(types, 0), std::vector<uint64_t>{2}, "v"), ErrorCode::kSizeBits, "v"));
}

TEST(StructViewErrors, LeafSegment) {
  auto type = Checked({Structure("s", {Part("a", Array(E::kUint8, {4})), Part("b", E::kUint16)})});
  EXPECT_TRUE(CheckPayload(*type, std::vector<uint64_t>{4, 2}, "v"));
  EXPECT_TRUE(FailsWith(CheckPayload(*type, std::vector<uint64_t>{3, 3}, "v"), ErrorCode::kLeafSegment, "v"));
  EXPECT_TRUE(FailsWith(CheckPayload(*type, std::vector<uint64_t>{5, 1}, "v"), ErrorCode::kLeafSegment, "v"));
  // Leaves of blocks interleave, so all blocks are in one segment.
  auto blocks = Checked({Structure("block", {Part("x", E::kUint8), Part("y", E::kUint8)}),
                         Structure("w", {Part("blocks", Array(Ref(0), {2})), Part("z", E::kUint8)})},
                        1);
  EXPECT_TRUE(CheckPayload(*blocks, std::vector<uint64_t>{4, 1}, "v"));
  EXPECT_TRUE(FailsWith(CheckPayload(*blocks, std::vector<uint64_t>{2, 3}, "v"), ErrorCode::kLeafSegment, "v"));
  // A component that shares its last byte with the next leaf.
  auto bits = Checked({Structure("s", {Part("p", Packing({{"p", 12}}, {1})), Part("q", Packing({{"q", 4}}, {1}))})});
  EXPECT_TRUE(CheckPayload(*bits, std::vector<uint64_t>{2}, "v"));
  EXPECT_TRUE(FailsWith(CheckPayload(*bits, std::vector<uint64_t>{1, 1}, "v"), ErrorCode::kLeafSegment, "v"));
}

TEST(StructViewErrors, NoSuchLeaf) {
  auto type = Checked({Structure("s", {Part("a", E::kUint8), Const("c", Tensor(E::kUint8, {}, {1}))})});
  const Bytes bytes = {7};
  StructView view = View(type, {bytes});
  EXPECT_TRUE(view.leaf("a"));
  EXPECT_TRUE(view.leaf("c"));
  Result<LeafView> missing = view.leaf("b");
  EXPECT_TRUE(FailsWith(missing, ErrorCode::kNoSuchLeaf, "s"));
  EXPECT_EQ(missing.error().fix, "a, c");
}

TEST(StructViewErrors, ReadRange) {
  auto type = Checked({Declare("a", Array(E::kUint16, {3}))});
  const Bytes bytes = {1, 0, 2, 0, 3, 0};
  StructView view = View(type, {bytes});
  LeafView leaf = view.leaf(0);
  Bytes out(6, 0xEE);
  EXPECT_TRUE(leaf.Unpack(1, 2, std::span(out).first(4)));
  EXPECT_THAT(out, ElementsAre(2, 0, 3, 0, 0xEE, 0xEE));
  EXPECT_TRUE(leaf.Unpack(3, 0, {}));
  EXPECT_TRUE(FailsWith(leaf.Unpack(2, 2, std::span(out).first(4)), ErrorCode::kReadRange, "values"));
  EXPECT_TRUE(FailsWith(leaf.Unpack(4, 0, {}), ErrorCode::kReadRange, "values"));
  EXPECT_TRUE(FailsWith(leaf.Unpack(UINT64_MAX, 2, std::span(out).first(4)), ErrorCode::kReadRange, "values"));
  EXPECT_TRUE(FailsWith(leaf.Unpack(1, UINT64_MAX, out), ErrorCode::kReadRange, "values"));
  EXPECT_TRUE(FailsWith(leaf.Unpack(0, 2, std::span(out).first(5)), ErrorCode::kReadRange, "values"));
  EXPECT_TRUE(FailsWith(leaf.Unpack(0, 2, std::span(out).first(3)), ErrorCode::kReadRange, "values"));
  EXPECT_THAT(out, ElementsAre(2, 0, 3, 0, 0xEE, 0xEE)) << "a refused read wrote something";
}

}  // namespace
}  // namespace tessera
