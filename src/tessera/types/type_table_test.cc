#include "tessera/types/type_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tessera/types/testing/type_builders.h"

namespace tessera {
namespace {

using namespace build;  // NOLINT(google-build-using-namespace)
using E = ElementType;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Types = std::vector<StructType>;

// ---- each rejection beside a valid list of types one edit away

struct Pair {
  std::string name;
  ErrorCode code;
  std::string where;
  Types valid;
  std::function<void(Types*)> edit;
  Limits limits = {};
};
std::ostream& operator<<(std::ostream& out, const Pair& pair) { return out << pair.name; }

// [0] a block, [1] a weight of ten blocks with a constant, [2] a packing of three bytes.
Types Weight() {
  return {Structure("block", {Part("values", Array(E::kInt8, {32})), Part("scale", E::kFloat16)}),
          Structure("weight", {Part("blocks", Array(Ref(0), {10})), Part("zero", Array(E::kUint8, {2})),
                               Const("table", Tensor(E::kFloat, {2}, std::vector<uint8_t>(8, 0x3F)))}),
          Declare("code", Packing({{"sign", 1}, {"exponent", 3}, {"mantissa", 2}}, {4}))};
}

// `depth` arrays of one element around a scalar.
PhysicalType Nested(size_t depth) {
  PhysicalType type = Scalar(E::kUint8);
  for (size_t i = 0; i < depth; ++i) type = Array(std::move(type), {1});
  return type;
}

// A structure, then `count` - 1 structures that each hold the one before.
Types Chain(size_t count) {
  Types types = {Structure("t0", {Part("x", E::kUint8)})};
  for (size_t i = 1; i < count; ++i) {
    types.push_back(Structure("t" + std::to_string(i), {Part("x", Ref(static_cast<int32_t>(i) - 1))}));
  }
  return types;
}

StructType ManyFields(std::string name, size_t count) {
  std::vector<Field> fields;
  for (size_t i = 0; i < count; ++i) fields.push_back(Part("f" + std::to_string(i), E::kUint8));
  return Structure(std::move(name), std::move(fields));
}

StructType ManyComponents(std::string name, size_t count) {
  std::vector<BitPackingType::Component> components;
  for (size_t i = 0; i < count; ++i) components.push_back({"c" + std::to_string(i), 8});
  return Declare(std::move(name), Packing(std::move(components), {1}));
}

template <typename T>
T& As(PhysicalType& type) {
  return std::get<T>(type.kind);
}

constexpr uint64_t kTwo61 = uint64_t{1} << 61;

std::vector<Pair> Pairs() {
  const std::string blocks = "struct_types[1].structure.field[0].type";
  const std::string zero = "struct_types[1].structure.field[1].type";
  const std::string table = "struct_types[1].structure.field[2].constant";
  std::vector<Pair> pairs = {
      {"RootKindNone", ErrorCode::kRootKind, "struct_types[1]", Weight(), [](Types* t) { (*t)[1].root = {}; }},
      {"RootKindScalar", ErrorCode::kRootKind, "struct_types[2]", Weight(),
       [](Types* t) { (*t)[2].root = Scalar(E::kUint8); }},
      {"RootReference", ErrorCode::kRootReference, "struct_types[1].type_index", Weight(),
       [](Types* t) { (*t)[1].root = Ref(0); }},
      {"TypeIndexBehindTheEnd", ErrorCode::kTypeIndex,
       blocks + ".struct_type.array.element_type.struct_type.type_index", Weight(),
       [](Types* t) { TypeOfField((*t)[1], 0) = Array(Ref(3), {10}); }},
      {"TypeIndexNegative", ErrorCode::kTypeIndex, zero + ".struct_type.type_index", Weight(),
       [](Types* t) { TypeOfField((*t)[1], 1) = Ref(-1); }},
      {"ReferenceToItself", ErrorCode::kReferenceCycle, zero + ".struct_type.type_index", Weight(),
       [](Types* t) { TypeOfField((*t)[1], 1) = Ref(1); }},
      {"ReferenceCycleOfTwo", ErrorCode::kReferenceCycle,
       blocks + ".struct_type.array.element_type.struct_type.type_index", Weight(),
       [](Types* t) { TypeOfField((*t)[0], 1) = Ref(1); }},
      {"TypeNameEmpty", ErrorCode::kTypeName, "struct_types[1].name", Weight(), [](Types* t) { (*t)[1].name = ""; }},
      {"TypeNameAbsent", ErrorCode::kTypeName, "struct_types[1].name", Weight(),
       [](Types* t) { (*t)[1].name.reset(); }},
      {"TypeNameTaken", ErrorCode::kTypeName, "struct_types[1].name", Weight(),
       [](Types* t) { (*t)[1].name = "block"; }},
      {"FieldNameEmpty", ErrorCode::kFieldName, "struct_types[1].structure.field[1].name", Weight(),
       [](Types* t) { Fields((*t)[1])[1].name = ""; }},
      {"FieldNameTaken", ErrorCode::kFieldName, "struct_types[1].structure.field[1].name", Weight(),
       [](Types* t) { Fields((*t)[1])[1].name = "blocks"; }},
      {"FieldNameLong", ErrorCode::kFieldName, "struct_types[1].structure.field[1].name",
       [] {
         Types types = Weight();
         Fields(types[1])[1].name = std::string(4096, 'n');
         return types;
       }(),
       [](Types* t) { Fields((*t)[1])[1].name += 'n'; }},
      {"ComponentNameEmpty", ErrorCode::kFieldName, "struct_types[2].bit_packing.component[2].name", Weight(),
       [](Types* t) { As<BitPackingType>((*t)[2].root).components[2].name = ""; }},
      {"ComponentNameTaken", ErrorCode::kFieldName, "struct_types[2].bit_packing.component[2].name", Weight(),
       [](Types* t) { As<BitPackingType>((*t)[2].root).components[2].name = "sign"; }},
      {"FieldContent", ErrorCode::kFieldContent, "struct_types[1].structure.field[1]", Weight(),
       [](Types* t) { Fields((*t)[1])[1].content = std::monostate(); }},
      {"ComponentWidth0", ErrorCode::kComponentWidth, "struct_types[2].bit_packing.component[1].bit_width", Weight(),
       [](Types* t) { As<BitPackingType>((*t)[2].root).components[1].bits = 0; }},
      {"ComponentWidth65", ErrorCode::kComponentWidth, "struct_types[2].bit_packing.component[1].bit_width",
       [] {
         Types types = Weight();
         As<BitPackingType>(types[2].root).components[1].bits = 64;  // 67 bits, in eights whole bytes
         As<BitPackingType>(types[2].root).dims = {8};
         return types;
       }(),
       [](Types* t) { As<BitPackingType>((*t)[2].root).components[1].bits = 65; }},
      {"ComponentWidthOfAPart", ErrorCode::kComponentWidth, zero + ".struct_type.bit_packing.component[0].bit_width",
       [] {
         Types types = Weight();
         TypeOfField(types[1], 1) = Packing({{"z", 4}}, {4});
         return types;
       }(),
       [](Types* t) { As<BitPackingType>(TypeOfField((*t)[1], 1)).components[0].bits = 0; }},
      {"ArrayDimensions", ErrorCode::kArrayDimensions, zero + ".struct_type.array.dimension", Weight(),
       [](Types* t) { As<ArrayType>(TypeOfField((*t)[1], 1)).dims.clear(); }},
      {"ArrayDimensionsOfARoot",
       ErrorCode::kArrayDimensions,
       "struct_types[0].array.dimension",
       {Declare("a", Array(E::kUint8, {3}))},
       [](Types* t) { As<ArrayType>((*t)[0].root).dims.clear(); }},
      {"LeafTypeString", ErrorCode::kLeafType, "struct_types[0].structure.field[1].type.tensor_type.elem_type",
       Weight(), [](Types* t) { TypeOfField((*t)[0], 1) = Scalar(E::kString); }},
      {"LeafTypeUndefined", ErrorCode::kLeafType, zero + ".struct_type.array.element_type.tensor_type.elem_type",
       Weight(), [](Types* t) { TypeOfField((*t)[1], 1) = Array(E::kUndefined, {2}); }},
      {"LeafTypeOfAConstant", ErrorCode::kLeafType, table + ".data_type", Weight(),
       [](Types* t) { ConstantOfField((*t)[1], 2).type = E::kString; }},
      {"PartWithoutKind", ErrorCode::kPartKind, zero, Weight(), [](Types* t) { TypeOfField((*t)[1], 1) = {}; }},
      {"PartStructure", ErrorCode::kPartKind, zero, Weight(),
       [](Types* t) { TypeOfField((*t)[1], 1) = {StructureType{{Part("x", E::kUint16)}}}; }},
      {"ConstantShort", ErrorCode::kConstantData, table, Weight(),
       [](Types* t) { ConstantOfField((*t)[1], 2).bytes.pop_back(); }},
      {"ConstantLong", ErrorCode::kConstantData, table, Weight(),
       [](Types* t) { ConstantOfField((*t)[1], 2).bytes.push_back(0); }},
      {"ConstantDimensionNegative", ErrorCode::kConstantDims, table + ".dims[0]", Weight(),
       [](Types* t) { ConstantOfField((*t)[1], 2).dims = {-2}; }},
      {"ConstantElementsOverflow", ErrorCode::kConstantDims, table + ".dims", Weight(),
       [](Types* t) { ConstantOfField((*t)[1], 2).dims = {int64_t{1} << 62, 4}; }},
      {"ConstantBitsOverflow", ErrorCode::kConstantDims, table + ".dims", Weight(),
       [](Types* t) { ConstantOfField((*t)[1], 2).dims = {int64_t{1} << 59}; }},
      // 2^61 bytes are 2^64 bits.
      {"SizeOfAnArray",
       ErrorCode::kSizeOverflow,
       "struct_types[0].array",
       {Declare("a", Array(E::kUint8, {kTwo61 - 1}))},
       [](Types* t) { As<ArrayType>((*t)[0].root).dims[0] = kTwo61; }},
      {"SizeOfDimensions", ErrorCode::kSizeOverflow, zero + ".struct_type.array", Weight(),
       [](Types* t) { As<ArrayType>(TypeOfField((*t)[1], 1)).dims = {uint64_t{1} << 32, uint64_t{1} << 32}; }},
      {"SizeOfAPacking", ErrorCode::kSizeOverflow, "struct_types[2].bit_packing", Weight(),
       [](Types* t) { As<BitPackingType>((*t)[2].root).dims = {UINT64_MAX / 4}; }},
      {"SizeOfASum",
       ErrorCode::kSizeOverflow,
       "struct_types[0].structure.field[1]",
       {Structure("s", {Part("a", Array(E::kUint8, {kTwo61 - 2})), Part("b", Array(E::kUint8, {1}))})},
       [](Types* t) { As<ArrayType>(TypeOfField((*t)[0], 1)).dims = {2}; }},
      {"SizeThroughAReference", ErrorCode::kSizeOverflow, blocks + ".struct_type.array", Weight(),
       [](Types* t) { As<ArrayType>(TypeOfField((*t)[1], 0)).dims = {UINT64_MAX / 272 + 1}; }},
      {"SizeBits", ErrorCode::kSizeBits, "struct_types[2]", Weight(),
       [](Types* t) { As<BitPackingType>((*t)[2].root).dims = {3}; }},
      {"LeafNames",
       ErrorCode::kLeafNames,
       "struct_types[0]",
       {Structure("s", {Part("a-b", E::kUint8), Part("a.c", E::kUint8)})},
       [](Types* t) { Fields((*t)[0])[1].name = "a.b"; }},
      // The root is 1 deep, so 63 arrays put the scalar at 64.
      {"DepthOfParts",
       ErrorCode::kLimitDepth,
       [] {
         std::string path = "struct_types[0].array";
         for (int i = 0; i < 63; ++i) path += ".element_type.struct_type.array";
         return path + ".element_type";
       }(),
       {Declare("deep", Nested(63))},
       [](Types* t) { (*t)[0].root = Nested(64); }},
      {"DepthOfReferences", ErrorCode::kLimitDepth, "struct_types[63]", Chain(63), [](Types* t) { *t = Chain(64); }},
      {"ManyFields",
       ErrorCode::kLimitFields,
       "struct_types[0].structure",
       {ManyFields("s", 100)},
       [](Types* t) { *t = {ManyFields("s", 101)}; },
       [] {
         Limits limits;
         limits.fields = 100;
         return limits;
       }()},
      {"ManyComponents",
       ErrorCode::kLimitFields,
       "struct_types[0].bit_packing",
       {ManyComponents("s", 100)},
       [](Types* t) { *t = {ManyComponents("s", 101)}; },
       [] {
         Limits limits;
         limits.fields = 100;
         return limits;
       }()},
      {"AMillionFields",
       ErrorCode::kLimitFields,
       "struct_types[0].structure",
       {ManyFields("s", 65'536)},
       [](Types* t) { *t = {ManyFields("s", 1'000'000)}; }},
      {"Leaves", ErrorCode::kLimitLeaves, "struct_types[1]", Weight(),
       [](Types* t) { Fields((*t)[1]).push_back(Part("fifth", E::kUint8)); },
       [] {
         Limits limits;
         limits.leaves = 4;
         return limits;
       }()},
      {"LeavesOfAllTypes",
       ErrorCode::kLimitLeaves,
       "struct_types[1]",
       {ManyFields("a", 6), ManyFields("b", 4)},
       [](Types* t) { (*t)[1] = ManyFields("b", 5); },
       [] {
         Limits limits;
         limits.total_leaves = 10;
         return limits;
       }()},
      // 60,000 leaves with 1,100 bytes of name each are below 64 MiB, with 1,200 above.
      {"LeafNameBytes",
       ErrorCode::kLimitLeaves,
       "struct_types[1]",
       {ManyFields("part", 60'000), Structure("s", {Part(std::string(1'100, 'n'), Ref(0))})},
       [](Types* t) { Fields((*t)[1])[0].name = std::string(1'200, 'n'); }},
      {"ConstantBytes", ErrorCode::kLimitConstant, table, Weight(),
       [](Types* t) {
         ConstantOfField((*t)[1], 2).bytes.resize(12);
         ConstantOfField((*t)[1], 2).dims = {3};
       },
       [] {
         Limits limits;
         limits.constant_bytes = 8;
         return limits;
       }()},
      {"ConstantBytesTogether", ErrorCode::kLimitConstant, "struct_types[1].structure.field[3].constant", Weight(),
       [](Types* t) { Fields((*t)[1]).push_back(Const("more", Tensor(E::kUint8, {}, {7}))); },
       [] {
         Limits limits;
         limits.constant_bytes = 8;
         return limits;
       }()},
  };
  return pairs;
}

class TypeTablePair : public ::testing::TestWithParam<Pair> {};

TEST_P(TypeTablePair, OneEditGivesOneProblem) {
  Types types = GetParam().valid;
  Problems before;
  TypeTable table = TypeTable::Build(types, GetParam().limits, &before);
  ASSERT_TRUE(None(before));
  for (size_t i = 0; i < table.size(); ++i) ASSERT_NE(table.Get(static_cast<int64_t>(i)), nullptr) << i;

  GetParam().edit(&types);
  Problems after;
  table = TypeTable::Build(types, GetParam().limits, &after);
  EXPECT_TRUE(Only(after, GetParam().code, GetParam().where));
  EXPECT_FALSE(after.empty() || after.list()[0].fix.empty());
  size_t usable = 0;
  for (size_t i = 0; i < table.size(); ++i) usable += table.Get(static_cast<int64_t>(i)) != nullptr;
  EXPECT_LT(usable, table.size()) << "a type with a problem was handed out";
}

INSTANTIATE_TEST_SUITE_P(Codes, TypeTablePair, ::testing::ValuesIn(Pairs()),
                         [](const auto& test) { return test.param.name; });

TEST(TypeTable, EveryCodeOfThisCheckerHasAPair) {
  std::set<ErrorCode> codes;
  for (const Pair& pair : Pairs()) codes.insert(pair.code);
  std::set<ErrorCode> expected;
  for (int c = static_cast<int>(ErrorCode::kRootKind); c <= static_cast<int>(ErrorCode::kLimitConstant); ++c) {
    expected.insert(static_cast<ErrorCode>(c));
  }
  expected.erase(ErrorCode::kPartSurplus);       // of messages: convert_test.cc
  expected.erase(ErrorCode::kConstantExternal);  // the same
  for (ErrorCode code : expected) EXPECT_TRUE(codes.contains(code)) << Info(code).slug;
  EXPECT_EQ(codes, expected);
}

TEST(TypeTable, ListsAllProblemsOfAllTypes) {
  Types types = Weight();
  Fields(types[0])[1].name = "values";
  TypeOfField(types[0], 0) = Array(E::kString, {});
  As<BitPackingType>(types[2].root).components[0].bits = 0;
  As<BitPackingType>(types[2].root).components[1].name = "";
  types.push_back(Structure("code", {Part("x", Ref(9)), Const("c", Tensor(E::kFloat, {-1}, {}))}));
  types.push_back(Declare("bits", Packing({{"b", 1}}, {9})));
  Problems problems;
  TypeTable table = TypeTable::Build(types, Limits(), &problems);
  EXPECT_THAT(
      Places(problems),
      ElementsAre("struct_types[0].structure.field[0].type.struct_type.array.dimension [array-dimensions]",
                  "struct_types[0].structure.field[0].type.struct_type.array.element_type.tensor_type.elem_type "
                  "[leaf-type]",
                  "struct_types[0].structure.field[1].name [field-name]",
                  "struct_types[2].bit_packing.component[0].bit_width [component-width]",
                  "struct_types[2].bit_packing.component[1].name [field-name]", "struct_types[3].name [type-name]",
                  "struct_types[3].structure.field[0].type.struct_type.type_index [type-index]",
                  "struct_types[3].structure.field[1].constant.dims[0] [constant-dims]",
                  "struct_types[4] [size-bits]"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(table.Get(i), nullptr) << i;  // [1] is right, but refers to [0]
}

TEST(TypeTable, RefusedTypesAreNotHandedOut) {
  Problems problems;
  TypeTable table = TypeTable::Build(Weight(), Limits(), &problems, {true, false, false});
  EXPECT_TRUE(None(problems));
  EXPECT_EQ(table.Get(0), nullptr);
  EXPECT_EQ(table.Get(1), nullptr);
  EXPECT_NE(table.Get(2), nullptr);
}

TEST(TypeTable, GetAndFindOutsideTheTable) {
  Problems problems;
  TypeTable table = TypeTable::Build(Weight(), Limits(), &problems);
  EXPECT_EQ(table.Get(-1), nullptr);
  EXPECT_EQ(table.Get(3), nullptr);
  EXPECT_EQ(table.Get(INT64_MAX), nullptr);
  EXPECT_EQ(table.Find("weight"), 1);
  EXPECT_EQ(table.Find("weigh"), -1);
  EXPECT_EQ(table.Get(1), table.Get(1));  // expanded once
  TypeTable empty = TypeTable::Build({}, Limits(), &problems);
  EXPECT_EQ(empty.size(), 0u);
  EXPECT_EQ(empty.Get(0), nullptr);
  EXPECT_TRUE(None(problems));
}

// ---- shapes that must not cost time or memory

// 2^i leaves in type i: 2^16 are allowed, and 2^39 are never expanded.
TEST(TypeTable, ExponentialReferences) {
  Types types = {Structure("t0", {Part("a", E::kUint8)})};
  for (int i = 1; i < 40; ++i) {
    types.push_back(Structure("t" + std::to_string(i), {Part("a", Ref(i - 1)), Part("b", Ref(i - 1))}));
  }
  Problems problems;
  TypeTable table = TypeTable::Build(types, Limits(), &problems);
  EXPECT_TRUE(Only(problems, ErrorCode::kLimitLeaves, "struct_types[17]"));
  ASSERT_NE(table.Get(16), nullptr);
  EXPECT_EQ(table.Get(16)->leaves.size(), 65'536u);
  EXPECT_EQ(table.Get(16)->size_bits, 8u << 16);
  EXPECT_EQ(table.Get(16)->leaves[65'535].input_name, "b_b_b_b_b_b_b_b_b_b_b_b_b_b_b_b_a");
  for (int i = 17; i < 40; ++i) EXPECT_EQ(table.Get(i), nullptr);
}

// A chain in either order: the declaration that others need may come first or last.
TEST(TypeTable, ChainOf10000References) {
  Problems forward;
  TypeTable::Build(Chain(10'000), Limits(), &forward);
  EXPECT_TRUE(Only(forward, ErrorCode::kLimitDepth, "struct_types[63]"));

  Types types = Chain(10'000);
  std::reverse(types.begin(), types.end());
  for (size_t i = 0; i + 1 < types.size(); ++i) TypeOfField(types[i], 0) = Ref(static_cast<int32_t>(i) + 1);
  Problems backward;
  TypeTable::Build(types, Limits(), &backward);
  EXPECT_TRUE(Only(backward, ErrorCode::kLimitDepth, "struct_types[9936]"));
}

TEST(TypeTable, CycleOf10000References) {
  Types types = Chain(10'000);
  TypeOfField(types[0], 0) = Ref(9'999);
  Problems problems;
  TypeTable table = TypeTable::Build(types, Limits(), &problems);
  EXPECT_TRUE(
      Only(problems, ErrorCode::kReferenceCycle, "struct_types[1].structure.field[0].type.struct_type.type_index"));
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(table.Get(i), nullptr);
}

// One type in two fields is no cycle.
TEST(TypeTable, DiamondIsNoCycle) {
  Types types = {Structure("top", {Part("l", Ref(1)), Part("r", Ref(2))}), Structure("left", {Part("x", Ref(3))}),
                 Structure("right", {Part("x", Ref(3))}), Structure("base", {Part("v", E::kUint16)})};
  Problems problems;
  TypeTable table = TypeTable::Build(types, Limits(), &problems);
  ASSERT_TRUE(None(problems));
  EXPECT_EQ(table.Get(0)->size_bits, 32u);
  EXPECT_EQ(table.Get(0)->leaves[1].path, "r.x.v");
  EXPECT_EQ(table.Get(0)->leaves[1].bit_offset, 16u);
}

// ---- layouts, worked out by hand

struct Place {
  std::string path;
  E type;
  uint32_t bits;
  uint64_t offset;
  std::vector<uint64_t> dims;
  std::vector<uint64_t> strides;
  bool operator==(const Place&) const = default;
};
void PrintTo(const Place& p, std::ostream* out) {
  *out << p.path << " " << Name(p.type) << " " << p.bits << " bits at " << p.offset << " dims "
       << ::testing::PrintToString(p.dims) << " strides " << ::testing::PrintToString(p.strides);
}

std::shared_ptr<const CheckedType> Checked(Types types, size_t index) {
  Problems problems;
  TypeTable table = TypeTable::Build(std::move(types), Limits(), &problems);
  EXPECT_TRUE(None(problems));
  return table.Get(static_cast<int64_t>(index));
}

std::vector<Place> PlacesOf(const CheckedType& type) {
  std::vector<Place> places;
  for (const Leaf& leaf : type.leaves) {
    places.push_back({leaf.path, leaf.type, leaf.bits, leaf.bit_offset, leaf.dims, leaf.bit_strides});
  }
  return places;
}

TEST(Layout, RootArrayIsCalledValues) {
  auto type = Checked({Declare("a", Array(Array(E::kUint4, {3}), {2, 5}))}, 0);
  EXPECT_EQ(type->size_bits, 120u);
  EXPECT_THAT(PlacesOf(*type), ElementsAre(Place{"values", E::kUint4, 4, 0, {2, 5, 3}, {60, 12, 4}}));
  EXPECT_EQ(type->leaves[0].input_name, "values");
  EXPECT_EQ(type->leaves[0].Count(), 30u);
  EXPECT_EQ(type->leaves[0].EndBit(), 120u);
  EXPECT_FALSE(type->leaves[0].component);
}

// Components from the most significant bit: [sign:1, exponent:3, mantissa:2] has the mantissa in bits 0 and 1.
TEST(Layout, BitPacking) {
  auto type = Checked({Declare("code", Packing({{"sign", 1}, {"exponent", 3}, {"mantissa", 2}}, {4}))}, 0);
  EXPECT_EQ(type->size_bits, 24u);
  EXPECT_THAT(PlacesOf(*type),
              ElementsAre(Place{"sign", E::kUint8, 1, 5, {4}, {6}}, Place{"exponent", E::kUint8, 3, 2, {4}, {6}},
                          Place{"mantissa", E::kUint8, 2, 0, {4}, {6}}));
  EXPECT_TRUE(type->leaves[0].component);
  EXPECT_EQ(type->leaves[0].EndBit(), 24u);
  EXPECT_EQ(type->leaves[2].EndBit(), 20u);
}

// 3 + 9 + 64 + 17 + 33 + 8 + 2 = 136 bits an element; every component but the last straddles bytes.
TEST(Layout, ComponentsStraddleBytesAndTakeTheNarrowestType) {
  auto type = Checked(
      {Structure("s",
                 {Part("p", Packing({{"a", 3}, {"b", 9}, {"c", 64}, {"d", 17}, {"e", 33}, {"f", 8}, {"g", 2}}, {2}))})},
      0);
  EXPECT_EQ(type->size_bits, 272u);
  EXPECT_THAT(PlacesOf(*type),
              ElementsAre(Place{"p.a", E::kUint8, 3, 133, {2}, {136}}, Place{"p.b", E::kUint16, 9, 124, {2}, {136}},
                          Place{"p.c", E::kUint64, 64, 60, {2}, {136}}, Place{"p.d", E::kUint32, 17, 43, {2}, {136}},
                          Place{"p.e", E::kUint64, 33, 10, {2}, {136}}, Place{"p.f", E::kUint8, 8, 2, {2}, {136}},
                          Place{"p.g", E::kUint8, 2, 0, {2}, {136}}));
}

TEST(Layout, PackingWithoutDimensionsIsOneElement) {
  auto type = Checked({Structure("s", {Part("p", Packing({{"hi", 5}, {"lo", 3}}, {}))})}, 0);
  EXPECT_EQ(type->size_bits, 8u);
  EXPECT_THAT(PlacesOf(*type),
              ElementsAre(Place{"p.hi", E::kUint8, 5, 3, {}, {}}, Place{"p.lo", E::kUint8, 3, 0, {}, {}}));
  EXPECT_EQ(type->leaves[0].Count(), 1u);
}

// The contract's own example: ten blocks of `values[32], scale`. 32 * 8 + 16 = 272 bits a block.
TEST(Layout, ReferencesPutTheirDimensionsInFront) {
  auto type = Checked(Weight(), 1);
  EXPECT_EQ(type->size_bits, 2736u);
  EXPECT_THAT(PlacesOf(*type),
              ElementsAre(Place{"blocks.values", E::kInt8, 8, 0, {10, 32}, {272, 8}},
                          Place{"blocks.scale", E::kFloat16, 16, 256, {10}, {272}},
                          Place{"zero", E::kUint8, 8, 2720, {2}, {8}}, Place{"table", E::kFloat, 32, 0, {2}, {32}}));
  EXPECT_EQ(type->leaves[0].input_name, "blocks_values");
  EXPECT_EQ(type->leaves[0].EndBit(), 9u * 272 + 256);
  EXPECT_EQ(type->leaves[1].EndBit(), 2720u);
  EXPECT_EQ(type->FindLeaf("zero"), &type->leaves[2]);
  EXPECT_EQ(type->FindLeaf("blocks"), nullptr);
}

// Constants stand among the leaves in declaration order, take no bits, and are not repeated by the arrays around them.
TEST(Layout, ConstantsOfNestedTypes) {
  const Constant table = Tensor(E::kInt4, {3}, {0x21, 0x03});
  auto type =
      Checked({Structure("inner", {Part("x", E::kUint8), Const("t", table), Part("y", E::kInt16)}),
               Structure("outer", {Const("first", table), Part("in", Array(Ref(0), {7})), Part("z", E::kUint8)})},
              1);
  EXPECT_EQ(type->size_bits, 7u * 24 + 8);
  EXPECT_THAT(PlacesOf(*type),
              ElementsAre(Place{"first", E::kInt4, 4, 0, {3}, {4}}, Place{"in.x", E::kUint8, 8, 0, {7}, {24}},
                          Place{"in.t", E::kInt4, 4, 0, {3}, {4}}, Place{"in.y", E::kInt16, 16, 8, {7}, {24}},
                          Place{"z", E::kUint8, 8, 168, {}, {}}));
  ASSERT_NE(type->leaves[2].constant, nullptr);
  EXPECT_EQ(*type->leaves[2].constant, table);
  EXPECT_EQ(type->leaves[0].constant,
            &std::get<Constant>(std::get<StructureType>(type->declaration.root.kind).fields[0].content));
  EXPECT_EQ(type->leaves[1].constant, nullptr);
}

TEST(Layout, OneTypeTwiceUnderTwoNames) {
  auto type = Checked({Structure("pair", {Part("a", E::kInt2), Part("b", E::kFloat6E3M2)}),
                       Structure("two", {Part("first", Array(Ref(0), {2, 3})), Part("second", Ref(0)),
                                         Part("padding", Packing({{"p", 8}}, {1}))})},
                      1);
  EXPECT_EQ(type->size_bits, 64u);
  EXPECT_THAT(
      PlacesOf(*type),
      ElementsAre(Place{"first.a", E::kInt2, 2, 0, {2, 3}, {24, 8}},
                  Place{"first.b", E::kFloat6E3M2, 6, 2, {2, 3}, {24, 8}}, Place{"second.a", E::kInt2, 2, 48, {}, {}},
                  Place{"second.b", E::kFloat6E3M2, 6, 50, {}, {}}, Place{"padding.p", E::kUint8, 8, 56, {1}, {8}}));
}

TEST(Layout, DimensionZeroTakesNoBits) {
  const uint64_t huge = uint64_t{1} << 40;
  auto type = Checked({Structure("s", {Part("none", Array(E::kUint16, {0})),
                                       Part("wide", Array(E::kFloat, {huge, 0, huge})), Part("x", E::kUint8)})},
                      0);
  EXPECT_EQ(type->size_bits, 8u);
  EXPECT_EQ(type->leaves[0].Count(), 0u);
  EXPECT_EQ(type->leaves[0].EndBit(), 0u);
  EXPECT_EQ(type->leaves[1].Count(), 0u);
  EXPECT_EQ(type->leaves[1].dims, (std::vector<uint64_t>{huge, 0, huge}));
  EXPECT_EQ(type->leaves[2].bit_offset, 0u);
}

TEST(Layout, EmptyStructureAndEmptyPacking) {
  auto type = Checked({Structure("none", {}), Structure("s", {Part("a", Ref(0)), Part("p", Packing({}, {5}))})}, 1);
  EXPECT_EQ(type->size_bits, 0u);
  EXPECT_THAT(type->leaves, IsEmpty());
}

// 2^64 - 8 bits, the largest size in whole bytes.
TEST(Layout, LargestSize) {
  auto type = Checked({Declare("a", Array(E::kUint8, {kTwo61 - 1}))}, 0);
  EXPECT_EQ(type->size_bits, ~uint64_t{7});
  EXPECT_EQ(type->leaves[0].EndBit(), ~uint64_t{7});
}

TEST(Layout, WidthOfEveryElementType) {
  const std::vector<std::pair<E, uint64_t>> widths = {
      {E::kFloat, 32},       {E::kUint8, 8},      {E::kInt8, 8},           {E::kUint16, 16},        {E::kInt16, 16},
      {E::kInt32, 32},       {E::kInt64, 64},     {E::kBool, 8},           {E::kFloat16, 16},       {E::kDouble, 64},
      {E::kUint32, 32},      {E::kUint64, 64},    {E::kComplex64, 64},     {E::kComplex128, 128},   {E::kBfloat16, 16},
      {E::kFloat8E4M3FN, 8}, {E::kFloat8E5M2, 8}, {E::kFloat8E4M3FNUZ, 8}, {E::kFloat8E5M2FNUZ, 8}, {E::kUint4, 4},
      {E::kInt4, 4},         {E::kFloat4E2M1, 4}, {E::kFloat8E8M0, 8},     {E::kUint2, 2},          {E::kInt2, 2},
      {E::kFloat6E2M3, 6},   {E::kFloat6E3M2, 6}};
  size_t fixed = 0;
  for (const ElementInfo& row : AllElementTypes()) fixed += IsFixedWidth(row.type);
  EXPECT_EQ(widths.size(), fixed);
  for (auto [element, bits] : widths) {
    auto type = Checked({Declare("a", Array(element, {12}))}, 0);
    EXPECT_EQ(type->size_bits, 12 * bits) << Name(element);
    EXPECT_EQ(type->leaves[0].type, element);
    EXPECT_EQ(type->leaves[0].bits, bits);
  }
}

TEST(Layout, InputNamesReplaceEveryByteThatIsNoWordCharacter) {
  auto type = Checked({Structure("in", {Part("x y", E::kUint8), Part("_Z9", E::kUint8)}),
                       Structure("s", {Part("a-b", Ref(0)), Part("\xC3\xA9", E::kUint8), Part("9", E::kUint8)})},
                      1);
  std::vector<std::string> names;
  for (const Leaf& leaf : type->leaves) names.push_back(leaf.input_name);
  EXPECT_THAT(names, ElementsAre("a_b_x_y", "a_b__Z9", "__", "9"));
  EXPECT_EQ(type->leaves[0].path, "a-b.x y");
}

// A part of others may end inside a byte; used alone it is checked where it is used.
TEST(Layout, PartsMayEndInsideAByte) {
  auto type = Checked({Declare("nibbles", Array(E::kInt4, {3})),
                       Structure("s", {Part("a", Ref(0)), Part("padding", Packing({{"p", 4}}, {1}))})},
                      1);
  EXPECT_EQ(type->size_bits, 16u);
  EXPECT_EQ(type->leaves[1].bit_offset, 12u);
}

// ---- declarations inside a value

TEST(CheckInline, RefersToTheTable) {
  Problems problems;
  TypeTable table = TypeTable::Build(Weight(), Limits(), &problems);
  StructType inline_type = Structure("", {Part("b", Ref(0)), Part("c", Ref(2))});
  inline_type.name.reset();  // a name is for declarations of the table
  Path where("value");
  auto type = table.CheckInline(inline_type, where, &problems);
  ASSERT_TRUE(None(problems));
  EXPECT_EQ(type->size_bits, 272u + 24);
  EXPECT_EQ(type->leaves[4].path, "c.mantissa");

  TypeOfField(inline_type, 1) = Ref(3);
  EXPECT_EQ(table.CheckInline(inline_type, where, &problems), nullptr);
  EXPECT_TRUE(Only(problems, ErrorCode::kTypeIndex, "value.structure.field[1].type.struct_type.type_index"));
}

TEST(CheckInline, NeedsATypeThatIsInOrder) {
  Types types = Weight();
  Fields(types[0])[1].name = "";
  Problems of_table;
  TypeTable table = TypeTable::Build(types, Limits(), &of_table);
  ASSERT_EQ(of_table.count(), 1u);
  Problems problems;
  Path where("value");
  StructType inline_type = Structure("", {Part("b", Array(Ref(0), {2})), Part("c", Ref(2))});
  EXPECT_EQ(table.CheckInline(inline_type, where, &problems), nullptr);
  EXPECT_TRUE(Only(problems, ErrorCode::kTypeInvalid,
                   "value.structure.field[0].type.struct_type.array.element_type.struct_type.type_index"));
}

TEST(CheckInline, IsAWholeNumberOfBytesAndHasARoot) {
  TypeTable table;
  Problems none;
  table = TypeTable::Build({}, Limits(), &none);
  Path where("v");
  Problems bits;
  EXPECT_EQ(table.CheckInline(Declare("", Array(E::kInt4, {3})), where, &bits), nullptr);
  EXPECT_TRUE(Only(bits, ErrorCode::kSizeBits, "v"));
  Problems root;
  EXPECT_EQ(table.CheckInline(StructType(), where, &root), nullptr);
  EXPECT_TRUE(Only(root, ErrorCode::kRootKind, "v"));
  EXPECT_NE(table.CheckInline(Declare("", Array(E::kInt4, {4})), where, &none), nullptr);
  EXPECT_TRUE(None(none));
}

TEST(CheckInline, LeavesCountAgainstTheFile) {
  Limits limits;
  limits.total_leaves = 3;
  Problems problems;
  TypeTable table = TypeTable::Build({}, limits, &problems);
  Path where("v");
  EXPECT_NE(table.CheckInline(ManyFields("a", 2), where, &problems), nullptr);
  EXPECT_TRUE(None(problems));
  EXPECT_EQ(table.CheckInline(ManyFields("b", 2), where, &problems), nullptr);
  EXPECT_TRUE(Only(problems, ErrorCode::kLimitLeaves, "v"));
}

}  // namespace
}  // namespace tessera
