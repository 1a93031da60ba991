#include "tessera/formats/testing/profile_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "tessera/quant/profile_text.h"

namespace tessera {
namespace {

class Lister {
 public:
  void List(const std::string& path, const Profile& profile) {
    Add(path, "kind", profile.kind.index() == 0 ? "(none)" : NamesOf(profile).field);
    Add(path, "data_type", profile.data_type);
    Add(path, "doc_string", profile.doc_string);
    for (const Metadata& entry : profile.metadata) Add(path, "metadata[" + entry.key + "]", entry.value);
    List(path, "pre_rotation", profile.pre_rotation);
    List(path, "post_rotation", profile.post_rotation);
    std::visit(
        [&](const auto& family) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(family)>, std::monostate>) {
            Family(path + std::string(NamesOf(profile).field) + ".", family);
          }
        },
        profile.kind);
  }

  std::vector<std::pair<std::string, std::string>> fields;

 private:
  static std::string Text(bool value) { return value ? "true" : "false"; }
  static std::string Text(int32_t value) { return fmt::format("{}", value); }
  static std::string Text(int64_t value) { return fmt::format("{}", value); }
  static std::string Text(float value) { return fmt::format("{}", value); }
  static std::string Text(std::string_view value) { return std::string(value); }
  static std::string Text(const std::string& value) { return value; }
  static std::string Text(const char* value) { return value; }
  static std::string Text(ElementType value) { return std::string(Name(value)); }
  static std::string Text(BlockFieldRole value) { return std::string(Name(value)); }
  static std::string Text(RotationType value) { return value == RotationType::kHadamard ? "HADAMARD" : "PLAIN"; }
  static std::string Text(BlockStorageOrder value) {
    return value == BlockStorageOrder::kInterleaved ? "INTERLEAVED" : "SEQUENTIAL";
  }
  template <typename T>
  static std::string Text(const std::vector<T>& values) {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  static std::string Text(const FloatData& data) {
    return data.parameter.empty() ? Text(data.values) : "[...] " + data.parameter;
  }
  static std::string Text(const Scale& scale) {
    if (const auto* value = std::get_if<float>(&scale)) return Text(*value);
    if (const auto* power = std::get_if<ScaleExponent>(&scale)) return fmt::format("2^{}", power->exponent);
    if (const auto* stored = std::get_if<Stored>(&scale)) return PrintStored(*stored);
    return "absent";
  }
  static std::string Text(const ZeroPoint& zero_point) {
    if (const auto* value = std::get_if<int64_t>(&zero_point)) return Text(*value);
    return PrintStored(std::get<Stored>(zero_point));
  }
  template <typename T>
  static std::string Text(const std::optional<T>& value) {
    return value ? Text(*value) : "absent";
  }

  template <typename T>
  void Add(const std::string& path, std::string_view field, const T& value) {
    fields.emplace_back(path + std::string(field), Text(value));
  }

  void List(const std::string& path, std::string_view field, const std::optional<Rotation>& rotation) {
    if (!rotation) return Add(path, field, "absent");
    const std::string in = path + std::string(field) + ".";
    Add(in, "matrix_type", rotation->matrix_type);
    Add(in, "dims", rotation->dims);
    Add(in, "matrix_index", rotation->matrix_index);
    Add(in, "matrix", rotation->matrix);
  }

  void List(const std::string& path, const BlockLayout& layout) {
    Add(path, "block_size", layout.block_size);
    Add(path, "bytes_per_block", layout.bytes_per_block);
    for (size_t i = 0; i < layout.fields.size(); ++i) {
      const BlockField& field = layout.fields[i];
      const std::string in = fmt::format("{}fields[{}].", path, i);
      Add(in, "role", field.role);
      Add(in, "bit_offset", field.bit_offset);
      Add(in, "bit_width", field.bit_width);
      Add(in, "count", field.count);
      Add(in, "data_type", field.data_type);
    }
  }

  void Family(const std::string& in, const LinearProfile& linear) {
    Add(in, "storage_type", linear.storage_type);
    Add(in, "bits", linear.bits);
    Add(in, "symmetric", linear.symmetric);
    Add(in, "scale", linear.scale);
    Add(in, "zero_point", linear.zero_point);
    Add(in, "axis", linear.axis);
  }
  void Family(const std::string& in, const CodebookProfile& codebook) {
    Add(in, "scale", codebook.scale);
    Add(in, "codebook_data", codebook.codebook_data);
    Add(in, "packed_count", codebook.packed_count);
    Add(in, "packed_bytes", codebook.packed_bytes);
    Add(in, "num_codebooks", codebook.num_codebooks);
    Add(in, "codebook_size", codebook.codebook_size);
    Add(in, "vector_size", codebook.vector_size);
    Add(in, "index_bits", codebook.index_bits);
  }
  void Family(const std::string& in, const FloatingPointProfile& floating_point) {
    Add(in, "sign_bits", floating_point.sign_bits);
    Add(in, "exponent_bits", floating_point.exponent_bits);
    Add(in, "mantissa_bits", floating_point.mantissa_bits);
    Add(in, "exponent_bias", floating_point.exponent_bias);
    Add(in, "has_inf", floating_point.has_inf);
    Add(in, "has_nan", floating_point.has_nan);
    Add(in, "split_storage", floating_point.split_storage);
    Add(in, "packed_count", floating_point.packed_count);
    Add(in, "packed_bytes", floating_point.packed_bytes);
    Add(in, "scale", floating_point.scale);
  }
  void Family(const std::string& in, const SparseProfile& sparse) {
    Add(in, "outlier_data_type", sparse.outlier_data_type);
    Add(in, "outlier_threshold", sparse.outlier_threshold);
    Add(in, "outlier_ratio", sparse.outlier_ratio);
    List(in + "base_quant.", *sparse.base_quant);
  }
  void Family(const std::string& in, const LogProfile& log) {
    Add(in, "bits", log.bits);
    Add(in, "base", log.base);
    Add(in, "offset", log.offset);
    Add(in, "has_sign", log.has_sign);
  }
  void Family(const std::string& in, const FunctionProfile& function) {
    Add(in, "storage_type", function.storage_type);
    Add(in, "bits", function.bits);
    Add(in, "quantize_op", function.quantize_op);
    Add(in, "dequantize_op", function.dequantize_op);
    if (function.block_layout) List(in + "block_layout.", *function.block_layout);
  }
  void Family(const std::string& in, const TilingProfile& tiling) {
    Add(in, "tile_shape", tiling.tile_shape);
    Add(in, "axes", tiling.axes);
    Add(in, "perm", tiling.perm);
    for (size_t i = 0; i < tiling.elem_quant.size(); ++i) {
      List(fmt::format("{}elem_quant[{}].", in, i), tiling.elem_quant[i]);
    }
  }
  void Family(const std::string& in, const CastProfile& cast) { Add(in, "storage_type", cast.storage_type); }
  void Family(const std::string& in, const StructuredBlockProfile& block) {
    List(in + "block_layout.", block.block_layout);
    Add(in, "codebook_data", block.codebook_data);
    Add(in, "codebook_vector_size", block.codebook_vector_size);
    for (size_t i = 0; i < block.index_formula.size(); ++i) {
      const std::string term = fmt::format("{}index_formula[{}].", in, i);
      Add(term, "field", block.index_formula[i].field);
      Add(term, "multiplier", block.index_formula[i].multiplier);
    }
    if (block.scatter) {
      Add(in, "scatter.group_size", block.scatter->group_size);
      Add(in, "scatter.vector_size", block.scatter->vector_size);
      Add(in, "scatter.stride", block.scatter->stride);
    }
    Add(in, "storage_order", block.storage_order);
    Add(in, "axis", block.axis);
  }
};

std::string Shortened(const std::string& text) {
  constexpr size_t kLongest = 60;
  return text.size() <= kLongest ? text : text.substr(0, text.find(',', kLongest / 2)) + ", ...";
}

const std::string* FindField(const std::vector<std::pair<std::string, std::string>>& fields, const std::string& path) {
  auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == path; });
  return found == fields.end() ? nullptr : &found->second;
}

// `scale`: what a reader of the page has to know of a path.
std::string LastName(const std::string& path) { return path.substr(path.rfind('.') + 1); }

}  // namespace

std::vector<std::pair<std::string, std::string>> ProfileFields(const Profile& profile) {
  Lister lister;
  lister.List("", profile);
  return std::move(lister.fields);
}

std::vector<Difference> CompareProfiles(const Profile& ours, const Profile& document) {
  const auto mine = ProfileFields(ours);
  const auto theirs = ProfileFields(document);
  std::vector<Difference> differences;
  auto add = [&](const std::string& path, const std::string& said, const std::string& done) {
    const std::string name = LastName(path);
    differences.push_back({DifferenceKind::kProfile, "", path, fmt::format("profile: `{}` {}", name, Shortened(said)),
                           fmt::format("`{}` {}", name, Shortened(done))});
  };
  for (const auto& [path, value] : theirs) {
    const std::string* found = FindField(mine, path);
    if (found == nullptr) {
      add(path, value, "no such field");
    } else if (*found != value) {
      add(path, value, *found);
    }
  }
  for (const auto& [path, value] : mine) {
    if (FindField(theirs, path) == nullptr) add(path, "no such field", value);
  }
  return differences;
}

}  // namespace tessera
