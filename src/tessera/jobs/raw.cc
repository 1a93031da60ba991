#include "tessera/jobs/raw.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/file.h"
#include "tessera/codecs/format_codec.h"
#include "tessera/formats/catalog.h"
#include "tessera/jobs/format_files.h"

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "floats are read and written as they lie in memory");

struct Opened {
  Format format;
  FormatTypes types;
};

Result<Opened> Open(const std::string& name, const SourceOptions& options) {
  TESSERA_ASSIGN(const std::vector<Format> own, LoadFormatFiles(options.format_files, options.limits));
  Opened opened;
  TESSERA_ASSIGN(opened.format, FindFormat(name, own));
  if (options.shape.empty()) {
    return Fail(ErrorCode::kArgument, name,
                "the bytes of a format depend on the shape of the tensor, and none is given", "--shape 4096x4096");
  }
  TESSERA_ASSIGN(const std::vector<int64_t> shape, ParseShapeOption(options.shape));
  DeclareOptions declare;
  declare.limits = options.limits;
  declare.outliers = options.outliers;
  TESSERA_TRY(BindAssignments(options.assignments, &declare.parameters));
  TESSERA_ASSIGN(opened.types, DeclareFormat(opened.format, shape, declare));
  return opened;
}

Result<void> Write(const std::filesystem::path& path, std::span<const uint8_t> bytes) {
  TESSERA_ASSIGN(FileWriter writer, FileWriter::Create(path));
  TESSERA_TRY(writer.Reserve(bytes.size()));
  TESSERA_TRY(writer.Write(bytes));
  TESSERA_TRY(writer.Commit(path, true));
  std::filesystem::path folder = path.parent_path();
  return SyncFolder(folder.empty() ? "." : folder);
}

// The floats of a file, of which there have to be `count`.
Result<std::vector<float>> ReadFloats(const std::filesystem::path& path, uint64_t count, const std::string& what) {
  TESSERA_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const std::span<const uint8_t> bytes = file->bytes();
  const std::optional<uint64_t> needed = CheckedMul(count, sizeof(float));
  if (bytes.size() != needed) {
    return Fail(ErrorCode::kArgument, path.string(),
                fmt::format("has {} bytes, and {} float32 are {}", bytes.size(), count, needed.value_or(UINT64_MAX)),
                "as many float32 as " + what);
  }
  std::vector<float> values(count);
  if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Error At(const std::filesystem::path& path, Error error) {
  error.where = path.string() + (error.where.empty() ? "" : ": " + error.where);
  return error;
}

}  // namespace

Result<void> DecodeFile(const std::string& format, const SourceOptions& options, const std::filesystem::path& input,
                        const std::filesystem::path& output) {
  TESSERA_ASSIGN(const Opened opened, Open(format, options));
  TESSERA_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(input));
  Result<std::vector<float>> values = DecodeFormat(opened.format, opened.types, file->bytes(), options.limits);
  if (!values) return tl::unexpected<Error>(At(input, std::move(values).error()));
  return Write(output, {reinterpret_cast<const uint8_t*>(values->data()), values->size() * sizeof(float)});
}

Result<std::string> EncodeFile(const std::string& format, const SourceOptions& options,
                               const std::filesystem::path& weights, const std::filesystem::path& input,
                               const std::filesystem::path& output) {
  TESSERA_ASSIGN(const Opened opened, Open(format, options));
  const std::vector<int64_t>& shape = opened.types.shape;
  const uint64_t columns = shape.empty() ? 1 : static_cast<uint64_t>(shape.back());
  TESSERA_ASSIGN(const std::vector<float> values,
                 ReadFloats(input, CheckedProduct(shape).value_or(UINT64_MAX), "the shape has values"));
  std::vector<float> importance;
  if (!weights.empty()) {
    TESSERA_ASSIGN(importance, ReadFloats(weights, columns, "a row has values"));
  }
  Result<EncodedFormat> encoded = EncodeFormat(opened.format, opened.types, values, importance, options.limits);
  if (!encoded) return tl::unexpected<Error>(At(input, std::move(encoded).error()));
  TESSERA_TRY(Write(output, encoded->payload));
  return std::move(encoded->note);
}

}  // namespace tessera
