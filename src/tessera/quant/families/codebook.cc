// CodebookProto: value = scale * sum of one entry from each codebook.
#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/quant/families/family.h"
#include "tessera/types/expression.h"

namespace tessera::quant {
namespace {

// Digits stand in numbers of this many bytes, so that a decoder can take them apart with 64-bit arithmetic.
constexpr int32_t kMaxDigitBytes = 8;

// True if `size`^count <= 256^bytes: that many digits fit. REQUIRES: size < 2^63, bytes <= kMaxDigitBytes.
bool DigitsFit(uint64_t size, uint64_t count, uint64_t bytes) {
  if (size <= 1) return true;
  const WideInteger limit = WideInteger{1} << (8 * bytes);
  WideInteger power = 1;
  for (uint64_t i = 0; i < count; ++i) {
    power *= size;  // at most 2^64 * 2^63
    if (power > limit) return false;
  }
  return true;
}

void Validate(const Profile& profile, const Place& place, Validator* validator) {
  const auto& codebook = std::get<CodebookProfile>(profile.kind);
  const Path& path = place.path;
  validator->CheckScale(codebook.scale, place, 0);
  validator->Range(path.Field("num_codebooks"), codebook.num_codebooks, 0, INT32_MAX);
  validator->Range(path.Field("codebook_size"), codebook.codebook_size, 0, INT32_MAX);
  validator->Range(path.Field("vector_size"), codebook.vector_size, 0, INT32_MAX);
  validator->Range(path.Field("index_bits"), codebook.index_bits, 0, 32);
  validator->Range(path.Field("packed_count"), codebook.packed_count, 0, INT32_MAX);
  validator->Range(path.Field("packed_bytes"), codebook.packed_bytes, 0, INT32_MAX);
  if (codebook.num_codebooks < 0 || codebook.codebook_size < 0 || codebook.vector_size < 0 || codebook.index_bits < 0 ||
      codebook.index_bits > 32 || codebook.packed_count < 0 || codebook.packed_bytes < 0) {
    return;
  }
  const bool given = codebook.codebook_data.parameter.empty();
  const auto count = static_cast<int64_t>(codebook.codebook_data.values.size());
  if (given && count == 0) {
    validator->Add(ErrorCode::kProfileData, path.Field("codebook_data"), "is empty", "the entries of the codebooks");
    return;
  }
  const int64_t books = codebook.num_codebooks == 0 ? 1 : codebook.num_codebooks;
  const int64_t vector = codebook.vector_size == 0 ? 1 : codebook.vector_size;
  int64_t size = codebook.codebook_size;
  if (size == 0) {
    if (!given) {
      validator->Data(path.Field("codebook_data"), codebook.codebook_data, std::nullopt);
      return;
    }
    // 31 + 31 bits: no overflow.
    if (count % (books * vector) != 0) {
      validator->Add(ErrorCode::kProfileData, path.Field("codebook_data"),
                     fmt::format("{} values do not divide into {} codebook{} of vectors of {}", count, books,
                                 books == 1 ? "" : "s", vector),
                     fmt::format("a multiple of {}", books * vector));
      return;
    }
    size = count / (books * vector);
    validator->Data(path.Field("codebook_data"), codebook.codebook_data, std::nullopt);
  } else {
    std::optional<uint64_t> needed = CheckedProduct(std::vector<uint64_t>{
        static_cast<uint64_t>(books), static_cast<uint64_t>(vector), static_cast<uint64_t>(size)});
    if (!needed || *needed > static_cast<uint64_t>(INT64_MAX)) {
      validator->Add(ErrorCode::kProfileValue, path.Field("codebook_size"), "the codebooks pass 2^63 values",
                     "smaller codebooks");
      return;
    }
    validator->Data(path.Field("codebook_data"), codebook.codebook_data, static_cast<int64_t>(*needed));
  }
  if ((codebook.packed_count == 0) != (codebook.packed_bytes == 0)) {
    validator->Add(ErrorCode::kProfileConflict, path.Field("packed_count"),
                   "packed_count and packed_bytes are given together or not at all", "both");
    return;
  }
  const uint64_t packed_bits = static_cast<uint64_t>(codebook.packed_bytes) * 8;
  const auto packed_count = static_cast<uint64_t>(codebook.packed_count);
  if (codebook.index_bits > 0) {
    if (size > int64_t{1} << codebook.index_bits) {
      validator->Add(ErrorCode::kProfileConflict, path.Field("index_bits"),
                     fmt::format("{} bits cannot reach {} entries", codebook.index_bits, size),
                     "at least log2 of codebook_size");
    }
    if (packed_count * static_cast<uint64_t>(codebook.index_bits) > packed_bits) {
      validator->Add(ErrorCode::kProfileConflict, path.Field("packed_bytes"),
                     fmt::format("{} indices of {} bits do not fit into {} bytes", packed_count, codebook.index_bits,
                                 codebook.packed_bytes),
                     fmt::format("{}", CeilDiv(packed_count * static_cast<uint64_t>(codebook.index_bits), 8)));
    }
    return;
  }
  if (codebook.packed_count == 0) {
    validator->Add(ErrorCode::kProfileConflict, path.Field("index_bits"),
                   "indices without index_bits are digits, and nothing says how many stand in how many bytes",
                   "index_bits, or packed_count and packed_bytes");
    return;
  }
  if (codebook.packed_bytes > kMaxDigitBytes) {
    validator->Add(
        ErrorCode::kProfileValue, path.Field("packed_bytes"),
        fmt::format("digits stand in numbers of up to {} bytes, not {}", kMaxDigitBytes, codebook.packed_bytes),
        fmt::format("1 to {}", kMaxDigitBytes));
  } else if (!DigitsFit(static_cast<uint64_t>(size), packed_count, static_cast<uint64_t>(codebook.packed_bytes))) {
    validator->Add(ErrorCode::kProfileConflict, path.Field("packed_count"),
                   fmt::format("{} digits of base {} do not fit into {} byte{}", packed_count, size,
                               codebook.packed_bytes, codebook.packed_bytes == 1 ? "" : "s"),
                   "fewer digits, or more bytes");
  }
}

// [S], [S, V] or [K, S, V].
std::vector<int64_t> CodebookDims(const CodebookProfile& codebook) {
  if (codebook.num_codebooks > 1) return {codebook.num_codebooks, codebook.codebook_size, codebook.vector_size};
  if (codebook.vector_size > 1) return {codebook.codebook_size, codebook.vector_size};
  return {codebook.codebook_size};
}

std::vector<Field> Constants(const Level& level, const CodebookProfile& codebook) {
  return {FloatsConstant(NameOr(level.spelling->codebook, "codebook"), CodebookDims(codebook),
                         codebook.codebook_data.values)};
}

std::vector<Field> ConstantsAfterScale(const CodebookProfile& codebook) {
  std::vector<Field> fields;
  if (codebook.packed_count != 0) {
    fields.push_back(IntConstant("packed_count", codebook.packed_count));
    fields.push_back(IntConstant("packed_bytes", codebook.packed_bytes));
  }
  fields.push_back(IntConstant("num_codebooks", codebook.num_codebooks));
  fields.push_back(IntConstant("codebook_size", codebook.codebook_size));
  fields.push_back(IntConstant("vector_size", codebook.vector_size));
  fields.push_back(IntConstant("index_bits", codebook.index_bits));
  return fields;
}

Result<Body> Translate(Translator* translator, Level* level) {
  const auto& codebook = std::get<CodebookProfile>(level->profile->kind);
  Body body;
  TESSERA_TRY(CodebookBody(*level, {}, &body));
  body.constants = Constants(*level, codebook);
  TESSERA_TRY(translator->PlaceScale(level, codebook.scale, &body));
  for (Field& field : ConstantsAfterScale(codebook)) body.constants.push_back(std::move(field));
  return body;
}

bool Recognizes(const Recoverer&, const Reader& reader) {
  return reader.Has("num_codebooks") || (reader.Has("packed_count") && !reader.Has("exponent_bias"));
}

Result<ReadBack> Recover(Recoverer* recoverer, const Reader& reader, const ReadLevel& level, const std::string&) {
  ReadBack back;
  TESSERA_ASSIGN(CodebookProfile codebook, ReadCodebookConstants(reader, &back.spelling));
  TESSERA_ASSIGN(codebook.scale, recoverer->ReadScale(reader, level, &back.spelling));
  const Field* codes = reader.Codes();
  if (codes == nullptr) return reader.NotAProfile("", "has no field with indices");
  back.spelling.codes = UnlessRule(codes->name, "indices");
  back.profile.kind = std::move(codebook);
  return back;
}

}  // namespace

Result<void> CodebookBody(const Level& level, const std::vector<uint64_t>& grid, Body* body) {
  const auto& codebook = std::get<CodebookProfile>(level.profile->kind);
  const auto vector = static_cast<uint64_t>(codebook.vector_size);
  const auto books = static_cast<uint64_t>(codebook.num_codebooks);
  if (level.values % vector != 0) {
    return ShapeError(level, fmt::format("{} values are not a multiple of vector_size {}", level.values, vector),
                      fmt::format("a multiple of {}", vector));
  }
  if (level.spelling->code_type && *level.spelling->code_type != ElementType::kUint8) {
    return Fail(ErrorCode::kProfileValue, level.name, "indices are packed bytes", "UINT8");
  }
  const uint64_t vectors = level.values / vector;
  std::optional<uint64_t> indices = CheckedMul(vectors, books);
  std::optional<uint64_t> bytes;
  if (indices && codebook.packed_count > 0) {
    bytes = CheckedMul(CeilDiv(*indices, static_cast<uint64_t>(codebook.packed_count)),
                       static_cast<uint64_t>(codebook.packed_bytes));
  } else if (indices) {
    std::optional<uint64_t> bits = CheckedMul(*indices, static_cast<uint64_t>(codebook.index_bits));
    if (bits) bytes = CeilDiv(*bits, 8);
  }
  if (!bytes) return ShapeError(level, "the size of the indices passes 64 bits", "a smaller tensor");
  std::vector<uint64_t> dims = grid;
  if (codebook.packed_count == 0 && codebook.index_bits == 8) {
    dims.push_back(vectors);
    if (books > 1) dims.push_back(books);
  } else {
    dims.push_back(*bytes);
  }
  body->codes.push_back(PartField(NameOr(level.spelling->codes, "indices"), ArrayOf(ElementType::kUint8, dims)));
  return {};
}

std::vector<Field> MergedConstants(const Level& level, const CodebookProfile& codebook) {
  std::vector<Field> fields = Constants(level, codebook);
  for (Field& field : ConstantsAfterScale(codebook)) fields.push_back(std::move(field));
  return fields;
}

Result<CodebookProfile> ReadCodebookConstants(const Reader& reader, Spelling* spelling) {
  CodebookProfile codebook;
  TESSERA_ASSIGN(codebook.packed_count, reader.IntOrZero("packed_count"));
  TESSERA_ASSIGN(codebook.packed_bytes, reader.IntOrZero("packed_bytes"));
  TESSERA_ASSIGN(codebook.num_codebooks, reader.IntOrZero("num_codebooks"));
  TESSERA_ASSIGN(codebook.codebook_size, reader.IntOrZero("codebook_size"));
  TESSERA_ASSIGN(codebook.vector_size, reader.IntOrZero("vector_size"));
  TESSERA_ASSIGN(codebook.index_bits, reader.IntOrZero("index_bits"));
  // The codebooks: the one constant of this family that may have another name.
  for (const Field& field : reader.fields()) {
    const auto* constant = std::get_if<Constant>(&field.content);
    if (constant == nullptr || constant->type != ElementType::kFloat || constant->dims.empty() ||
        field.name == "scales" || field.name.ends_with("_rotation")) {
      continue;
    }
    TESSERA_ASSIGN(codebook.codebook_data.values, reader.Floats(*constant, field.name));
    spelling->codebook = UnlessRule(field.name, "codebook");
    return codebook;
  }
  return reader.NotAProfile("codebook", "is missing");
}

const Family kCodebookFamily = {Validate, Translate, Recognizes, Recover};

}  // namespace tessera::quant
