#include "tessera/quant/profile.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace tessera {
namespace {

constexpr std::array<std::string_view, 8> kRoleNames = {"VALUES", "SIGN",     "SCALE", "ZERO_POINT",
                                                        "BIAS",   "EXPONENT", "CODE",  "MASK"};

void ResolveIn(Profile* profile);

void ResolveIn(Stored* stored) {
  if (auto* profile = std::get_if<Box<Profile>>(&stored->type)) ResolveIn(&**profile);
}

void ResolveIn(Scale* scale) {
  if (auto* stored = std::get_if<Stored>(scale)) ResolveIn(stored);
}

void ResolveIn(LinearProfile* linear) {
  ResolveIn(&linear->scale);
  if (auto* stored = std::get_if<Stored>(&linear->zero_point)) ResolveIn(stored);
}

void ResolveIn(CodebookProfile* codebook) {
  ResolveIn(&codebook->scale);
  if (codebook->num_codebooks == 0) codebook->num_codebooks = 1;
  if (codebook->vector_size == 0) codebook->vector_size = 1;
  if (codebook->codebook_size == 0 && codebook->num_codebooks > 0 && codebook->vector_size > 0) {
    const int64_t values = static_cast<int64_t>(codebook->codebook_data.values.size());
    const int64_t entries = values / codebook->num_codebooks / codebook->vector_size;
    if (entries <= INT32_MAX) codebook->codebook_size = static_cast<int32_t>(entries);
  }
}

void ResolveIn(FloatingPointProfile* floating_point) { ResolveIn(&floating_point->scale); }
void ResolveIn(SparseProfile* sparse) { ResolveIn(&*sparse->base_quant); }
void ResolveIn(TilingProfile* tiling) {
  for (Profile& profile : tiling->elem_quant) ResolveIn(&profile);
}
void ResolveIn(BlockLayout* layout) {
  for (BlockField& field : layout->fields) {
    if (Info(field.data_type).kind == ElementKind::kUnsigned &&
        static_cast<int64_t>(BitWidth(field.data_type)) == field.bit_width) {
      field.data_type = ElementType::kUndefined;
    }
  }
}
void ResolveIn(FunctionProfile* function) {
  if (function->block_layout) ResolveIn(&*function->block_layout);
}
void ResolveIn(StructuredBlockProfile* blocks) { ResolveIn(&blocks->block_layout); }
// The other families have nothing to infer.
template <typename T>
void ResolveIn(T*) {}

void ResolveIn(std::optional<Rotation>* rotation) {
  if (*rotation && !(*rotation)->matrix.values.empty()) (*rotation)->matrix_index.reset();
}

void ResolveIn(Profile* profile) {
  std::visit([](auto& family) { ResolveIn(&family); }, profile->kind);
  ResolveIn(&profile->pre_rotation);
  ResolveIn(&profile->post_rotation);
}

bool Same(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

bool Same(const Scale& a, const Scale& b) {
  const auto* one = std::get_if<float>(&a);
  const auto* other = std::get_if<float>(&b);
  return one != nullptr && other != nullptr ? Same(*one, *other) : a == b;
}

}  // namespace

bool Stored::operator==(const Stored& other) const { return type == other.type && per == other.per && at == other.at; }

bool FloatData::operator==(const FloatData& other) const {
  return parameter == other.parameter && values.size() == other.values.size() &&
         (values.empty() || std::memcmp(values.data(), other.values.data(), values.size() * sizeof(float)) == 0);
}

bool LinearProfile::operator==(const LinearProfile& other) const {
  return storage_type == other.storage_type && bits == other.bits && symmetric == other.symmetric &&
         Same(scale, other.scale) && zero_point == other.zero_point && axis == other.axis;
}

bool CodebookProfile::operator==(const CodebookProfile& other) const {
  return Same(scale, other.scale) && codebook_data == other.codebook_data && packed_count == other.packed_count &&
         packed_bytes == other.packed_bytes && num_codebooks == other.num_codebooks &&
         codebook_size == other.codebook_size && vector_size == other.vector_size && index_bits == other.index_bits;
}

bool FloatingPointProfile::operator==(const FloatingPointProfile& other) const {
  return sign_bits == other.sign_bits && exponent_bits == other.exponent_bits && mantissa_bits == other.mantissa_bits &&
         exponent_bias == other.exponent_bias && has_inf == other.has_inf && has_nan == other.has_nan &&
         split_storage == other.split_storage && packed_count == other.packed_count &&
         packed_bytes == other.packed_bytes && Same(scale, other.scale);
}

bool LogProfile::operator==(const LogProfile& other) const {
  return bits == other.bits && Same(base, other.base) && Same(offset, other.offset) && has_sign == other.has_sign;
}

bool SparseProfile::operator==(const SparseProfile& other) const {
  return base_quant == other.base_quant && outlier_data_type == other.outlier_data_type &&
         Same(outlier_threshold, other.outlier_threshold) && Same(outlier_ratio, other.outlier_ratio);
}

bool TilingProfile::operator==(const TilingProfile& other) const {
  return tile_shape == other.tile_shape && axes == other.axes && elem_quant == other.elem_quant && perm == other.perm;
}

std::string_view Name(BlockFieldRole role) { return kRoleNames[static_cast<size_t>(role)]; }

std::optional<BlockFieldRole> BlockFieldRoleFromName(std::string_view name) {
  const auto* found = std::find(kRoleNames.begin(), kRoleNames.end(), name);
  if (found == kRoleNames.end()) return std::nullopt;
  return static_cast<BlockFieldRole>(found - kRoleNames.begin());
}

std::optional<BlockFieldRole> BlockFieldRoleFromNumber(int64_t number) {
  if (number < 0 || static_cast<uint64_t>(number) >= kRoleNames.size()) return std::nullopt;
  return static_cast<BlockFieldRole>(number);
}

Profile Resolved(const Profile& profile) {
  Profile resolved = profile;
  ResolveIn(&resolved);
  return resolved;
}

}  // namespace tessera
