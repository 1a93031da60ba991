// What a family of profiles is to validation and translation: one row, made of the functions of its file. Private to
// quant/.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/quant/profile.h"
#include "tessera/quant/translate.h"
#include "tessera/types/struct_type.h"

namespace tessera::quant {

// Keys of metadata that a translation writes; those of a profile may not begin so.
inline constexpr std::string_view kReservedPrefix = "tessera.";
inline constexpr std::string_view kDataTypeKey = "tessera.data_type";  // where there is no constant data_type
// Of a Function, whose operators stand in metadata.
inline constexpr std::string_view kQuantizeOpKey = "quantize_op";
inline constexpr std::string_view kDequantizeOpKey = "dequantize_op";
// kReservedPrefix + the parameter's name: how a stored parameter is placed, "per=tile, at=before".

// ---- Validation

// Where a profile stands, as far as stored parameters care.
struct Place {
  Path path;
  bool in_tile = false;    // below a Tiling
  bool only_tile = true;   // the innermost Tiling has one elem_quant
  bool only_tiles = true;  // and so has every Tiling around
};

class Validator {
 public:
  Validator(const Limits& limits, Problems* problems) : limits_(limits), problems_(problems) {}

  void Check(const Profile& profile, const Place& place);

  void Add(ErrorCode code, const Path& path, std::string what, std::string fix) {
    problems_->Add(code, path.Str(), std::move(what), std::move(fix));
  }
  // Of problems so far.
  size_t count() const { return problems_->count(); }
  // kProfileValue unless low <= value <= high.
  void Range(const Path& path, int64_t value, int64_t low, int64_t high);
  // kProfileValue unless the type has a fixed width and is a real number: no BOOL, STRING or complex type.
  bool Numeric(const Path& path, ElementType type);
  // storage_type and bits, of Linear and Function.
  void Storage(const Path& path, ElementType type, int32_t bits);
  // `axis` is that of channels, -1 if there are none.
  void CheckScale(const Scale& scale, const Place& place, int32_t axis);
  void CheckStored(const Stored& stored, const Path& path, const Place& place, int32_t axis);
  // `count` values are needed, and finite. Data that is a parameter still is not counted.
  void Data(const Path& path, const FloatData& data, std::optional<int64_t> count);

 private:
  const Limits& limits_;
  Problems* problems_;
  uint32_t depth_ = 0;
};

void ValidateRotation(const Rotation& rotation, const Path& path, Validator* validator);
// A layout as blocks one after the other (interleaved), or as one record for each field.
void ValidateBlockLayout(const BlockLayout& layout, BlockStorageOrder order, const Path& path, Validator* validator);

// ---- Translation

// One profile at its place: what its values are.
struct Level {
  const Profile* profile = nullptr;
  const Spelling* spelling = nullptr;
  std::string name;             // of the declaration to make
  std::vector<uint64_t> shape;  // logical
  std::vector<size_t> order;    // the axes from the outermost to the innermost in memory
  std::vector<uint64_t> dims;   // of an array of the values, in memory order; one number where they are flattened
  uint64_t values = 0;          // product of shape; fits into 63 bits
  bool in_tile = false;         // below a Tiling of the same value
  std::vector<uint64_t> grid;   // of that Tiling, in memory order
  size_t next_part = 0;         // of spelling->parts

  const Spelling& NextPart();
  // The level of a nested value that has only as much to do with this one as its name says.
  Level Nested(const Profile& part, std::string_view suffix, std::vector<uint64_t> nested_shape);
};

// A stored parameter that belongs into a declaration further out.
struct Outward {
  Field field;
  Stored::At at = Stored::At::kBefore;
  bool to_root = false;  // into the outermost Tiling, not into the next one
};

// The fields of a declaration by their place in it.
struct Body {
  std::vector<Field> before;
  std::vector<Field> codes;
  std::vector<Field> after;
  std::vector<Field> constants;
  std::vector<Metadata> metadata;
  std::vector<Outward> outward;
};

struct Part {
  int32_t index = 0;  // of the declaration
  std::vector<Outward> outward;
};

class Translator {
 public:
  explicit Translator(const TranslateOptions& options) : options_(options) {}

  Result<Part> Translate(Level level);

  // Stores a parameter called `name` ("scale"): in the body, or outward.
  Result<void> PlaceStored(Level* level, const Stored& stored, std::string_view name, Body* body);
  // A constant, or a stored field; nothing for an absent scale.
  Result<void> PlaceScale(Level* level, const Scale& scale, Body* body);
  // Pads `fields` by `bits` bits.
  Result<void> Pad(uint64_t bits, std::vector<Field>* fields) const;
  Result<uint64_t> SizeBits(const std::vector<Field>& fields) const;
  Result<uint64_t> SizeBits(const PhysicalType& type) const;
  // Adds a declaration as it is.
  Result<int32_t> Declare(StructType type);

  const TranslateOptions& options() const { return options_; }
  // The number of outliers that the options give.
  std::optional<uint64_t> Outliers() {
    used_outliers_ = true;
    return options_.outliers;
  }
  bool used_outliers() const { return used_outliers_; }
  std::vector<StructType> TakeTypes() { return std::move(types_); }

 private:
  Result<int32_t> Finish(const Level& level, Body body);

  const TranslateOptions& options_;
  std::vector<StructType> types_;
  std::vector<uint64_t> sizes_bits_;
  bool used_outliers_ = false;
};

// kProfileValue for names by which a declaration would be read back as another: those that a translation has for
// itself.
Result<void> CheckSpelling(const Level& level);
// kProfileValue if the spelling has a type for codes, and the level has none of its own.
Result<void> RefuseCodeType(const Level& level);
// kProfileShape at the level's place, with its shape.
tl::unexpected<Error> ShapeError(const Level& level, std::string what, std::string fix);
// kProfileShape unless the rotation fits the level.
Result<void> RotationConstants(const Level& level, const Rotation& rotation, std::string_view prefix,
                               std::vector<Field>* fields);
// How many channels the parameters of a level have. Errors: kProfileShape where it has no such axis.
Result<uint64_t> Channels(const Level& level, int32_t axis);

// Codes of `bits` each: an array of `type` if that is just as wide, else packed bytes; `leading` dimensions in front.
// Errors: kProfileValue for a code type that is neither UINT8 nor of that width.
Result<PhysicalType> CodesType(const Level& level, ElementType type, uint32_t bits,
                               const std::vector<uint64_t>& leading = {});
// The unsigned element type of that width; UNDEFINED if there is none.
ElementType UnsignedType(uint32_t bits);
// The ONNX type whose codes mean just what the profile says; UNDEFINED if there is none.
ElementType NativeFloat(const FloatingPointProfile& profile);

// What a merged tiling has of its tiles: the codes, one array with `grid` in front; constants other than scale and zero
// point.
Result<void> LinearBody(const Level& level, const std::vector<uint64_t>& grid, Body* body);
Result<void> CodebookBody(const Level& level, const std::vector<uint64_t>& grid, Body* body);
std::vector<Field> MergedConstants(const Level& level, const LinearProfile& linear);
std::vector<Field> MergedConstants(const Level& level, const CodebookProfile& codebook);

// What a block's field is called in a declaration: the role in lower case.
std::string FieldName(BlockFieldRole role);
// A block of a layout as a declaration; its index.
Result<int32_t> BlockDeclaration(Translator* translator, Level* level, const BlockLayout& layout);
// The same fields as arrays over all blocks.
Result<void> BlockRegions(Translator* translator, const Level& level, const BlockLayout& layout, uint64_t blocks,
                          Body* body);

// ---- Building blocks

Field PartField(std::string name, PhysicalType type);
Field ConstantField(std::string name, ElementType type, std::vector<int64_t> dims, std::span<const int64_t> values);
Field IntConstant(std::string name, int64_t value);                     // INT32 []
Field LongConstant(std::string name, int64_t value);                    // INT64 []
Field BoolConstant(std::string name, bool value);                       // BOOL []
Field FloatConstant(std::string name, float value);                     // FLOAT []
Field IntsConstant(std::string name, std::span<const int32_t> values);  // INT32 [n]
Field FloatsConstant(std::string name, std::vector<int64_t> dims, std::span<const float> values);
PhysicalType ArrayOf(ElementType type, std::vector<uint64_t> dims);
PhysicalType ArrayOf(PhysicalType type, std::vector<uint64_t> dims);
std::string NameOr(const std::string& name, std::string_view rule);
// In capital letters, ASCII only.
std::string Upper(std::string_view text);
// "32X128"
std::string SizesName(std::span<const uint64_t> sizes);
// The root's name by rule: LINEAR_4096X4096.
std::string RootName(const Profile& profile, std::span<const int64_t> shape);

// ---- Recovery

// What a declaration holds, read field by field.
class Reader {
 public:
  Reader(std::span<const StructType> types, int32_t index);

  const StructType& type() const { return type_; }
  int32_t index() const { return index_; }
  const std::vector<Field>& fields() const { return *fields_; }
  bool is_structure() const { return is_structure_; }

  const Constant* FindConstant(std::string_view name) const;  // nullptr if there is none
  const PhysicalType* FindPart(std::string_view name) const;
  bool Has(std::string_view name) const { return FindConstant(name) != nullptr; }
  // Position of a field, fields().size() if there is none.
  size_t Position(std::string_view name) const;
  // The field with the codes, tiles or blocks: the first serialized one that is neither a parameter nor padding.
  // nullptr if there is none.
  const Field* Codes() const;
  const std::string* FindMetadata(std::string_view key) const;

  // Constants by type and form; kNotAProfile where one is absent or different.
  Result<int64_t> Integer(std::string_view name, ElementType type) const;
  Result<int32_t> Int(std::string_view name) const;
  // 0 where there is none.
  Result<int32_t> IntOrZero(std::string_view name) const;
  Result<bool> Bool(std::string_view name) const;
  Result<float> Float(std::string_view name) const;
  Result<ElementType> Type(std::string_view name) const;
  Result<std::vector<int64_t>> Integers(std::string_view name, ElementType type) const;  // empty where there is none
  Result<std::vector<int32_t>> Ints(std::string_view name) const;
  Result<std::vector<float>> Floats(const Constant& constant, std::string_view name) const;
  Result<std::vector<float>> Floats(std::string_view name) const;

  tl::unexpected<Error> NotAProfile(std::string_view field, std::string what) const;

 private:
  const StructType& type_;  // of the list, which outlives the reader
  int32_t index_;
  bool is_structure_ = false;
  const std::vector<Field>* fields_;
};

// The place of a declaration while it is read back: as Level.
struct ReadLevel {
  std::vector<uint64_t> shape;
  std::vector<size_t> order;
  bool in_tile = false;
  const Reader* tiling = nullptr;  // the innermost Tiling around; nullptr outside
  const Reader* root = nullptr;    // the outermost Tiling around
  std::vector<uint64_t> grid;
};

struct ReadBack {
  Profile profile;
  Spelling spelling;
};

class Recoverer {
 public:
  // Of declarations in each other; validation bounds the profile that comes out by the limits' own depth.
  static constexpr uint32_t kMaxDepth = 256;

  Recoverer(std::span<const StructType> types, const Limits& limits) : types_(types), limits_(limits) {}

  // `rule_name` is the name that the translation would give the declaration.
  Result<ReadBack> Recover(int32_t index, const ReadLevel& level, const std::string& rule_name);
  Reader Read(int32_t index) const { return Reader(types_, index); }
  // The declaration that a part of type struct(...) or array(struct(...)) refers to; -1 if it is another type.
  static int32_t Target(const PhysicalType& type);

  // A parameter from a constant, a stored field of the declaration or of the tilings around.
  Result<Scale> ReadScale(const Reader& reader, const ReadLevel& level, Spelling* spelling);
  Result<ZeroPoint> ReadZeroPoint(const Reader& reader, const ReadLevel& level, Spelling* spelling);

  // Counts memory that the profile takes. Errors: kLimitProfile.
  Result<void> Charge(uint64_t bytes, const Reader& reader);

  // The number of outliers of a Sparse, and the one by rule.
  void NoteOutliers(uint64_t count, std::optional<uint64_t> by_rule) {
    outliers_ = count;
    by_rule_ = by_rule_ && by_rule == count;
  }
  // For TranslateOptions: nothing where all are by rule. Where they are neither that nor one number, the comparison
  // with a new translation finds out.
  std::optional<uint64_t> Outliers() const { return by_rule_ ? std::nullopt : outliers_; }

 private:
  Result<std::optional<Stored>> ReadStored(const Reader& reader, const ReadLevel& level, std::string_view name,
                                           Spelling* spelling);

  std::span<const StructType> types_;
  const Limits& limits_;
  uint64_t bytes_ = 0;
  uint32_t depth_ = 0;
  std::optional<uint64_t> outliers_;
  bool by_rule_ = true;
};

// `what` if it is not what the rule gives.
std::string UnlessRule(const std::string& what, std::string_view rule);
// The code type for the spelling: that of `codes` if it is not the one by rule.
std::optional<ElementType> CodeTypeUnlessRule(const PhysicalType& codes, ElementType rule);
// The element type of an array of scalars; UNDEFINED for other types.
ElementType ElementOf(const PhysicalType& type);
std::vector<uint64_t> DimsOf(const PhysicalType& type);
Result<std::optional<Rotation>> ReadRotation(const Reader& reader, std::string_view prefix);
// A block's declaration, or the regions of a sequential storage order.
Result<BlockLayout> ReadBlock(const Recoverer& recoverer, const Reader& reader, bool regions);
Result<LinearProfile> ReadLinearConstants(const Reader& reader);
Result<CodebookProfile> ReadCodebookConstants(const Reader& reader, Spelling* spelling);

// ---- The rows

struct Family {
  void (*validate)(const Profile& profile, const Place& place, Validator* validator);
  Result<Body> (*translate)(Translator* translator, Level* level);
  // True if a declaration is one of this family's, unless a more telling one says so.
  bool (*recognizes)(const Recoverer& recoverer, const Reader& reader);
  Result<ReadBack> (*recover)(Recoverer* recoverer, const Reader& reader, const ReadLevel& level,
                              const std::string& name);
};

extern const Family kLinearFamily;
extern const Family kCodebookFamily;
extern const Family kFloatingPointFamily;
extern const Family kSparseFamily;
extern const Family kLogFamily;
extern const Family kFunctionFamily;
extern const Family kTilingFamily;
extern const Family kCastFamily;
extern const Family kStructuredBlockFamily;

// In the order of kFamilyNames.
std::span<const Family* const> AllFamilies();

}  // namespace tessera::quant
