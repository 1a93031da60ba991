// What holds for every profile, shown with random ones. A failure names its seed and prints the profile.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/quant/profile.h"
#include "tessera/quant/profile_text.h"
#include "tessera/quant/testing/random_profile.h"
#include "tessera/quant/translate.h"
#include "tessera/quant/validate.h"
#include "tessera/types/notation.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace {

using Shape = std::vector<int64_t>;

// ---- An independent count of the bytes of a profile

uint64_t Elements(const Shape& shape) {
  uint64_t product = 1;
  for (int64_t dim : shape) product *= static_cast<uint64_t>(dim);
  return product;
}

// What a value takes in the declaration of its profile, and what it wants stored further out.
struct Bits {
  uint64_t own = 0;
  uint64_t beside_tiles = 0;  // in the declaration of the innermost tiling around
  uint64_t at_root = 0;       // in that of the outermost
};

const Spelling& PartOf(const Spelling& spelling, size_t index) {
  static const Spelling* const kByRule = new Spelling();
  return index < spelling.parts.size() ? spelling.parts[index] : *kByRule;
}

class Sizer {
 public:
  explicit Sizer(std::optional<uint64_t> outliers) : outliers_(outliers) {}

  uint64_t Bytes(const Profile& profile, const Spelling& spelling, const Shape& shape) {
    return Declaration(profile, spelling, shape, {}, false).own / 8;
  }

 private:
  Bits Declaration(const Profile& profile, const Spelling& spelling, const Shape& shape, const Shape& grid,
                   bool in_tile) {
    const uint64_t n = Elements(shape);
    Bits bits;
    size_t parts = 0;
    if (const auto* linear = std::get_if<LinearProfile>(&profile.kind)) {
      bits.own = Codes(n, linear->bits, linear->storage_type, spelling.code_type);
    } else if (const auto* codebook = std::get_if<CodebookProfile>(&profile.kind)) {
      bits.own = 8 * IndexBytes(*codebook, n);
    } else if (const auto* fp = std::get_if<FloatingPointProfile>(&profile.kind)) {
      const uint64_t width = fp->sign_bits + fp->exponent_bits + fp->mantissa_bits;
      const uint64_t groups = fp->packed_count == 0 ? 0 : CeilDiv(n, fp->packed_count);
      bits.own = fp->packed_count == 0 ? n * width : groups * fp->packed_bytes * 8;
      if (spelling.code_type == ElementType::kUint8) bits.own = CeilDiv(bits.own, 8) * 8;
      const bool padded = fp->packed_count * width != uint64_t(fp->packed_bytes) * 8;
      if (!spelling.code_type && (fp->split_storage || padded) && fp->packed_count != 0 && groups != 1) parts = 1;
    } else if (const auto* sparse = std::get_if<SparseProfile>(&profile.kind)) {
      bits = Declaration(*sparse->base_quant, PartOf(spelling, 0), shape, grid, in_tile);
      const auto by_ratio = static_cast<uint64_t>(std::ceil(double{sparse->outlier_ratio} * static_cast<double>(n)));
      bits.own += outliers_.value_or(by_ratio) * (64 + BitWidth(sparse->outlier_data_type));
    } else if (const auto* log = std::get_if<LogProfile>(&profile.kind)) {
      bits.own = Codes(n, log->bits, UnsignedOf(log->bits), spelling.code_type);
      if (log->has_sign) bits.own += CeilDiv(n, 8) * 8;
    } else if (const auto* function = std::get_if<FunctionProfile>(&profile.kind)) {
      bits.own = function->block_layout ? BlockBits(*function->block_layout, n)
                                        : Codes(n, function->bits, function->storage_type, spelling.code_type);
    } else if (const auto* cast = std::get_if<CastProfile>(&profile.kind)) {
      bits.own = n * BitWidth(cast->storage_type);
    } else if (const auto* block = std::get_if<StructuredBlockProfile>(&profile.kind)) {
      bits.own = BlockBits(block->block_layout, n);
    } else if (const auto* tiling = std::get_if<TilingProfile>(&profile.kind)) {
      bits = Tiles(*tiling, spelling, shape, in_tile);
    }
    const auto* linear = std::get_if<LinearProfile>(&profile.kind);
    ForEachStored(profile, [&](const Stored& stored) {
      const int32_t axis = linear != nullptr ? linear->axis : 0;
      const bool nested = std::holds_alternative<Box<Profile>>(stored.type);
      Shape values = {1};
      if (stored.per == Stored::Per::kChannel) values = {shape[axis]};
      if (stored.per == Stored::Per::kTile && nested) values = grid;
      const uint64_t size =
          nested ? Declaration(*std::get<Box<Profile>>(stored.type), PartOf(spelling, parts), values, {}, false).own
                 : Elements(values) * BitWidth(std::get<ElementType>(stored.type));
      if (nested) ++parts;
      if (stored.per == Stored::Per::kTile && nested)
        bits.beside_tiles += size;
      else if (stored.per == Stored::Per::kTensor && in_tile)
        bits.at_root += size;
      else
        bits.own += size;
    });
    bits.own = CeilDiv(bits.own, 8) * 8;
    return bits;
  }

  Bits Tiles(const TilingProfile& tiling, const Spelling& spelling, const Shape& shape, bool in_tile) {
    Shape tile = shape;
    Shape grid;
    if (tiling.axes.empty()) {
      const auto n = static_cast<int64_t>(Elements(shape));
      tile = {tiling.tile_shape[0] == 0 ? n : tiling.tile_shape[0]};
      grid = {tile[0] == 0 ? 1 : n / tile[0]};
    } else {
      std::vector<int32_t> order = tiling.perm;
      for (size_t i = order.size(); i < shape.size(); ++i) order.push_back(static_cast<int32_t>(i));
      for (size_t i = 0; i < tiling.axes.size(); ++i) {
        if (tiling.tile_shape[i] != 0) tile[tiling.axes[i]] = tiling.tile_shape[i];
      }
      for (int32_t axis : order) {
        if (std::find(tiling.axes.begin(), tiling.axes.end(), axis) != tiling.axes.end())
          grid.push_back(tile[axis] == 0 ? 1 : shape[axis] / tile[axis]);
      }
      if (Elements(grid) == 1) grid = {1};
    }
    const uint64_t tiles = Elements(grid);
    const uint64_t n = Elements(tile);
    Bits bits;
    if (IsMerged(tiling)) {
      const Profile& first = tiling.elem_quant.front();
      if (const auto* linear = std::get_if<LinearProfile>(&first.kind)) {
        const bool whole = n * linear->bits % 8 == 0;
        const bool packed = spelling.code_type ? *spelling.code_type == ElementType::kUint8 : !whole;
        bits.own = packed ? tiles * CeilDiv(n * linear->bits, 8) * 8
                          : tiles * Codes(n, linear->bits, linear->storage_type, spelling.code_type);
      } else {
        bits.own = tiles * 8 * IndexBytes(std::get<CodebookProfile>(first.kind), n);
      }
      return bits;
    }
    std::vector<const Profile*> distinct;
    std::vector<uint64_t> sizes;
    for (uint64_t i = 0; i < std::max<uint64_t>(tiles, 1); ++i) {
      const Profile& elem = tiling.elem_quant[i % tiling.elem_quant.size()];
      size_t kind = 0;
      while (kind < distinct.size() && *distinct[kind] != elem) ++kind;
      if (kind == distinct.size()) {
        distinct.push_back(&elem);
        const Bits one = Declaration(elem, PartOf(spelling, kind), tile, grid, true);
        sizes.push_back(one.own);
        bits.own += one.beside_tiles;
        (in_tile ? bits.at_root : bits.own) += one.at_root;
      }
      if (tiles > 0) bits.own += sizes[kind];
    }
    return bits;
  }

  static ElementType UnsignedOf(int32_t bits) {
    for (const ElementInfo& info : AllElementTypes()) {
      if (info.kind == ElementKind::kUnsigned && int32_t{info.bits} == bits) return info.type;
    }
    return ElementType::kUint8;
  }

  static uint64_t Codes(uint64_t n, int32_t bits, ElementType type, std::optional<ElementType> asked) {
    const ElementType declared = asked.value_or(type);
    const bool native = static_cast<int32_t>(BitWidth(declared)) == bits;
    return native ? n * bits : CeilDiv(n * bits, 8) * 8;
  }

  static uint64_t IndexBytes(const CodebookProfile& codebook, uint64_t n) {
    const uint64_t vector = codebook.vector_size == 0 ? 1 : codebook.vector_size;
    const uint64_t books = codebook.num_codebooks == 0 ? 1 : codebook.num_codebooks;
    const uint64_t indices = n / vector * books;
    if (codebook.packed_count == 0) return CeilDiv(indices * codebook.index_bits, 8);
    return CeilDiv(indices, codebook.packed_count) * codebook.packed_bytes;
  }

  static uint64_t BlockBits(const BlockLayout& layout, uint64_t n) {
    return n / layout.block_size * layout.bytes_per_block * 8;
  }

  std::optional<uint64_t> outliers_;
};

// ---- Properties

std::string Describe(const Profile& profile, const Shape& shape, std::string_view what) {
  return fmt::format("{}\nshape {}\n{}", what, ShapeText(shape), PrintProfile(profile));
}

std::string Describe(const std::vector<StructType>& types) { return "\n" + PrintNotation(types); }

::testing::AssertionResult PrintsAndParses(const Profile& profile) {
  const std::string text = PrintProfile(profile);
  Result<ProfileText> parsed = ParseProfiles(text, {});
  if (!parsed) return ::testing::AssertionFailure() << parsed.error().Format() << "\n" << text;
  if (parsed->profiles.size() != 1) {
    return ::testing::AssertionFailure() << parsed->profiles.size() << " profiles in\n" << text;
  }
  if (parsed->profiles[0] != profile) {
    return ::testing::AssertionFailure() << text << "\nbecame\n" << PrintProfile(parsed->profiles[0]);
  }
  return ::testing::AssertionSuccess();
}

// What was translated is right for the checker, goes through text, and comes back as `profile` with nothing to infer.
::testing::AssertionResult ComesBack(const std::vector<StructType>& types, const Profile& profile, const Shape& shape) {
  auto failure = [&](std::string_view what) { return ::testing::AssertionFailure() << what << Describe(types); };
  Problems problems;
  const TypeTable table = TypeTable::Build(types, {}, &problems);
  if (!problems.empty()) return failure("the checker: " + problems.list().front().Format());
  if (table.Get(static_cast<int64_t>(types.size()) - 1)->size_bits % 8 != 0) return failure("is not whole bytes");
  const Result<NotationResult> text = ParseNotation(PrintNotation(types), {});
  if (!text) return failure("as text: " + text.error().Format());
  if (!text->unbound.empty() || text->types != types) return failure("changed in the struct notation");

  const Result<RecoveredProfile> back = RecoverProfile(types);
  if (!back) return failure("not recovered: " + back.error().Format());
  if (back->shape != shape) return failure("came back with shape " + ShapeText(back->shape));
  if (back->profile != Resolved(profile)) return failure("came back as\n" + PrintProfile(back->profile));
  const Result<std::vector<StructType>> again = TranslateProfile(back->profile, back->shape, back->options);
  if (!again) return failure("what came back does not translate: " + again.error().Format());
  if (*again != types) return failure("what came back translates to\n" + PrintNotation(*again));
  // A second time, with the shape given.
  const Result<RecoveredProfile> twice = RecoverProfile(*again, shape);
  if (!twice) return failure("not recovered with the shape given: " + twice.error().Format());
  if (twice->profile != back->profile || twice->options.spelling != back->options.spelling ||
      twice->options.outliers != back->options.outliers) {
    return failure("came back differently the second time");
  }
  return ::testing::AssertionSuccess();
}

// How often something occurred in profiles that translated.
class Occurrences {
 public:
  void Count(const RandomCase& random_case) {
    ForEachProfile(random_case.profile, [&](const Profile& profile) {
      ++counts_[std::string(NamesOf(profile).field)];
      ForEachStored(profile, [&](const Stored& stored) {
        constexpr std::string_view kPer[] = {"tile", "channel", "tensor"};
        const bool nested = std::holds_alternative<Box<Profile>>(stored.type);
        ++counts_[fmt::format("stored per {} {} {}", kPer[static_cast<size_t>(stored.per)],
                              stored.at == Stored::At::kBefore ? "before" : "after", nested ? "profile" : "type")];
      });
      const auto* linear = std::get_if<LinearProfile>(&profile.kind);
      if (linear != nullptr && std::holds_alternative<Stored>(linear->zero_point)) ++counts_["stored zero point"];
      if (const auto* tiling = std::get_if<TilingProfile>(&profile.kind)) {
        for (const Profile& elem : tiling->elem_quant) {
          if (std::holds_alternative<TilingProfile>(elem.kind)) ++counts_["tiling in tiling"];
        }
        if (!tiling->axes.empty()) ++counts_["axes"];
        if (!tiling->perm.empty()) ++counts_["perm"];
      }
      if (const auto* sparse = std::get_if<SparseProfile>(&profile.kind)) {
        if (std::holds_alternative<TilingProfile>(sparse->base_quant->kind)) ++counts_["sparse over tiling"];
      }
      if (const auto* codebook = std::get_if<CodebookProfile>(&profile.kind)) {
        ++counts_[codebook->index_bits == 0     ? "codebook digits"
                  : codebook->packed_count == 0 ? "codebook run"
                                                : "codebook groups"];
      }
      if (const auto* fp = std::get_if<FloatingPointProfile>(&profile.kind)) {
        ++counts_[fmt::format("float {}{}", fp->split_storage ? "split" : "whole",
                              fp->packed_count == 0 ? "" : " in groups")];
      }
      if (const auto* function = std::get_if<FunctionProfile>(&profile.kind)) {
        if (function->block_layout) ++counts_["function with blocks"];
      }
      if (const auto* block = std::get_if<StructuredBlockProfile>(&profile.kind)) {
        ++counts_[block->storage_order == BlockStorageOrder::kInterleaved ? "interleaved" : "sequential"];
        if (block->scatter) ++counts_["scatter"];
        if (block->index_formula.size() > 1) ++counts_["formula"];
      }
      for (const std::optional<Rotation>& rotation : {profile.pre_rotation, profile.post_rotation}) {
        if (rotation) ++counts_[rotation->matrix_type == RotationType::kPlain ? "plain matrix" : "hadamard"];
      }
      if (profile.data_type) ++counts_["data_type"];
      if (profile.doc_string) ++counts_["doc_string"];
      if (!profile.metadata.empty()) ++counts_["metadata"];
    });
    if (Elements(random_case.shape) == 0) ++counts_["no values"];
    if (random_case.shape.empty()) ++counts_["scalar"];
  }
  void Count(const std::vector<StructType>& types) {
    for (const StructType& type : types) {
      const auto* structure = std::get_if<StructureType>(&type.root.kind);
      if (structure == nullptr) continue;
      auto has = [&](std::string_view name, bool constant) {
        return std::any_of(structure->fields.begin(), structure->fields.end(), [&](const Field& field) {
          return field.name == name && std::holds_alternative<Constant>(field.content) == constant;
        });
      };
      const bool merged = has("scales", true) || has("zero_points", true);
      if (merged) ++counts_[has("elem_quant_count", true) ? "merged and cycled" : "merged"];
      // A record of the cycle's tiles, or the fields of a list that is as long as the tiles.
      if (!merged && has("elem_quant_count", true)) ++counts_["mixed"];
      if (type.Name().ends_with("_CYCLE")) ++counts_["mixed and cycled"];
      if (has("tail", false)) ++counts_["cycle with a tail"];
    }
  }
  void ExpectEach(int least) const {
    std::vector<std::string> wanted = {"stored zero point",
                                       "tiling in tiling",
                                       "axes",
                                       "perm",
                                       "sparse over tiling",
                                       "codebook digits",
                                       "codebook run",
                                       "codebook groups",
                                       "float split",
                                       "float whole",
                                       "float split in groups",
                                       "float whole in groups",
                                       "function with blocks",
                                       "interleaved",
                                       "sequential",
                                       "scatter",
                                       "formula",
                                       "plain matrix",
                                       "hadamard",
                                       "data_type",
                                       "doc_string",
                                       "metadata",
                                       "no values",
                                       "scalar",
                                       "merged",
                                       "merged and cycled",
                                       "mixed",
                                       "mixed and cycled",
                                       "cycle with a tail"};
    for (const FamilyNames& names : kFamilyNames) wanted.emplace_back(names.field);
    for (const char* per : {"tile", "channel", "tensor"}) {
      for (const char* at : {"before", "after"}) {
        for (const char* kind : {"type", "profile"})
          wanted.push_back(fmt::format("stored per {} {} {}", per, at, kind));
      }
    }
    for (const std::string& what : wanted) {
      auto found = counts_.find(what);
      EXPECT_GE(found == counts_.end() ? 0 : found->second, least) << what;
    }
  }

 private:
  std::map<std::string, int> counts_;
};

TEST(ProfileProperty, ValidProfilesTranslateAndComeBack) {
  Occurrences occurrences;
  for (uint64_t seed = 0; seed < 12'000; ++seed) {
    RandomSource random(seed);
    const RandomCase random_case = RandomProfile(&random);
    const auto& [profile, shape, outliers] = random_case;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ASSERT_TRUE(PrintsAndParses(profile));
    Problems problems;
    ValidateProfile(profile, Path(), {}, &problems);
    ASSERT_TRUE(problems.empty()) << Describe(profile, shape, problems.list().front().Format());

    TranslateOptions options = random_case.Options();
    if (seed % 2 == 1) options.spelling = RandomSpelling(&random, random_case);
    const Result<std::vector<StructType>> types = TranslateProfile(profile, shape, options);
    ASSERT_TRUE(types) << Describe(profile, shape, types.error().Format());
    ASSERT_TRUE(ComesBack(*types, profile, shape)) << Describe(profile, shape, "translated");
    Problems none;
    const TypeTable table = TypeTable::Build(*types, {}, &none);
    ASSERT_EQ(table.Get(static_cast<int64_t>(types->size()) - 1)->size_bits / 8,
              Sizer(outliers).Bytes(profile, options.spelling, shape))
        << Describe(profile, shape, "translated") << Describe(*types);
    occurrences.Count(*types);
    occurrences.Count(random_case);
  }
  occurrences.ExpectEach(100);
}

// A spelling is found again: what was asked for stands in the declarations.
TEST(ProfileProperty, TheSpellingComesBack) {
  int different = 0;
  for (uint64_t seed = 0; seed < 4'000; ++seed) {
    RandomSource random(seed);
    const RandomCase random_case = RandomProfile(&random);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    TranslateOptions options = random_case.Options();
    const Result<std::vector<StructType>> plain = TranslateProfile(random_case.profile, random_case.shape, options);
    options.spelling = RandomSpelling(&random, random_case);
    const Result<std::vector<StructType>> spelled = TranslateProfile(random_case.profile, random_case.shape, options);
    ASSERT_TRUE(plain) << plain.error().Format();
    ASSERT_TRUE(spelled) << spelled.error().Format();
    if (!options.spelling.name.empty()) {
      EXPECT_EQ(spelled->back().Name(), options.spelling.name);
    }
    different += *plain != *spelled ? 1 : 0;
    const Result<RecoveredProfile> back = RecoverProfile(*spelled);
    ASSERT_TRUE(back) << back.error().Format();
    if (!options.spelling.name.empty()) {
      EXPECT_EQ(back->options.spelling.name, options.spelling.name);
    }
    EXPECT_EQ(back->profile, Resolved(random_case.profile));
  }
  EXPECT_GT(different, 3'000);
}

// Validation and translation agree, and what translates comes back.
void ExpectInOrderOrRefused(const Profile& profile, const Shape& shape, std::optional<uint64_t> outliers,
                            int* translated) {
  Problems problems;
  ValidateProfile(profile, Path(), {}, &problems);
  TranslateOptions options;
  options.outliers = outliers;
  const Result<std::vector<StructType>> types = TranslateProfile(profile, shape, options);
  if (!problems.empty()) {
    ASSERT_FALSE(types) << Describe(profile, shape, "translated in spite of " + problems.list().front().Format());
    for (const Error& error : problems.list()) ASSERT_FALSE(error.what.empty()) << error.Format();
  }
  if (!types) {
    ASSERT_FALSE(types.error().what.empty());
    return;
  }
  ++*translated;
  ASSERT_TRUE(ComesBack(*types, profile, shape)) << Describe(profile, shape, "translated");
}

TEST(ProfileProperty, AnyProfilePrintsAndIsRefusedOrTranslates) {
  const std::vector<Shape> shapes = {{}, {0}, {6}, {4, 8}, {2, 3, 5}, {-1}, {INT64_MAX, 3}};
  int translated = 0;
  int refused = 0;
  for (uint64_t seed = 0; seed < 12'000; ++seed) {
    RandomSource random(seed);
    const Profile profile = RandomAnyProfile(&random);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ASSERT_TRUE(PrintsAndParses(profile));
    const int before = translated;
    ASSERT_NO_FATAL_FAILURE(
        ExpectInOrderOrRefused(profile, shapes[random.Below(shapes.size())], std::nullopt, &translated));
    refused += translated == before ? 1 : 0;
  }
  EXPECT_GT(refused, 10'000);
  EXPECT_GT(translated, 100);
}

TEST(ProfileProperty, OneChangeIsRefusedOrTranslates) {
  int translated = 0;
  int refused = 0;
  for (uint64_t seed = 0; seed < 12'000; ++seed) {
    RandomSource random(seed);
    const RandomCase random_case = RandomProfile(&random);
    Profile profile = random_case.profile;
    MutateProfile(&random, &profile);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ASSERT_TRUE(PrintsAndParses(profile));
    const int before = translated;
    ASSERT_NO_FATAL_FAILURE(ExpectInOrderOrRefused(profile, random_case.shape, random_case.outliers, &translated));
    refused += translated == before ? 1 : 0;
  }
  EXPECT_GT(refused, 2'000);
  EXPECT_GT(translated, 2'000);
}

// ---- Declarations that were not made by a translation

// Changes one thing in one declaration: a name, a field, a number.
void MutateType(RandomSource* random, StructType* type) {
  auto* structure = std::get_if<StructureType>(&type->root.kind);
  if (structure == nullptr || structure->fields.empty() || random->OneIn(10)) {
    switch (random->Below(4)) {
      case 0:
        type->name = RandomString(random);
        return;
      case 1:
        type->doc_string = RandomString(random);
        return;
      case 2:
        if (!type->metadata.empty()) {
          type->metadata[random->Below(type->metadata.size())].value = RandomString(random);
          return;
        }
        [[fallthrough]];
      default:
        type->metadata.push_back({random->OneIn(2) ? "tessera.scale" : RandomString(random), "per=tile, at=after"});
        return;
    }
  }
  std::vector<Field>& fields = structure->fields;
  Field& field = fields[random->Below(fields.size())];
  switch (random->Below(6)) {
    case 0:
      field.name = random->OneIn(2) ? fields[random->Below(fields.size())].name + "_0" : RandomString(random);
      return;
    case 1:
      fields.erase(fields.begin() + (&field - fields.data()));
      return;
    case 2:
      std::swap(field, fields[random->Below(fields.size())]);
      return;
    case 3: {
      const Field copy = field;
      fields.push_back(copy);
      fields.back().name += "_1";
      return;
    }
    default:
      break;
  }
  if (auto* constant = std::get_if<Constant>(&field.content)) {
    if (constant->bytes.empty() || random->OneIn(8)) {
      *constant = RandomConstant(random);
    } else if (random->OneIn(3)) {
      constant->dims.push_back(1);
    } else {
      constant->bytes[random->Below(constant->bytes.size())] ^= static_cast<uint8_t>(1u << random->Below(8));
    }
  } else if (auto* part = std::get_if<PhysicalType>(&field.content)) {
    if (auto* array = std::get_if<ArrayType>(&part->kind)) {
      if (random->OneIn(4))
        array->element = PhysicalType{ScalarType{AllElementTypes()[random->Below(AllElementTypes().size())].type}};
      else if (random->OneIn(4))
        array->dims.push_back(random->Below(4));
      else
        array->dims[random->Below(array->dims.size())] += random->OneIn(2) ? 1 : ~uint64_t{0};
    } else if (auto* packing = std::get_if<BitPackingType>(&part->kind)) {
      packing->components[0].bits += random->OneIn(2) ? 1 : ~0u;
    } else if (auto* reference = std::get_if<TypeReference>(&part->kind)) {
      reference->index = static_cast<int32_t>(random->Below(4)) - 1;
    }
  }
}

uint64_t SizeOfRoot(const std::vector<StructType>& types) {
  Problems problems;
  const TypeTable table = TypeTable::Build(types, {}, &problems);
  const auto root = table.Get(static_cast<int64_t>(types.size()) - 1);
  return root == nullptr ? UINT64_MAX : root->size_bits;
}

TEST(ProfileProperty, AChangedDeclarationIsNoProfileOrAnotherOne) {
  int recovered = 0;
  int refused = 0;
  for (uint64_t seed = 0; seed < 12'000; ++seed) {
    RandomSource random(seed);
    const RandomCase random_case = RandomProfile(&random);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Result<std::vector<StructType>> types =
        TranslateProfile(random_case.profile, random_case.shape, random_case.Options());
    ASSERT_TRUE(types) << types.error().Format();
    MutateType(&random, &(*types)[random.Below(types->size())]);
    const Result<RecoveredProfile> back = RecoverProfile(*types);
    if (!back) {
      ++refused;
      ASSERT_FALSE(back.error().what.empty()) << back.error().Format();
      continue;
    }
    ++recovered;
    const Result<std::vector<StructType>> again = TranslateProfile(back->profile, back->shape, back->options);
    ASSERT_TRUE(again) << again.error().Format() << Describe(*types);
    ASSERT_EQ(SizeOfRoot(*again), SizeOfRoot(*types)) << Describe(*types) << Describe(*again);
    ASSERT_TRUE(ComesBack(*again, back->profile, back->shape)) << Describe(*types);
  }
  EXPECT_GT(refused, 2'000);
  EXPECT_GT(recovered, 2'000);
}

// The metadata only says what a caller may know: without its shape, and with the shape given, a profile is the same.
TEST(ProfileProperty, TheShapeMayBeGiven) {
  int found = 0;
  for (uint64_t seed = 0; seed < 4'000; ++seed) {
    RandomSource random(seed);
    const RandomCase random_case = RandomProfile(&random);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Result<std::vector<StructType>> types =
        TranslateProfile(random_case.profile, random_case.shape, random_case.Options());
    ASSERT_TRUE(types) << types.error().Format();
    std::erase_if(types->back().metadata, [](const Metadata& entry) { return entry.key == "tessera.shape"; });
    const Result<RecoveredProfile> given = RecoverProfile(*types, random_case.shape);
    ASSERT_TRUE(given) << given.error().Format() << Describe(*types);
    ASSERT_TRUE(given->profile == Resolved(random_case.profile)) << Describe(*types);
    // Nobody says it: a list of all values, or an error.
    const Result<RecoveredProfile> open = RecoverProfile(*types);
    if (!open) continue;
    ++found;
    ASSERT_EQ(open->shape.size(), 1u) << Describe(*types);
    // Groups of codes are taken as full.
    const auto* fp = std::get_if<FloatingPointProfile>(&random_case.profile.kind);
    const uint64_t group = fp != nullptr && fp->packed_count > 0 ? fp->packed_count : 1;
    ASSERT_EQ(static_cast<uint64_t>(open->shape[0]), CeilDiv(Elements(random_case.shape), group) * group)
        << Describe(*types);
  }
  EXPECT_GT(found, 500);
}

}  // namespace
}  // namespace tessera
