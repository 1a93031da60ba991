// LeafView::ByteAddress: where a leaf can be read in place with strides.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string_view>

#include "tessera/types/notation.h"
#include "tessera/types/struct_view.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace {

constexpr std::string_view kTypes = R"(ModelProto { struct_types: [
  StructTypeProto { name: "B" structure: Structure {
    field: { name: "d", type: FLOAT16 }
    field: { name: "q", type: array(INT4, dimension=6) }
    field: { name: "p", type: bit_packing(dimension=1, components=[a:8, b:4, c:4]) } } },
  StructTypeProto { name: "T" structure: Structure {
    field: { name: "blocks", type: array(struct(type_index=0), dimensions=[3, 2]) }
    field: { name: "none", type: array(UINT8, dimension=0) }
    field: { name: "odd", type: array(UINT4, dimension=1) }
    field: { name: "shifted", type: array(UINT8, dimension=1) }
    field: { name: "rest", type: array(UINT4, dimension=1) }
    field: { name: "k", constant: tensor(INT32, [2], [7, 8]) } } }
] })";

TEST(ByteAddressTest, PointsAtElementsOfWholeBytes) {
  Result<NotationResult> parsed = ParseNotation(kTypes, {});
  ASSERT_TRUE(parsed) << parsed.error().Format();
  Problems problems;
  TypeTable table = TypeTable::Build(parsed->types, {}, &problems);
  ASSERT_TRUE(problems.empty()) << problems.list()[0].Format();
  std::shared_ptr<const CheckedType> type = table.Get(1);
  std::vector<uint8_t> bytes(type->size_bits / 8);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  Result<StructView> view = StructView::Create(type, {bytes}, "v");
  ASSERT_TRUE(view) << view.error().Format();

  auto address = [&](std::string_view path) {
    Result<LeafView> leaf = view->leaf(path);
    EXPECT_TRUE(leaf) << leaf.error().Format();
    return leaf->ByteAddress();
  };
  EXPECT_EQ(address("blocks.d"), bytes.data());
  EXPECT_EQ(address("blocks.p.a"), bytes.data() + 6);  // the upper byte of the packing's two
  EXPECT_EQ(address("blocks.q"), nullptr);             // half bytes
  EXPECT_EQ(address("blocks.p.b"), nullptr);
  EXPECT_EQ(address("none"), nullptr);
  EXPECT_EQ(address("shifted"), nullptr);  // on no byte boundary
  EXPECT_EQ(address("k"), type->leaves.back().constant->bytes.data());

  // Element (2, 1) by the strides is element 5 by Unpack.
  Result<LeafView> scales = view->leaf("blocks.d");
  const Leaf& leaf = scales->leaf();
  const uint8_t* element = scales->ByteAddress() + (2 * leaf.bit_strides[0] + leaf.bit_strides[1]) / 8;
  std::vector<uint8_t> unpacked(2);
  ASSERT_TRUE(scales->Unpack(5, 1, unpacked));
  EXPECT_EQ(std::vector<uint8_t>(element, element + 2), unpacked);
}

}  // namespace
}  // namespace tessera
