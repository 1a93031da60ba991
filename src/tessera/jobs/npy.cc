#include "tessera/jobs/npy.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/file.h"
#include "tessera/types/element_value.h"

namespace tessera {
namespace {

constexpr std::pair<std::string_view, ElementType> kTypes[] = {
    {"<f4", ElementType::kFloat},     {"<f8", ElementType::kDouble},      {"<f2", ElementType::kFloat16},
    {"|i1", ElementType::kInt8},      {"<i2", ElementType::kInt16},       {"<i4", ElementType::kInt32},
    {"<i8", ElementType::kInt64},     {"|u1", ElementType::kUint8},       {"<u2", ElementType::kUint16},
    {"<u4", ElementType::kUint32},    {"<u8", ElementType::kUint64},      {"|b1", ElementType::kBool},
    {"<c8", ElementType::kComplex64}, {"<c16", ElementType::kComplex128},
};

// What follows `'key':` in the header's dictionary, without leading blanks.
std::string_view Entry(std::string_view header, std::string_view key) {
  std::string quoted = fmt::format("'{}':", key);
  size_t at = header.find(quoted);
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + quoted.size());
  return rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
}

// `(2, 3)`, `(5,)` or `()`.
std::optional<std::vector<int64_t>> Shape(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  std::vector<int64_t> shape;
  size_t at = 1;
  while (at < text.size() && text[at] != ')') {
    int64_t dim = 0;
    auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), dim);
    if (error != std::errc() || dim < 0) return std::nullopt;
    shape.push_back(dim);
    at = static_cast<size_t>(end - text.data());
    while (at < text.size() && (text[at] == ',' || text[at] == ' ')) ++at;
  }
  return at < text.size() ? std::optional(shape) : std::nullopt;
}

}  // namespace

Result<Constant> LoadNpy(const std::filesystem::path& path) {
  TESSERA_ASSIGN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  std::span<const uint8_t> bytes = file->bytes();
  auto refuse = [&](std::string what) {
    return Fail(ErrorCode::kParameterData, path.string(), std::move(what), "an array saved by numpy.save");
  };
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with("\x93NUMPY") || text.size() < 10) return refuse("is not an .npy file");
  size_t length_bytes = bytes[6] == 1 ? 2 : 4;
  if (bytes[6] < 1 || bytes[6] > 3 || text.size() < 8 + length_bytes) return refuse("has an unknown version");
  size_t header_bytes = 0;
  for (size_t i = 0; i < length_bytes; ++i) header_bytes |= static_cast<size_t>(bytes[8 + i]) << (8 * i);
  if (header_bytes > text.size() - 8 - length_bytes) return refuse("ends inside its header");
  std::string_view header = text.substr(8 + length_bytes, header_bytes);
  std::span<const uint8_t> data = bytes.subspan(8 + length_bytes + header_bytes);

  Constant constant;
  std::string_view descr = Entry(header, "descr");
  for (const auto& [name, type] : kTypes) {
    if (descr.starts_with(fmt::format("'{}'", name))) constant.type = type;
  }
  if (constant.type == ElementType::kUndefined)
    return refuse("has a type that is not supported: " + Quoted(descr.substr(0, 8)));
  std::optional<std::vector<int64_t>> shape = Shape(Entry(header, "shape"));
  if (!shape) return refuse("has no shape");
  constant.dims = *std::move(shape);
  if (!Entry(header, "fortran_order").starts_with("False") && constant.dims.size() > 1) {
    return refuse("is in Fortran order; numpy.ascontiguousarray makes it C order");
  }
  std::optional<uint64_t> count = CheckedProduct(constant.dims);
  std::optional<uint64_t> needed = count ? PackedBytes(constant.type, *count) : std::nullopt;
  if (needed != data.size())
    return refuse(fmt::format("has {} bytes of data, which do not fit its shape", data.size()));
  constant.bytes.assign(data.begin(), data.end());
  return constant;
}

}  // namespace tessera
