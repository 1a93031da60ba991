// RotationProto: a matrix that the tensor is multiplied with.
#include <fmt/format.h>

#include "tessera/quant/families/family.h"

namespace tessera::quant {

void ValidateRotation(const Rotation& rotation, const Path& path, Validator* validator) {
  if (rotation.dims.empty() || rotation.dims.size() > 2) {
    validator->Add(ErrorCode::kProfileValue, path.Field("dims"), fmt::format("has {} entries", rotation.dims.size()),
                   "the size, or both sizes, of the matrix");
    return;
  }
  for (size_t i = 0; i < rotation.dims.size(); ++i) {
    validator->Range(path.Index("dims", i), rotation.dims[i], 1, INT32_MAX);
  }
  const int64_t size = rotation.dims.back();
  if (rotation.dims.front() != size) {
    validator->Add(ErrorCode::kProfileConflict, path.Field("dims"),
                   fmt::format("a rotation is square, not {} by {}", rotation.dims.front(), size), "two equal sizes");
    return;
  }
  if (rotation.matrix_type == RotationType::kHadamard) {
    if (size > 0 && (size & (size - 1)) != 0) {
      validator->Add(ErrorCode::kProfileValue, path.Field("dims"),
                     fmt::format("Sylvester's Hadamard matrices have no size {}", size), "a power of two");
    }
    if (!rotation.matrix.values.empty() || !rotation.matrix.parameter.empty() || rotation.matrix_index) {
      validator->Add(ErrorCode::kProfileConflict, path.Field("matrix"), "a Hadamard rotation needs no data",
                     "matrix_type: PLAIN, or no matrix");
    }
    return;
  }
  if (rotation.matrix_index) validator->Range(path.Field("matrix_index"), *rotation.matrix_index, 0, INT32_MAX);
  const bool given = !rotation.matrix.values.empty() || !rotation.matrix.parameter.empty();
  if (!given && !rotation.matrix_index) {
    validator->Add(ErrorCode::kProfileData, path.Field("matrix"), "a plain rotation has no data",
                   "matrix: [...], or matrix_index");
  } else if (given && size > 0) {
    validator->Data(path.Field("matrix"), rotation.matrix, rotation.dims.size() == 1 ? size : size * size);
  }
}

Result<void> RotationConstants(const Level& level, const Rotation& rotation, std::string_view prefix,
                               std::vector<Field>* fields) {
  const auto size = static_cast<uint64_t>(rotation.dims.back());
  if (level.shape.empty()) return ShapeError(level, "a scalar cannot be rotated", "a tensor with axes");
  const bool pre = prefix.starts_with("pre");
  const uint64_t axis = pre ? level.shape.back() : level.shape.front();
  if (rotation.matrix_type == RotationType::kHadamard ? axis % size != 0 : axis != size) {
    return ShapeError(
        level, fmt::format("{} of size {} does not fit the {} axis, {}", prefix, size, pre ? "last" : "first", axis),
        rotation.matrix_type == RotationType::kHadamard ? fmt::format("a multiple of {}", size)
                                                        : fmt::format("{}", size));
  }
  fields->push_back(IntConstant(fmt::format("{}_type", prefix), static_cast<int64_t>(rotation.matrix_type)));
  fields->push_back(IntsConstant(fmt::format("{}_dims", prefix), rotation.dims));
  if (rotation.matrix_type == RotationType::kPlain) {
    if (rotation.matrix.values.empty()) {
      return Fail(ErrorCode::kUnbound, level.name,
                  fmt::format("{} has no data{}", prefix,
                              rotation.matrix_index ? fmt::format(" for matrix_index {}", *rotation.matrix_index) : ""),
                  fmt::format("--set {}=@file.npy", rotation.matrix_index
                                                        ? fmt::format("rotation_matrix_{}", *rotation.matrix_index)
                                                        : rotation.matrix.parameter));
    }
    fields->push_back(
        FloatsConstant(std::string(prefix), {rotation.dims.begin(), rotation.dims.end()}, rotation.matrix.values));
  }
  return {};
}

Result<std::optional<Rotation>> ReadRotation(const Reader& reader, std::string_view prefix) {
  const std::string type_name = fmt::format("{}_type", prefix);
  if (!reader.Has(type_name)) return std::nullopt;
  Rotation rotation;
  TESSERA_ASSIGN(int32_t type, reader.Int(type_name));
  if (type != 0 && type != 1) return reader.NotAProfile(type_name, "is neither HADAMARD nor PLAIN");
  rotation.matrix_type = static_cast<RotationType>(type);
  TESSERA_ASSIGN(rotation.dims, reader.Ints(fmt::format("{}_dims", prefix)));
  if (rotation.matrix_type == RotationType::kPlain) {
    TESSERA_ASSIGN(rotation.matrix.values, reader.Floats(prefix));
  }
  return rotation;
}

}  // namespace tessera::quant
