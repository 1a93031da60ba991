// What the notation of profiles means, and that it comes back. Its errors are in profile_text_errors_test.cc.
#include "tessera/quant/profile_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tessera/quant/profile_fields.h"
#include "tessera/types/element_value.h"

// Expected profiles name the fields that are not at their default; gcc 12 wants the others named as well.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

ProfileText ParseAll(const std::string& text, const NotationOptions& options = {}) {
  auto result = ParseProfiles(text, options);
  if (!result) {
    ADD_FAILURE() << result.error().Format() << "\n" << text;
    return {};
  }
  return *std::move(result);
}

Profile ParseOne(const std::string& text, const NotationOptions& options = {}) {
  ProfileText result = ParseAll(text, options);
  EXPECT_THAT(result.unbound, IsEmpty()) << text;
  EXPECT_EQ(result.profiles.size(), 1u) << text;
  return result.profiles.empty() ? Profile() : result.profiles[0];
}

// A profile with these fields.
Profile ParseFields(const std::string& fields, const NotationOptions& options = {}) {
  return ParseOne("QuantizationProto { " + fields + " }", options);
}

template <typename Family>
Family ParseFamily(const std::string& fields, const NotationOptions& options = {}) {
  const Profile profile = ParseFields(fields, options);
  const Family* family = std::get_if<Family>(&profile.kind);
  if (family == nullptr) {
    ADD_FAILURE() << "another family: " << fields;
    return {};
  }
  return *family;
}

void ExpectComesBack(const Profile& profile) {
  const std::string text = PrintProfile(profile);
  SCOPED_TRACE(text);
  const ProfileText again = ParseAll(text);
  ASSERT_EQ(again.profiles.size(), 1u);
  EXPECT_EQ(again.profiles[0], profile);
  EXPECT_EQ(PrintProfile(again.profiles[0]), text);
}

Constant FloatConstant(const std::vector<float>& values) {
  Constant constant;
  constant.type = ElementType::kFloat;
  constant.dims = {static_cast<int64_t>(values.size())};
  constant.bytes.resize(values.size() * 4);
  for (size_t i = 0; i < values.size(); ++i)
    StoreCode(constant.bytes, constant.type, i, std::bit_cast<uint32_t>(values[i]));
  return constant;
}

// ---- each field of each message

template <IsMessage Message>
std::vector<std::string> NamesOfFields() {
  std::vector<std::string> names;
  ForEachField<Message>([&](const auto& row) { ForEachName(row, [&](auto name) { names.emplace_back(name); }); });
  return names;
}

TEST(ProfileText, FieldsAreThoseOfTheDocument) {
  EXPECT_THAT(NamesOfFields<Profile>(), ElementsAre("doc_string", "metadata_props", "data_type", "pre_rotation",
                                                    "post_rotation", "linear", "codebook", "floating_point", "sparse",
                                                    "log", "function", "tiling", "cast", "structured_block"));
  EXPECT_THAT(NamesOfFields<LinearProfile>(), ElementsAre("storage_type", "bits", "symmetric", "scale_float",
                                                          "scale_int", "scale", "zero_point", "axis"));
  EXPECT_THAT(NamesOfFields<CodebookProfile>(),
              ElementsAre("scale_float", "scale_int", "scale", "codebook_data", "packed_count", "packed_bytes",
                          "num_codebooks", "codebook_size", "vector_size", "index_bits"));
  EXPECT_THAT(NamesOfFields<FloatingPointProfile>(),
              ElementsAre("sign_bits", "exponent_bits", "mantissa_bits", "exponent_bias", "has_inf", "has_nan",
                          "split_storage", "packed_count", "packed_bytes", "scale_float", "scale_int", "scale"));
  EXPECT_THAT(NamesOfFields<SparseProfile>(),
              ElementsAre("base_quant", "outlier_data_type", "outlier_threshold", "outlier_ratio"));
  EXPECT_THAT(NamesOfFields<LogProfile>(), ElementsAre("bits", "base", "offset", "has_sign"));
  EXPECT_THAT(NamesOfFields<FunctionProfile>(),
              ElementsAre("storage_type", "bits", "quantize_op", "dequantize_op", "block_layout"));
  EXPECT_THAT(NamesOfFields<TilingProfile>(), ElementsAre("tile_shape", "axes", "elem_quant", "perm"));
  EXPECT_THAT(NamesOfFields<CastProfile>(), ElementsAre("storage_type"));
  EXPECT_THAT(NamesOfFields<StructuredBlockProfile>(),
              ElementsAre("block_layout", "codebook_data", "codebook_vector_size", "index_formula", "scatter",
                          "storage_order", "axis"));
  EXPECT_THAT(NamesOfFields<BlockLayout>(), ElementsAre("block_size", "bytes_per_block", "fields"));
  EXPECT_THAT(NamesOfFields<BlockField>(), ElementsAre("role", "bit_offset", "bit_width", "count", "data_type"));
  EXPECT_THAT(NamesOfFields<FieldWeight>(), ElementsAre("field", "multiplier"));
  EXPECT_THAT(NamesOfFields<Scatter>(), ElementsAre("group_size", "vector_size", "stride"));
  EXPECT_THAT(NamesOfFields<Rotation>(), ElementsAre("matrix_type", "type", "dims", "matrix_index", "matrix"));
}

// Values that no field has by default.
void Fill(ElementType* value) { *value = ElementType::kBfloat16; }
void Fill(RotationType* value) { *value = RotationType::kPlain; }
void Fill(BlockStorageOrder* value) { *value = BlockStorageOrder::kSequential; }
void Fill(BlockFieldRole* value) { *value = BlockFieldRole::kMask; }
void Fill(int32_t* value) { *value = INT32_MIN; }
void Fill(int64_t* value) { *value = INT64_MIN; }
void Fill(bool* value) { *value = true; }
void Fill(float* value) { *value = -0.0F; }
void Fill(std::string* value) { *value = "a::\"B\"\n\xff"; }
void Fill(Scale* value) { *value = Stored{.type = ElementType::kFloat16}; }
void Fill(ZeroPoint* value) { *value = Stored{.type = ElementType::kInt8, .per = Stored::Per::kTensor}; }
void Fill(FloatData* value) { value->values = {1.5F, -0.0F, 1e-45F, 0.1F}; }
void Fill(Profile::Kind* value) { *value = CastProfile{ElementType::kFloat}; }
void Fill(Metadata* value) { *value = {"key", ""}; }
void Fill(Box<Profile>* value) { Fill(&(*value)->kind); }
template <IsMessage Message>
void Fill(Message* message);
template <typename T>
void Fill(std::optional<T>* value) {
  Fill(&value->emplace());
}
template <typename T>
void Fill(std::vector<T>* value) {
  value->resize(3);
  Fill(&value->back());
}
template <IsMessage Message>
void Fill(Message* message) {
  ForEachField<Message>([&](const auto& row) { Fill(&(message->*row.member)); });
}

// A profile that the message is a part of.
Profile Around(const Profile& profile) { return profile; }
Profile Around(const BlockLayout& layout) { return Profile{.kind = StructuredBlockProfile{.block_layout = layout}}; }
Profile Around(const BlockField& field) { return Around(BlockLayout{.fields = {field}}); }
Profile Around(const FieldWeight& weight) {
  return Profile{.kind = StructuredBlockProfile{.index_formula = {weight, FieldWeight()}}};
}
Profile Around(const Scatter& scatter) { return Profile{.kind = StructuredBlockProfile{.scatter = scatter}}; }
Profile Around(const Rotation& rotation) { return Profile{.pre_rotation = rotation}; }
template <typename Family>
Profile Around(const Family& family) {
  return Profile{.kind = family};
}

template <IsMessage Message>
void ExpectEachFieldComesBack() {
  SCOPED_TRACE(Fields<Message>::kName);
  const std::string plain = PrintProfile(Around(Message()));
  ForEachField<Message>([&](const auto& row) {
    SCOPED_TRACE(row.name);
    Message message;
    Fill(&(message.*row.member));
    const Profile profile = Around(message);
    const std::string text = PrintProfile(profile);
    EXPECT_NE(text, plain);
    bool named = false;
    ForEachName(row, [&](std::string_view name) { named |= text.find(std::string(name) + ": ") != std::string::npos; });
    EXPECT_TRUE(named) << text;
    ExpectComesBack(profile);
  });
  Message all;
  Fill(&all);
  ExpectComesBack(Around(all));
  ExpectComesBack(Around(Message()));
}

TEST(ProfileText, EveryFieldComesBackAlone) {
  ExpectEachFieldComesBack<Profile>();
  ExpectEachFieldComesBack<LinearProfile>();
  ExpectEachFieldComesBack<CodebookProfile>();
  ExpectEachFieldComesBack<FloatingPointProfile>();
  ExpectEachFieldComesBack<SparseProfile>();
  ExpectEachFieldComesBack<LogProfile>();
  ExpectEachFieldComesBack<FunctionProfile>();
  ExpectEachFieldComesBack<TilingProfile>();
  ExpectEachFieldComesBack<CastProfile>();
  ExpectEachFieldComesBack<StructuredBlockProfile>();
  ExpectEachFieldComesBack<BlockLayout>();
  ExpectEachFieldComesBack<BlockField>();
  ExpectEachFieldComesBack<FieldWeight>();
  ExpectEachFieldComesBack<Scatter>();
  ExpectEachFieldComesBack<Rotation>();
}

// ---- what a text means

TEST(ProfileText, Linear) {
  EXPECT_EQ(ParseFamily<LinearProfile>("linear: LinearUniformProto { storage_type: INT4, bits: 3, symmetric: true, "
                                       "scale_float: 0.02, zero_point: -7, axis: -1 }"),
            (LinearProfile{.storage_type = ElementType::kInt4,
                           .bits = 3,
                           .symmetric = true,
                           .scale = 0.02F,
                           .zero_point = int64_t{-7},
                           .axis = -1}));
  EXPECT_EQ(ParseFamily<LinearProfile>("linear: { scale_int: -3 }"), (LinearProfile{.scale = ScaleExponent{-3}}));
}

TEST(ProfileText, Codebook) {
  EXPECT_EQ(ParseFamily<CodebookProfile>("codebook: CodebookProto { scale_float: 0.5, codebook_data: [-1.0, [0, 1]], "
                                         "packed_count: 5, packed_bytes: 1 num_codebooks: 2 codebook_size: 3 "
                                         "vector_size: 4 index_bits: 6 }"),
            (CodebookProfile{.scale = 0.5F,
                             .codebook_data = {.values = {-1, 0, 1}},
                             .packed_count = 5,
                             .packed_bytes = 1,
                             .num_codebooks = 2,
                             .codebook_size = 3,
                             .vector_size = 4,
                             .index_bits = 6}));
}

TEST(ProfileText, FloatingPoint) {
  EXPECT_EQ(ParseFamily<FloatingPointProfile>(
                "floating_point: FloatingPointUniformProto { sign_bits: 1, exponent_bits: 3, mantissa_bits: 2, "
                "exponent_bias: 4, has_inf: true, has_nan: 1, split_storage: true, packed_count: 4, packed_bytes: 3, "
                "scale_int: 2 }"),
            (FloatingPointProfile{.sign_bits = 1,
                                  .exponent_bits = 3,
                                  .mantissa_bits = 2,
                                  .exponent_bias = 4,
                                  .has_inf = true,
                                  .has_nan = true,
                                  .split_storage = true,
                                  .packed_count = 4,
                                  .packed_bytes = 3,
                                  .scale = ScaleExponent{2}}));
}

TEST(ProfileText, SparseLogFunctionCast) {
  EXPECT_EQ(ParseFamily<SparseProfile>("sparse: SparseQuantizationProto { base_quant: QuantizationProto { cast: "
                                       "CastUniformProto { storage_type: FLOAT } } outlier_data_type: FLOAT16 "
                                       "outlier_threshold: 6 outlier_ratio: 0.01 }"),
            (SparseProfile{.base_quant = Profile{.kind = CastProfile{ElementType::kFloat}},
                           .outlier_data_type = ElementType::kFloat16,
                           .outlier_threshold = 6,
                           .outlier_ratio = 0.01F}));
  EXPECT_EQ(ParseFamily<LogProfile>("log: LogUniformProto { bits: 4, base: 2.0, offset: -7.0, has_sign: true }"),
            (LogProfile{.bits = 4, .base = 2, .offset = -7, .has_sign = true}));
  EXPECT_EQ(ParseFamily<FunctionProfile>("function: FunctionUniformProto { storage_type: UINT4, bits: 4, quantize_op: "
                                         "\"v::Q\", dequantize_op: \"v::D\", block_layout: { block_size: 2 } }"),
            (FunctionProfile{.storage_type = ElementType::kUint4,
                             .bits = 4,
                             .quantize_op = "v::Q",
                             .dequantize_op = "v::D",
                             .block_layout = BlockLayout{.block_size = 2}}));
  EXPECT_EQ(ParseFamily<CastProfile>("cast: CastUniformProto { storage_type: BFLOAT16 }"),
            CastProfile{ElementType::kBfloat16});
}

TEST(ProfileText, Tiling) {
  const Profile a{.kind = CastProfile{ElementType::kFloat}};
  const Profile b{.kind = CastProfile{ElementType::kInt8}};
  const TilingProfile expected{.tile_shape = {32, 0}, .axes = {0, -1}, .elem_quant = {a, b}, .perm = {1, 0}};
  EXPECT_EQ(ParseFamily<TilingProfile>("tiling: TilingQuantizationProto { tile_shape: [32, 0], axes: [0, -1], "
                                       "elem_quant: [QuantizationProto { cast: { storage_type: FLOAT } }, { cast: { "
                                       "storage_type: INT8 } },], perm: [1, 0] }"),
            expected);
  // Lists grow with each occurrence, whatever stands between.
  EXPECT_EQ(ParseFamily<TilingProfile>("tiling: { tile_shape: 32 axes: 0 elem_quant: { cast: { storage_type: FLOAT } } "
                                       "perm: [1] tile_shape: [0] axes: [-1] perm: 0 "
                                       "elem_quant: [{ cast: { storage_type: INT8 } }] tile_shape: [] }"),
            expected);
}

TEST(ProfileText, StructuredBlock) {
  EXPECT_EQ(
      ParseFamily<StructuredBlockProfile>(
          "structured_block: StructuredBlockUniformProto { block_layout: BlockLayoutProto { block_size: 256, "
          "bytes_per_block: 42, fields: [BlockFieldProto { role: CODE, bit_offset: 1, bit_width: 2, count: 3, "
          "data_type: 0 }, { role: 2, data_type: FLOAT16 }] }, codebook_data: [0.5], codebook_vector_size: 4, "
          "index_formula: [FieldWeightProto { field: SIGN, multiplier: 16 }, { field: MASK }], scatter: ScatterProto { "
          "group_size: 64, vector_size: 4, stride: 16 }, storage_order: SEQUENTIAL, axis: 0 }"),
      (StructuredBlockProfile{
          .block_layout = {.block_size = 256,
                           .bytes_per_block = 42,
                           .fields = {{.role = BlockFieldRole::kCode, .bit_offset = 1, .bit_width = 2, .count = 3},
                                      {.role = BlockFieldRole::kScale, .data_type = ElementType::kFloat16}}},
          .codebook_data = {.values = {0.5F}},
          .codebook_vector_size = 4,
          .index_formula = {{BlockFieldRole::kSign, 16}, {BlockFieldRole::kMask, 0}},
          .scatter = Scatter{.group_size = 64, .vector_size = 4, .stride = 16},
          .storage_order = BlockStorageOrder::kSequential,
          .axis = 0}));
}

TEST(ProfileText, TheProfileItself) {
  const Profile profile = ParseFields(
      "data_type: FLOAT16, doc_string: \"d\", metadata_props: { key: \"k\" value: \"v\" } "
      "metadata_props: [StringStringEntryProto { value: \"w\" }, {}], pre_rotation: RotationProto { matrix_type: "
      "PLAIN, "
      "dims: [2, 2], matrix_index: 7, matrix: [1, 2, 3, 4] }, post_rotation: { type: HADAMARD, dims: 8 }, "
      "log: { }");
  EXPECT_EQ(profile, (Profile{.kind = LogProfile(),
                              .data_type = ElementType::kFloat16,
                              .doc_string = "d",
                              .metadata = {{"k", "v"}, {"", "w"}, {"", ""}},
                              .pre_rotation = Rotation{.matrix_type = RotationType::kPlain,
                                                       .dims = {2, 2},
                                                       .matrix_index = 7,
                                                       .matrix = {.values = {1, 2, 3, 4}}},
                              .post_rotation = Rotation{.dims = {8}}}));
  EXPECT_EQ(ParseFields(""), Profile());
  EXPECT_EQ(ParseFields("data_type: 0"), Profile{.data_type = ElementType::kUndefined});
}

TEST(ProfileText, Stored) {
  using Per = Stored::Per;
  using At = Stored::At;
  const struct {
    const char* text;
    Stored stored;
  } kRows[] = {
      {"stored(FLOAT16)", {ElementType::kFloat16, Per::kTile, At::kBefore}},
      {"stored(FLOAT16,)", {ElementType::kFloat16, Per::kTile, At::kBefore}},
      {"stored(10, per=channel)", {ElementType::kFloat16, Per::kChannel, At::kBefore}},
      {"stored(INT8, at=after)", {ElementType::kInt8, Per::kTile, At::kAfter}},
      {"stored(UNDEFINED, at=before, per=tensor,)", {ElementType::kUndefined, Per::kTensor, At::kBefore}},
      {"stored(QuantizationProto { cast: { storage_type: INT8 } }, per=tensor)",
       {Box<Profile>(Profile{.kind = CastProfile{ElementType::kInt8}}), Per::kTensor, At::kBefore}},
      {"stored({ linear: { scale: stored({ log: {} }, at=after) } })",
       {Box<Profile>(Profile{.kind = LinearProfile{.scale = Stored{.type = Box<Profile>(Profile{.kind = LogProfile()}),
                                                                   .at = At::kAfter}}}),
        Per::kTile, At::kBefore}},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.text);
    const auto linear = ParseFamily<LinearProfile>(fmt::format("linear: {{ scale: {0}, zero_point: {0} }}", row.text));
    EXPECT_EQ(linear, (LinearProfile{.scale = row.stored, .zero_point = row.stored}));
    ExpectComesBack(Profile{.kind = linear});
    // What is printed alone is what the notation reads.
    EXPECT_EQ(ParseFamily<CodebookProfile>("codebook: { scale: " + PrintStored(row.stored) + " }").scale,
              Scale(row.stored));
  }
  EXPECT_EQ(PrintStored(kRows[0].stored), "stored(FLOAT16, per=tile, at=before)");
  EXPECT_EQ(PrintStored(kRows[5].stored),
            "stored(QuantizationProto { cast: CastUniformProto { storage_type: INT8 } }, per=tensor, at=before)");
}

TEST(ProfileText, BlanksCommasAndCommentsMeanNothing) {
  const Profile expected{.kind = LogProfile{.bits = 4, .base = 2}, .data_type = ElementType::kFloat};
  for (const char* text : {"QuantizationProto{data_type:FLOAT log:{bits:4 base:2}}",
                           "QuantizationProto { data_type: 1, log: LogUniformProto { base: 2.0, bits: 0x4, }, }",
                           "# first\nQuantizationProto // second\n{ log: /* third */ {\n\tbits: 2 + 2\r\n"
                           "base: bits(0x40000000) } data_type: FLOAT }, "}) {
    EXPECT_EQ(ParseOne(text), expected) << text;
  }
  const ProfileText two = ParseAll("QuantizationProto { log: {} } QuantizationProto { cast: {} },");
  ASSERT_EQ(two.profiles.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<LogProfile>(two.profiles[0].kind));
  EXPECT_TRUE(std::holds_alternative<CastProfile>(two.profiles[1].kind));
  EXPECT_EQ(ParseAll(PrintProfiles(two.profiles)).profiles, two.profiles);
}

TEST(ProfileText, EveryEnumeratorByNameAndNumber) {
  for (const ElementInfo& info : AllElementTypes()) {
    const CastProfile expected{info.type};
    EXPECT_EQ(ParseFamily<CastProfile>(fmt::format("cast: {{ storage_type: {} }}", info.name)), expected);
    EXPECT_EQ(ParseFamily<CastProfile>(fmt::format("cast: {{ storage_type: {} }}", static_cast<int>(info.type))),
              expected);
  }
  for (int32_t number = 0; number < 8; ++number) {
    const BlockFieldRole role = *BlockFieldRoleFromNumber(number);
    const StructuredBlockProfile expected{.index_formula = {{role, 1}}};
    for (const std::string& text : {std::string(Name(role)), std::to_string(number)}) {
      EXPECT_EQ(ParseFamily<StructuredBlockProfile>("structured_block: { index_formula: { field: " + text +
                                                    " multiplier: 1 } }"),
                expected);
    }
  }
  EXPECT_EQ(ParseFields("pre_rotation: { type: 1 }"), ParseFields("pre_rotation: { matrix_type: PLAIN }"));
  EXPECT_EQ(ParseFields("pre_rotation: { type: 0 }"), ParseFields("pre_rotation: { matrix_type: HADAMARD }"));
  EXPECT_EQ(ParseFields("structured_block: { storage_order: 1 }"),
            ParseFields("structured_block: { storage_order: SEQUENTIAL }"));
  EXPECT_EQ(ParseFields("structured_block: { storage_order: INTERLEAVED }"), ParseFields("structured_block: {}"));
}

TEST(ProfileText, FloatsAreRoundedOnce) {
  // 1 + 2^-24 + 2^-60 is just above the middle of two floats; as a double it would be the middle, and round down.
  EXPECT_EQ(
      ParseFamily<LogProfile>("log: { base: 1.000000059604644775390625867361737988403547205962240695953369 }").base,
      std::nextafter(1.0F, 2.0F));
  EXPECT_EQ(ParseFamily<LogProfile>("log: { base: inf, offset: -inf }"),
            (LogProfile{.base = INFINITY, .offset = -INFINITY}));
  EXPECT_TRUE(std::isnan(ParseFamily<LogProfile>("log: { base: nan }").base));
  EXPECT_TRUE(std::signbit(ParseFamily<LogProfile>("log: { base: -0.0 }").base));
}

TEST(ProfileText, IntegersReachTheirEnds) {
  for (int64_t end : {int64_t{INT32_MIN}, int64_t{INT32_MAX}}) {
    EXPECT_EQ(ParseFamily<LogProfile>(fmt::format("log: {{ bits: {} }}", end)).bits, end);
  }
  for (int64_t end : {INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(ParseFamily<LinearProfile>(fmt::format("linear: {{ zero_point: {} }}", end)).zero_point, ZeroPoint(end));
    EXPECT_EQ(ParseFamily<TilingProfile>(fmt::format("tiling: {{ tile_shape: {} }}", end)).tile_shape,
              std::vector<int64_t>{end});
  }
}

// ---- parameters

TEST(ProfileText, NumbersWithoutAValueAreListed) {
  const std::string text =
      "QuantizationProto {\n"
      "  tiling: { tile_shape: [group, 2 * cols]\n"
      "    elem_quant: { linear: { bits: b, symmetric: sym, scale_float: s, zero_point: ceil_div(z, 2) axis: b } }\n"
      "  }\n"
      "}";
  const ProfileText open = ParseAll(text);
  std::vector<std::string> list;
  for (const UnboundParameter& p : open.unbound)
    list.push_back(fmt::format("{} {}:{} {}", p.name, p.line, p.column, p.use));
  EXPECT_THAT(list, ElementsAre("b 3:35 bits", "cols 2:37 tile_shape", "group 2:26 tile_shape",
                                "s 3:67 a value of FLOAT", "sym 3:49 a value of BOOL", "z 3:91 zero_point"));
  auto concrete = ProfileText(open).Concrete();
  ASSERT_FALSE(concrete);
  EXPECT_EQ(concrete.error().code, ErrorCode::kUnbound);
  EXPECT_THAT(concrete.error().what, HasSubstr("6 parameters without a value: b (bits, line 3), cols (tile_shape"));

  NotationOptions options;
  options.shape = {8, 16};
  options.parameters = {{"group", int64_t{4}},     {"b", int64_t{3}},  {"sym", std::string("true")},
                        {"s", std::string("0.1")}, {"z", int64_t{15}}, {"unused", int64_t{1}}};
  ProfileText bound = ParseAll(text, options);
  auto profiles = std::move(bound).Concrete();
  ASSERT_TRUE(profiles) << profiles.error().Format();
  const Profile tile{.kind = LinearProfile{.bits = 3, .symmetric = true, .scale = 0.1F, .zero_point = 8, .axis = 3}};
  EXPECT_THAT(*profiles, ElementsAre(Profile{.kind = TilingProfile{.tile_shape = {4, 32}, .elem_quant = {tile}}}));
}

TEST(ProfileText, ShapeIsAList) {
  NotationOptions options;
  options.shape = {{4, 6}};
  const ProfileText text = ParseAll(
      "QuantizationProto { tiling: TilingQuantizationProto { tile_shape: shape, axes: [0, 1] } }"
      "QuantizationProto { tiling: TilingQuantizationProto { tile_shape: [2, shape, cols], perm: shape } }",
      options);
  ASSERT_EQ(text.profiles.size(), 2u);
  EXPECT_THAT(std::get<TilingProfile>(text.profiles[0].kind).tile_shape, ElementsAre(4, 6));
  EXPECT_THAT(std::get<TilingProfile>(text.profiles[1].kind).tile_shape, ElementsAre(2, 4, 6, 6));
  EXPECT_THAT(std::get<TilingProfile>(text.profiles[1].kind).perm, ElementsAre(4, 6));
  options.shape = {{int64_t{1} << 40}};
  auto large = ParseProfiles("QuantizationProto { tiling: TilingQuantizationProto { axes: shape } }", options);
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().Format(), HasSubstr("axes is 1099511627776"));
}

TEST(ProfileText, EnumeratorsFromParameters) {
  NotationOptions options;
  options.parameters = {{"t", std::string("INT4")}, {"n", int64_t{22}}, {"r", std::string("PLAIN")}};
  EXPECT_EQ(ParseFamily<CastProfile>("cast: { storage_type: t }", options).storage_type, ElementType::kInt4);
  EXPECT_EQ(ParseFamily<CastProfile>("cast: { storage_type: n }", options).storage_type, ElementType::kInt4);
  EXPECT_EQ(ParseFamily<CastProfile>("cast: { storage_type: n - 1 }", options).storage_type, ElementType::kUint4);
  EXPECT_EQ(ParseFields("pre_rotation: { type: r }", options).pre_rotation->matrix_type, RotationType::kPlain);
}

TEST(ProfileText, DataWithoutAValueStaysOpen) {
  const ProfileText open = ParseAll(
      "QuantizationProto { codebook: { codebook_data: [...] num_codebooks: 2 codebook_size: 256 vector_size: 8 } }\n"
      "QuantizationProto { codebook: { codebook_data: levels } pre_rotation: { type: PLAIN dims: [4, 4] matrix: \"a "
      "b\" } "
      "post_rotation: { type: PLAIN dims: 3 matrix_index: 12 } }\n"
      "QuantizationProto { structured_block: { codebook_data: \"nan\" } }");
  std::vector<std::string> list;
  for (const UnboundParameter& p : open.unbound)
    list.push_back(fmt::format("{} {}:{} {}", p.name, p.line, p.column, p.use));
  EXPECT_THAT(list, ElementsAre("a b 2:106 data of FLOAT[4, 4]", "codebook_data 1:48 data of FLOAT[2, 256, 8]",
                                "levels 2:48 data of FLOAT", "nan 3:56 data of FLOAT",
                                "rotation_matrix_12 2:129 data of FLOAT[3]"));
  auto profiles = ProfileText(open).Concrete();
  ASSERT_TRUE(profiles) << profiles.error().Format();
  ASSERT_EQ(profiles->size(), 3u);
  EXPECT_EQ(std::get<CodebookProfile>((*profiles)[0].kind).codebook_data, FloatData{.parameter = "codebook_data"});
  EXPECT_EQ(std::get<CodebookProfile>((*profiles)[1].kind).codebook_data, FloatData{.parameter = "levels"});
  EXPECT_EQ((*profiles)[1].pre_rotation->matrix, FloatData{.parameter = "a b"});
  EXPECT_EQ((*profiles)[1].post_rotation->matrix, FloatData());
  const std::string text = PrintProfiles(*profiles);
  EXPECT_THAT(text, HasSubstr("codebook_data: [...]"));
  EXPECT_THAT(text, HasSubstr("codebook_data: levels"));
  EXPECT_THAT(text, HasSubstr("matrix: \"a b\""));
  EXPECT_THAT(text, HasSubstr("codebook_data: \"nan\""));
  EXPECT_EQ(ParseAll(text).profiles, *profiles);
}

// A name that is both is a number without a value, wherever it comes first.
TEST(ProfileText, ANameForDataAndForANumber) {
  for (const char* text : {"QuantizationProto { codebook: { codebook_data: x index_bits: x } }",
                           "QuantizationProto { codebook: { index_bits: x codebook_data: x } }",
                           "QuantizationProto { codebook: { codebook_data: [1.0, x] } }"}) {
    ProfileText open = ParseAll(text);
    ASSERT_EQ(open.unbound.size(), 1u) << text;
    EXPECT_EQ(open.unbound[0].name, "x");
    EXPECT_FALSE(std::move(open).Concrete()) << text;
  }
}

TEST(ProfileText, DataFromParameters) {
  NotationOptions options;
  options.parameters["codebook_data"] = FloatConstant({0.25F, -0.0F, std::bit_cast<float>(0x7fc00001)});
  auto codebook = ParseFamily<CodebookProfile>("codebook: { codebook_data: [...] }", options);
  const FloatData expected{.values = {0.25F, -0.0F, std::bit_cast<float>(0x7fc00001)}};
  EXPECT_EQ(codebook.codebook_data, expected);
  EXPECT_EQ(ParseFamily<CodebookProfile>("codebook: { codebook_data: codebook_data }", options), codebook);
  EXPECT_EQ(ParseFamily<CodebookProfile>("codebook: { codebook_data: \"codebook_data\" }", options), codebook);
  EXPECT_EQ(ParseFamily<CodebookProfile>("codebook: { codebook_data: [codebook_data] }", options), codebook);

  // Numbers and literals are single values.
  options.parameters = {{"one", int64_t{1}}, {"half", std::string("0.5")}};
  EXPECT_EQ(ParseFamily<CodebookProfile>("codebook: { codebook_data: [one, -1, half] }", options).codebook_data.values,
            (std::vector<float>{1, -1, 0.5F}));
  EXPECT_EQ(ParseFamily<CodebookProfile>("codebook: { codebook_data: half }", options).codebook_data.values,
            (std::vector<float>{0.5F}));

  options.parameters = {{"rotation_matrix_3", FloatConstant({1, 2})}, {"m", FloatConstant({3, 4})}};
  EXPECT_EQ(ParseFields("pre_rotation: { matrix_index: 3 type: PLAIN }", options).pre_rotation,
            (Rotation{.matrix_type = RotationType::kPlain, .matrix_index = 3, .matrix = {.values = {1, 2}}}));
  EXPECT_EQ(ParseFields("pre_rotation: { matrix_index: 3 type: PLAIN matrix: m }", options).pre_rotation->matrix.values,
            (std::vector<float>{3, 4}));
  EXPECT_EQ(ParseFields("pre_rotation: { matrix_index: 3 type: HADAMARD }", options).pre_rotation->matrix, FloatData());
}

TEST(ProfileText, DataOfEveryNumericTypeIsRoundedToFloat) {
  const struct {
    ElementType type;
    uint64_t code;
    float value;
  } kRows[] = {
      {ElementType::kInt2, 3, -1},
      {ElementType::kUint4, 15, 15},
      {ElementType::kInt8, 0x80, -128},
      {ElementType::kInt32, 0x7fffffff, 2147483648.0F},
      {ElementType::kInt64, (uint64_t{1} << 40) + 1, 1099511627776.0F},
      {ElementType::kUint64, UINT64_MAX, 18446744073709551616.0F},
      {ElementType::kFloat16, 0x3c01, 1.0009765625F},
      {ElementType::kBfloat16, 0x3f81, 1.0078125F},
      {ElementType::kFloat8E4M3FN, 0x7e, 448},
      {ElementType::kDouble, std::bit_cast<uint64_t>(0.1), 0.1F},
      {ElementType::kDouble, std::bit_cast<uint64_t>(-INFINITY * 1.0), -INFINITY},
  };
  for (const auto& row : kRows) {
    Constant constant;
    constant.type = row.type;
    constant.dims = {1, 1};
    constant.bytes.resize(*PackedBytes(row.type, 1));
    StoreCode(constant.bytes, row.type, 0, row.code);
    NotationOptions options;
    options.parameters["x"] = constant;
    EXPECT_EQ(ParseFamily<CodebookProfile>("codebook: { codebook_data: x }", options).codebook_data.values,
              std::vector<float>{row.value})
        << Name(row.type);
  }
}

// ---- printing

TEST(ProfileText, Layout) {
  const Profile profile = ParseFields(
      "data_type: FLOAT16 pre_rotation: { type: HADAMARD dims: [64, 64] } metadata_props: { key: \"a\" value: \"b\" } "
      "tiling: { tile_shape: 128 elem_quant: [{ linear: { storage_type: INT4 bits: 4 scale_float: 0.015 zero_point: 8 "
      "axis: -1 } }, { codebook: { codebook_data: [-1.0, -0.6961928, -0.52507305, -0.3949175, -0.28444138, "
      "-0.18477343, "
      "-0.091050036, 0, 0.0795803] scale: stored({ linear: { scale: stored(FLOAT16, per=tensor) bits: 6 storage_type: "
      "UINT8 } }) } }] }");
  EXPECT_EQ(PrintProfile(profile),
            R"(QuantizationProto {
    metadata_props: { key: "a", value: "b" }
    data_type: FLOAT16
    pre_rotation: RotationProto { matrix_type: HADAMARD, dims: [64, 64] }
    tiling: TilingQuantizationProto {
        tile_shape: [128]
        elem_quant: [
            QuantizationProto {
                linear: LinearUniformProto { storage_type: INT4, bits: 4, scale_float: 0.015, zero_point: 8, axis: -1 }
            },
            QuantizationProto {
                codebook: CodebookProto {
                    scale: stored(
                        QuantizationProto {
                            linear: LinearUniformProto {
                                storage_type: UINT8
                                bits: 6
                                scale: stored(FLOAT16, per=tensor, at=before)
                                axis: 0
                            }
                        },
                        per=tile,
                        at=before
                    )
                    codebook_data: [
                        -1.0, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.091050036, 0.0,
                        0.0795803
                    ]
                }
            }
        ]
    }
}
)");
  ExpectComesBack(profile);
  EXPECT_EQ(PrintProfile(Profile()), "QuantizationProto { }\n");
}

TEST(ProfileText, DefaultsAreLeftOut) {
  const std::string text = PrintProfile(Profile{.kind = CodebookProfile{.index_bits = 4}});
  EXPECT_EQ(text, "QuantizationProto {\n    codebook: CodebookProto { index_bits: 4 }\n}\n");
  // What a reader would miss is not.
  EXPECT_THAT(PrintProfile(Profile{.kind = LinearProfile()}),
              HasSubstr("{ storage_type: UNDEFINED, bits: 0, axis: 0 }"));
}

// Values that no valid profile has come back as well, floats with their bits.
TEST(ProfileText, OddValuesComeBack) {
  for (uint32_t code :
       {0x80000000U, 0x7fc00000U, 0xffc00000U, 0x7f800001U, 0xffffffffU, 0x7f800000U, 1U, 0x7f7fffffU}) {
    const float odd = std::bit_cast<float>(code);
    const Profile profile{
        .kind = TilingProfile{.elem_quant = {Profile{.kind = LinearProfile{.scale = odd}},
                                             Profile{.kind = CodebookProfile{.codebook_data = {.values = {odd, 0}}}},
                                             Profile{.kind = LogProfile{.base = odd, .offset = odd}}}}};
    const std::string text = PrintProfile(profile);
    const Profile again = ParseOne(text);
    EXPECT_EQ(again, profile);
    EXPECT_EQ(PrintProfile(again), text);
    const auto& tiles = std::get<TilingProfile>(again.kind).elem_quant;
    ASSERT_EQ(tiles.size(), 3u);
    const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
    EXPECT_EQ(bits(std::get<float>(std::get<LinearProfile>(tiles[0].kind).scale)), code);
    EXPECT_EQ(bits(std::get<CodebookProfile>(tiles[1].kind).codebook_data.values.at(0)), code);
    EXPECT_EQ(bits(std::get<LogProfile>(tiles[2].kind).base), code);
  }
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  ExpectComesBack(Profile{.doc_string = bytes, .metadata = {{bytes, ""}, {"", bytes}, {"", ""}}});
  ExpectComesBack(Profile{.kind = SparseProfile(), .data_type = ElementType::kUndefined, .doc_string = ""});
  ExpectComesBack(Profile{.kind = TilingProfile{.elem_quant = {Profile(), Profile()}}});
  ExpectComesBack(Profile{.pre_rotation = Rotation(), .post_rotation = Rotation{.matrix_index = -1}});
  ExpectComesBack(Profile{.kind = CodebookProfile{.codebook_data = {.parameter = "bits"}}});
  ExpectComesBack(Profile{.kind = LinearProfile{.scale = 0.0F}});
  ExpectComesBack(Profile{.kind = LinearProfile{.scale = ScaleExponent()}});
  ExpectComesBack(Profile{.kind = LinearProfile{.scale = Stored(), .zero_point = Stored()}});
  ExpectComesBack(Profile{.kind = FunctionProfile{.block_layout = BlockLayout()}});
  // Lists longer than a line.
  ExpectComesBack(Profile{.kind = TilingProfile{.tile_shape = std::vector<int64_t>(100, INT64_MIN)}});
  ExpectComesBack(Profile{.kind = CodebookProfile{.codebook_data = {.values = std::vector<float>(100'000, 0.1F)}}});
}

TEST(ProfileText, IsProfileText) {
  EXPECT_TRUE(IsProfileText("QuantizationProto { }"));
  EXPECT_TRUE(IsProfileText("  // StructTypeProto\n# x\n/* y */ QuantizationProto"));
  EXPECT_FALSE(IsProfileText("QuantizationProtos { }"));
  EXPECT_FALSE(IsProfileText("StructTypeProto { }"));
  EXPECT_FALSE(IsProfileText(""));
  EXPECT_FALSE(IsProfileText("\"QuantizationProto\""));
}

// ---- files

// Counts what the files use, to show that they use everything.
void Count(const Profile& profile, std::map<std::string, int>* seen) {
  if (profile.kind.index() > 0) (*seen)[std::string(NamesOf(profile).field)]++;
  for (const auto* rotation : {&profile.pre_rotation, &profile.post_rotation}) {
    if (*rotation) (*seen)[(*rotation)->matrix_type == RotationType::kPlain ? "plain" : "hadamard"]++;
  }
  if (const auto* sparse = std::get_if<SparseProfile>(&profile.kind)) Count(*sparse->base_quant, seen);
  if (const auto* tiling = std::get_if<TilingProfile>(&profile.kind)) {
    for (const Profile& tile : tiling->elem_quant) {
      if (std::holds_alternative<TilingProfile>(tile.kind)) (*seen)["nested"]++;
      Count(tile, seen);
    }
  }
  if (const auto* linear = std::get_if<LinearProfile>(&profile.kind)) {
    const auto* stored = std::get_if<Stored>(&linear->scale);
    if (stored != nullptr) (*seen)[stored->type.index() == 0 ? "stored" : "stored profile"]++;
  }
}

TEST(ProfileFiles, OursComeBackAndUseEverything) {
  std::map<std::string, int> seen;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TESSERA_SOURCE_DIR) / "testdata/profiles")) {
    if (entry.path().extension() != ".txt") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const std::string text = ReadText(entry.path());
    EXPECT_TRUE(IsProfileText(text));
    for (const Profile& profile : ParseAll(text).profiles) {
      ExpectComesBack(profile);
      Count(profile, &seen);
    }
  }
  for (const FamilyNames& family : kFamilyNames) EXPECT_GT(seen[std::string(family.field)], 0) << family.field;
  for (const char* what : {"plain", "hadamard", "nested", "stored", "stored profile"}) EXPECT_GT(seen[what], 0) << what;
}

TEST(ProfileFiles, ExamplesOfTheFoundingDocument) {
  const char* shared = std::getenv("TESSERA_SHARED");
  const std::filesystem::path folder =
      (shared != nullptr ? std::filesystem::path(shared) : std::filesystem::path(TESSERA_SOURCE_DIR) / "../shared") /
      "spec/examples";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: there is no " << folder << " (set TESSERA_SHARED)";
  const std::map<std::string, std::string> open_data = {{"17_aqlm_2_8", "codebook_data"},
                                                        {"18_iq1_s", "codebook_data"},
                                                        {"20_quip", "codebook_data"},
                                                        {"26_stq1_0", "codebook_data"},
                                                        {"38_smoothquant", "rotation_matrix_0"}};
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    const size_t suffix = name.find(".profile.txt");
    if (suffix == std::string::npos) continue;
    name.resize(suffix);
    ++files;
    SCOPED_TRACE(name);
    const std::string text = ReadText(entry.path());
    EXPECT_TRUE(IsProfileText(text));
    ProfileText parsed = ParseAll(text);
    EXPECT_EQ(parsed.profiles.size(), name == "21_exl2" || name == "31_paretoq" ? 2u : 1u);
    std::string open;
    for (const UnboundParameter& parameter : parsed.unbound) open += parameter.name;
    auto expected = open_data.find(name);
    EXPECT_EQ(open, expected == open_data.end() ? "" : expected->second);
    for (const Profile& profile : parsed.profiles) {
      EXPECT_GT(profile.kind.index(), 0u);
      ExpectComesBack(profile);
    }
    auto profiles = std::move(parsed).Concrete();
    EXPECT_TRUE(profiles);
  }
  EXPECT_EQ(files, 38u);
}

}  // namespace
}  // namespace tessera
