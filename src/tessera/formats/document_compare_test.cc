// The comparison with the founding document, by differences that are planted one at a time.
#include "tessera/formats/testing/document_compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/formats/testing/profile_compare.h"
#include "tessera/types/testing/type_builders.h"

namespace tessera {
namespace {

using build::Array;
using build::Const;
using build::Declare;
using build::Fields;
using build::Packing;
using build::Part;
using build::Ref;
using build::Scalar;
using build::Structure;
using build::Tensor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Types = std::vector<StructType>;

Types Example() {
  StructType tile = Declare("TILE", Array(ElementType::kUint4, {4, 8}));
  StructType block = Structure("BLOCK", {Part("codes", Array(ElementType::kUint8, {6})),
                                         Part("packed", Packing({{"sign", 1}, {"exponent", 3}}, {4})),
                                         Part("scale", Array(ElementType::kFloat16, {1})), Part("tile", Ref(0)),
                                         Const("bits", Tensor(ElementType::kInt32, {}, {3, 0, 0, 0})),
                                         Const("table", Tensor(ElementType::kUint8, {4}, {1, 2, 3, 4}))});
  StructType root =
      Structure("ROOT", {Part("blocks", Array(Ref(1), {10})), Part("base", Ref(0)),
                         Const("tile_shape", Tensor(ElementType::kInt64, {1}, {8, 0, 0, 0, 0, 0, 0, 0}))});
  root.metadata = {{"op", "vendor::Op"}};
  return {tile, block, root};
}

std::vector<Difference> Compare(const Types& ours, const Types& document) {
  auto differences = CompareDeclarations(ours, document);
  EXPECT_TRUE(differences) << differences.error().Format();
  return differences ? *differences : std::vector<Difference>{};
}

TEST(DocumentCompare, EqualTypesHaveNoDifference) { EXPECT_THAT(Compare(Example(), Example()), IsEmpty()); }

TEST(DocumentCompare, WhatHasNoMeaningIsNoDifference) {
  Types ours = Example();
  ours[1].doc_string = "documentation";
  ours[2].metadata.push_back({"tessera.shape", "4096"});
  Fields(ours[1])[0].doc_string = "of a field";
  std::swap(Fields(ours[1])[4], Fields(ours[1])[5]);  // the order of constants
  build::ConstantOfField(ours[1], 4).storage = Constant::Storage::kTyped;
  // The order of the declarations.
  StructType other = Structure("OTHER", {Part("values", Array(ElementType::kUint8, {1}))});
  Types document = Example();
  for (Types* types : {&ours, &document}) {
    types->insert(types->begin() + 1, other);
    build::TypeOfField((*types)[2], 3) = Ref(0);
    build::TypeOfField((*types)[3], 0) = Array(Ref(2), {10});
    Fields((*types)[3]).push_back(Part("other", Ref(1)));
  }
  std::swap(document[0], document[1]);
  build::TypeOfField(document[2], 3) = Ref(1);
  build::TypeOfField(document[3], 1) = Ref(1);
  build::TypeOfField(document[3], 2 + 1) = Ref(0);
  EXPECT_THAT(Compare(ours, document), IsEmpty());
}

struct Plant {
  const char* name;
  std::function<void(Types*)> change;  // of ours
  std::vector<Difference> expected;
};

std::vector<Plant> Plants() {
  using Kind = DifferenceKind;
  return {
      {"DeclarationOnlyOurs",
       [](Types* t) { t->push_back(Structure("NEW_ROOT", {Part("value", Ref(2))})); },
       {{Kind::kDeclarationOnlyOurs, "NEW_ROOT", "", "no such declaration", "declaration `NEW_ROOT`"}}},
      {"DeclarationOfAnotherName",
       [](Types* t) { (*t)[0].name = "SHEET"; },
       {{Kind::kDeclarationMissing, "TILE", "", "declaration `TILE`", "no such declaration"},
        {Kind::kNesting, "BLOCK", "tile", "`tile`: TILE", "SHEET"},
        {Kind::kNesting, "ROOT", "base", "`base`: TILE", "SHEET"},
        {Kind::kDeclarationOnlyOurs, "SHEET", "", "no such declaration", "declaration `SHEET`"}}},
      {"RootOfAnotherKind",
       [](Types* t) { (*t)[0] = Structure("TILE", {Part("values", Array(ElementType::kUint4, {4, 8}))}); },
       {{Kind::kNesting, "TILE", "", "`TILE` is an array", "a structure"}}},
      {"FieldMissing",
       [](Types* t) { Fields((*t)[1]).erase(Fields((*t)[1]).begin() + 2); },
       {{Kind::kFieldMissing, "BLOCK", "scale", "`scale`: FLOAT16[1]", "`BLOCK` has no such field"},
        {Kind::kFieldPlace, "BLOCK", "tile", "`tile` from bit 80", "from bit 64"},
        // What follows from it is told as well.
        {Kind::kFieldPlace, "ROOT", "base", "`base` from bit 2080", "from bit 1920"}}},
      {"FieldOnlyOurs",
       [](Types* t) { Fields((*t)[2]).push_back(Part("padding", Array(ElementType::kUint8, {3}))); },
       {{Kind::kFieldOnlyOurs, "ROOT", "padding", "no such field", "`padding`: UINT8[3]"}}},
      {"FieldOrder",
       [](Types* t) { std::swap(Fields((*t)[2])[0], Fields((*t)[2])[1]); },
       {{Kind::kFieldPlace, "ROOT", "blocks", "`blocks` from bit 0", "from bit 128"},
        {Kind::kFieldPlace, "ROOT", "base", "`base` from bit 2080", "from bit 0"},
        {Kind::kFieldOrder, "ROOT", "", "`ROOT`: blocks, base", "base, blocks"}}},
      {"ArrayOfElementsForStructures",
       [](Types* t) { build::TypeOfField((*t)[2], 1) = Array(ElementType::kUint8, {16}); },
       {{Kind::kNesting, "ROOT", "base", "`base`: TILE", "UINT8[16]"}}},
      {"ElementType",
       [](Types* t) { build::TypeOfField((*t)[1], 0) = Array(ElementType::kInt8, {6}); },
       {{Kind::kElementType, "BLOCK", "codes", "`codes`: UINT8[6]", "INT8[6]"}}},
      {"ElementTypeOfARootArray",
       [](Types* t) { (*t)[0].root = Array(ElementType::kInt4, {4, 8}); },
       {{Kind::kElementType, "TILE", "", "`TILE`: UINT4[4, 8]", "INT4[4, 8]"}}},
      {"Components",
       [](Types* t) { build::TypeOfField((*t)[1], 1) = Packing({{"sign", 2}, {"exponent", 2}}, {4}); },
       {{Kind::kElementType, "BLOCK", "packed", "`packed`: bit_packing(sign:1, exponent:3)[4]",
         "bit_packing(sign:2, exponent:2)[4]"}}},
      {"PackingForAnArray",
       [](Types* t) { build::TypeOfField((*t)[1], 1) = Array(ElementType::kUint4, {4}); },
       {{Kind::kElementType, "BLOCK", "packed", "`packed`: bit_packing(sign:1, exponent:3)[4]", "UINT4[4]"}}},
      {"Count",
       [](Types* t) { build::TypeOfField((*t)[1], 3 - 1) = Array(ElementType::kFloat16, {2}); },
       {{Kind::kCount, "BLOCK", "scale", "`scale`: FLOAT16[1]", "FLOAT16[2]"},
        {Kind::kFieldPlace, "BLOCK", "tile", "`tile` from bit 80", "from bit 96"},
        {Kind::kFieldPlace, "ROOT", "base", "`base` from bit 2080", "from bit 2240"}}},
      {"Dims",
       [](Types* t) { build::TypeOfField((*t)[2], 0) = Array(Ref(1), {2, 5}); },
       {{Kind::kDims, "ROOT", "blocks", "`blocks`: BLOCK[10]", "BLOCK[2, 5]"}}},
      {"DimsOfARootArray",
       [](Types* t) { (*t)[0].root = Array(ElementType::kUint4, {8, 4}); },
       {{Kind::kDims, "TILE", "", "`TILE`: UINT4[4, 8]", "UINT4[8, 4]"}}},
      {"ScalarForOneElement",
       [](Types* t) { build::TypeOfField((*t)[1], 2) = Scalar(ElementType::kFloat16); },
       {{Kind::kDims, "BLOCK", "scale", "`scale`: FLOAT16[1]", "FLOAT16"}}},
      {"ConstantMissing",
       [](Types* t) { Fields((*t)[1]).erase(Fields((*t)[1]).begin() + 4); },
       {{Kind::kConstantMissing, "BLOCK", "bits", "constant `bits`: INT32 3", "`BLOCK` has no such constant"}}},
      {"ConstantOnlyOurs",
       [](Types* t) { Fields((*t)[2]).push_back(Const("axis", Tensor(ElementType::kUint8, {}, {7}))); },
       {{Kind::kConstantOnlyOurs, "ROOT", "axis", "no such constant", "constant `axis`: UINT8 7"}}},
      {"ConstantForAField",
       [](Types* t) { Fields((*t)[1])[2] = Const("scale", Tensor(ElementType::kFloat, {}, {0, 0, 128, 63})); },
       {{Kind::kFieldMissing, "BLOCK", "scale", "`scale`: FLOAT16[1]", "`BLOCK` has no such field"},
        {Kind::kFieldPlace, "BLOCK", "tile", "`tile` from bit 80", "from bit 64"},
        {Kind::kConstantOnlyOurs, "BLOCK", "scale", "no such constant", "constant `scale`: FLOAT 1.0"},
        {Kind::kFieldPlace, "ROOT", "base", "`base` from bit 2080", "from bit 1920"}}},
      {"ConstantType",
       [](Types* t) { build::ConstantOfField((*t)[1], 5).type = ElementType::kInt8; },
       {{Kind::kConstantType, "BLOCK", "table", "constant `table`: UINT8[4] [1, 2, 3, 4]", "INT8[4] [1, 2, 3, 4]"}}},
      {"ConstantDims",
       [](Types* t) { build::ConstantOfField((*t)[1], 5).dims = {2, 2}; },
       {{Kind::kConstantDims, "BLOCK", "table", "constant `table`: UINT8[4] [1, 2, 3, 4]",
         "UINT8[2, 2] [1, 2, 3, 4]"}}},
      {"ConstantValue",
       [](Types* t) { build::ConstantOfField((*t)[1], 5).bytes[3] = 5; },
       {{Kind::kConstantValue, "BLOCK", "table", "constant `table`: UINT8[4] [1, 2, 3, 4]", "UINT8[4] [1, 2, 3, 5]"}}},
      {"MetadataMissing",
       [](Types* t) { (*t)[2].metadata.clear(); },
       {{Kind::kMetadata, "ROOT", "op", "metadata `op`: `vendor::Op`", "`ROOT` has no such entry"}}},
      {"MetadataOnlyOurs",
       [](Types* t) { (*t)[0].metadata = {{"note", "text"}}; },
       {{Kind::kMetadata, "TILE", "note", "no such entry", "metadata `note`: `text`"}}},
      {"MetadataOfOurOwn",
       [](Types* t) { (*t)[0].metadata = {{"tessera.scale", "per=tile"}}; },
       {{Kind::kMetadata, "TILE", "tessera.scale", "no such entry", "metadata `tessera.scale`: `per=tile`"}}},
  };
}

TEST(DocumentCompare, FindsWhatIsPlanted) {
  std::set<DifferenceKind> seen;
  for (const Plant& plant : Plants()) {
    SCOPED_TRACE(plant.name);
    Types ours = Example();
    plant.change(&ours);
    EXPECT_EQ(Compare(ours, Example()), plant.expected);
    for (const Difference& difference : plant.expected) seen.insert(difference.kind);
  }
  // Every kind of declarations is planted.
  for (int kind = 1; kind <= static_cast<int>(DifferenceKind::kMetadata); ++kind) {
    EXPECT_EQ(seen.count(static_cast<DifferenceKind>(kind)), 1u) << Name(static_cast<DifferenceKind>(kind));
  }
}

TEST(DocumentCompare, SeveralAreAllReported) {
  Types ours = Example();
  build::ConstantOfField(ours[1], 5).bytes[0] = 9;
  build::ConstantOfField(ours[1], 4).bytes[0] = 4;
  build::TypeOfField(ours[2], 0) = Array(Ref(1), {11});
  std::vector<DifferenceKind> kinds;
  for (const Difference& difference : Compare(ours, Example())) kinds.push_back(difference.kind);
  EXPECT_THAT(kinds, ElementsAre(DifferenceKind::kConstantValue, DifferenceKind::kConstantValue, DifferenceKind::kCount,
                                 DifferenceKind::kFieldPlace));
}

TEST(DocumentCompare, LongConstantsAreShortened) {
  Types ours = Example();
  build::ConstantOfField(ours[1], 5) = Tensor(ElementType::kUint8, {200}, std::vector<uint8_t>(200, 7));
  const auto differences = Compare(ours, Example());
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_LT(differences[0].ours.size(), 80u);
  EXPECT_THAT(differences[0].ours, ::testing::EndsWith(", ...]"));
}

TEST(DocumentCompare, TypesThatAreWrongAreErrors) {
  Types wrong = Example();
  build::TypeOfField(wrong[2], 1) = Ref(7);
  EXPECT_FALSE(CompareDeclarations(wrong, Example()));
  EXPECT_FALSE(CompareDeclarations(Example(), wrong));
}

TEST(DocumentCompare, KindsHaveNames) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(DifferenceKind::kMetadata); ++kind) {
    EXPECT_TRUE(names.insert(Name(static_cast<DifferenceKind>(kind))).second);
  }
}

// ---- profiles

Profile Of(Profile::Kind family) {
  Profile profile;
  profile.kind = std::move(family);
  return profile;
}

Profile LinearOf(int32_t bits, Scale scale) {
  LinearProfile linear;
  linear.storage_type = ElementType::kUint8;
  linear.bits = bits;
  linear.scale = std::move(scale);
  return Of(linear);
}

Profile Tiled(std::vector<Profile> parts) {
  TilingProfile tiling;
  tiling.tile_shape = {16};
  tiling.elem_quant = std::move(parts);
  return Of(tiling);
}

TEST(ProfileCompare, EqualProfilesHaveNoDifference) {
  const Profile profile = Tiled({LinearOf(5, 0.5f), LinearOf(5, ScaleExponent{-3})});
  EXPECT_THAT(CompareProfiles(profile, profile), IsEmpty());
}

TEST(ProfileCompare, ADifferenceIsOneField) {
  Stored stored;
  stored.type = ElementType::kFloat16;
  EXPECT_THAT(CompareProfiles(Tiled({LinearOf(5, stored)}), Tiled({LinearOf(5, {})})),
              ElementsAre(Difference{DifferenceKind::kProfile, "", "tiling.elem_quant[0].linear.scale",
                                     "profile: `scale` absent", "`scale` stored(FLOAT16, per=tile, at=before)"}));
  EXPECT_THAT(CompareProfiles(Tiled({LinearOf(5, 0.5f)}), Tiled({LinearOf(6, 0.5f)})),
              ElementsAre(Difference{DifferenceKind::kProfile, "", "tiling.elem_quant[0].linear.bits",
                                     "profile: `bits` 6", "`bits` 5"}));
  EXPECT_THAT(
      CompareProfiles(LinearOf(5, 2.0f), LinearOf(5, ScaleExponent{1})),
      ElementsAre(Difference{DifferenceKind::kProfile, "", "linear.scale", "profile: `scale` 2^1", "`scale` 2"}));
}

TEST(ProfileCompare, WhatOnlyOneHasIsADifference) {
  const Profile one = Tiled({LinearOf(5, 0.5f)});
  const Profile two = Tiled({LinearOf(5, 0.5f), LinearOf(5, 0.5f)});
  EXPECT_FALSE(CompareProfiles(one, two).empty());
  EXPECT_EQ(CompareProfiles(one, two).size(), CompareProfiles(two, one).size());
  const auto family = CompareProfiles(LinearOf(5, 0.5f), Of(CastProfile{ElementType::kUint8}));
  ASSERT_FALSE(family.empty());
  EXPECT_EQ(family[0].document, "profile: `kind` cast");
  EXPECT_EQ(family[0].ours, "`kind` linear");
}

// A field that the list forgets would never differ: each of these is one edit away.
TEST(ProfileCompare, EveryFieldIsListed) {
  const std::vector<std::function<void(Profile*)>> edits = {
      [](Profile* p) { p->data_type = ElementType::kFloat; }, [](Profile* p) { p->doc_string = ""; },
      [](Profile* p) { p->metadata = {{"key", "value"}}; },   [](Profile* p) { p->pre_rotation = Rotation{}; },
      [](Profile* p) { p->post_rotation = Rotation{}; },
  };
  for (size_t i = 0; i < edits.size(); ++i) {
    Profile edited = LinearOf(5, 0.5f);
    edits[i](&edited);
    EXPECT_FALSE(CompareProfiles(edited, LinearOf(5, 0.5f)).empty()) << i;
  }
  auto edit = [](auto family, auto change) {
    const Profile before = Of(family);
    change(&family);
    EXPECT_FALSE(CompareProfiles(Of(family), before).empty()) << NamesOf(before).field;
  };
  edit(LinearProfile{}, [](auto* f) { f->storage_type = ElementType::kInt8; });
  edit(LinearProfile{}, [](auto* f) { f->symmetric = true; });
  edit(LinearProfile{}, [](auto* f) { f->zero_point = int64_t{1}; });
  edit(LinearProfile{}, [](auto* f) { f->axis = 1; });
  edit(CodebookProfile{}, [](auto* f) { f->scale = 1.0f; });
  edit(CodebookProfile{}, [](auto* f) { f->codebook_data.values = {1}; });
  edit(CodebookProfile{}, [](auto* f) { f->codebook_data.parameter = "codebook_data"; });
  edit(CodebookProfile{}, [](auto* f) { f->packed_count = 1; });
  edit(CodebookProfile{}, [](auto* f) { f->packed_bytes = 1; });
  edit(CodebookProfile{}, [](auto* f) { f->num_codebooks = 1; });
  edit(CodebookProfile{}, [](auto* f) { f->codebook_size = 1; });
  edit(CodebookProfile{}, [](auto* f) { f->vector_size = 1; });
  edit(CodebookProfile{}, [](auto* f) { f->index_bits = 1; });
  edit(FloatingPointProfile{}, [](auto* f) { f->sign_bits = 1; });
  edit(FloatingPointProfile{}, [](auto* f) { f->exponent_bits = 1; });
  edit(FloatingPointProfile{}, [](auto* f) { f->mantissa_bits = 1; });
  edit(FloatingPointProfile{}, [](auto* f) { f->exponent_bias = 1; });
  edit(FloatingPointProfile{}, [](auto* f) { f->has_inf = true; });
  edit(FloatingPointProfile{}, [](auto* f) { f->has_nan = true; });
  edit(FloatingPointProfile{}, [](auto* f) { f->split_storage = true; });
  edit(FloatingPointProfile{}, [](auto* f) { f->packed_count = 1; });
  edit(FloatingPointProfile{}, [](auto* f) { f->packed_bytes = 1; });
  edit(FloatingPointProfile{}, [](auto* f) { f->scale = 1.0f; });
  edit(SparseProfile{}, [](auto* f) { f->base_quant = LinearOf(5, 0.5f); });
  edit(SparseProfile{}, [](auto* f) { f->outlier_data_type = ElementType::kInt8; });
  edit(SparseProfile{}, [](auto* f) { f->outlier_threshold = 1; });
  edit(SparseProfile{}, [](auto* f) { f->outlier_ratio = 1; });
  edit(LogProfile{}, [](auto* f) { f->bits = 1; });
  edit(LogProfile{}, [](auto* f) { f->base = 1; });
  edit(LogProfile{}, [](auto* f) { f->offset = 1; });
  edit(LogProfile{}, [](auto* f) { f->has_sign = true; });
  edit(FunctionProfile{}, [](auto* f) { f->storage_type = ElementType::kInt8; });
  edit(FunctionProfile{}, [](auto* f) { f->bits = 1; });
  edit(FunctionProfile{}, [](auto* f) { f->quantize_op = "op"; });
  edit(FunctionProfile{}, [](auto* f) { f->dequantize_op = "op"; });
  edit(FunctionProfile{}, [](auto* f) { f->block_layout = BlockLayout{}; });
  edit(TilingProfile{}, [](auto* f) { f->tile_shape = {1}; });
  edit(TilingProfile{}, [](auto* f) { f->axes = {1}; });
  edit(TilingProfile{}, [](auto* f) { f->perm = {1}; });
  edit(CastProfile{}, [](auto* f) { f->storage_type = ElementType::kInt8; });
  edit(StructuredBlockProfile{}, [](auto* f) { f->block_layout.block_size = 1; });
  edit(StructuredBlockProfile{}, [](auto* f) { f->block_layout.bytes_per_block = 1; });
  edit(StructuredBlockProfile{}, [](auto* f) { f->block_layout.fields.resize(1); });
  edit(StructuredBlockProfile{}, [](auto* f) { f->codebook_data.values = {1}; });
  edit(StructuredBlockProfile{}, [](auto* f) { f->codebook_vector_size = 1; });
  edit(StructuredBlockProfile{}, [](auto* f) { f->index_formula.resize(1); });
  edit(StructuredBlockProfile{}, [](auto* f) { f->scatter = Scatter{}; });
  edit(StructuredBlockProfile{}, [](auto* f) { f->storage_order = BlockStorageOrder::kSequential; });
  edit(StructuredBlockProfile{}, [](auto* f) { f->axis = 1; });
}

}  // namespace
}  // namespace tessera
