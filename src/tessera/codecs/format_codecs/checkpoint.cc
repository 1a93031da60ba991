#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/codecs/checkpoints/layout.h"
#include "tessera/codecs/format_codecs/format_codecs.h"

namespace tessera {
namespace {

using checkpoints::Extent;
using checkpoints::Layout;

const Layout* FindLayout(std::string_view name) {
  for (const auto& layouts :
       {checkpoints::BitsandbytesLayouts(), checkpoints::BlockedIntegerLayouts(), checkpoints::Float8BlockLayouts()}) {
    for (const Layout& layout : layouts) {
      if (layout.name == name) return &layout;
    }
  }
  return nullptr;
}

bool Takes(const Format& format, const FormatTypes&) { return FindLayout(format.codec) != nullptr; }

std::string Detail(const Format& format, const FormatTypes&) { return format.codec; }

struct Found {
  const Layout* layout = nullptr;
  Extent extent;
};

// The layout, if the format's type is as large as its payload.
Result<Found> Find(const Format& format, const FormatTypes& types) {
  Found found{.layout = FindLayout(format.codec), .extent = {}};
  const std::optional<uint64_t> elements = CheckedProduct(types.shape);
  std::optional<uint64_t> size;
  if (elements) {
    const std::span<const int64_t> shape = types.shape;
    found.extent.elements = *elements;
    found.extent.cols = shape.empty() ? 1 : static_cast<uint64_t>(shape.back());
    found.extent.rows = CheckedProduct(shape.first(shape.empty() ? 0 : shape.size() - 1)).value_or(0);
    found.extent.block = static_cast<uint64_t>(format.BlockValues());
    size = found.layout->size(*found.layout, found.extent);
  }
  if (size != types.SizeBytes()) {
    return Fail(ErrorCode::kFormatValue, format.name,
                fmt::format("the codec {} has {} bytes for the shape {}, and the type takes {}", found.layout->name,
                            size ? std::to_string(*size) : "no number of", ShapeText(types.shape), types.SizeBytes()),
                "a type of that size, or another codec");
  }
  return found;
}

Result<std::vector<float>> Decode(const Format& format, const FormatTypes& types, std::span<const uint8_t> payload,
                                  const Limits&) {
  TESSERA_ASSIGN(const Found found, Find(format, types));
  std::vector<float> values(found.extent.elements);
  if (!values.empty()) found.layout->decode(*found.layout, found.extent, payload, values);
  return values;
}

Result<EncodedFormat> Encode(const Format& format, const FormatTypes& types, std::span<const float> values,
                             std::span<const float> weights, const Limits&) {
  TESSERA_ASSIGN(const Found found, Find(format, types));
  EncodedFormat encoded;
  encoded.payload.resize(types.SizeBytes());
  if (!values.empty()) found.layout->encode(*found.layout, found.extent, values, encoded.payload);
  if (!weights.empty())
    encoded.note = fmt::format("{} is encoded without importance weights; those given have no effect", format.name);
  return encoded;
}

}  // namespace

const FormatCodec kCheckpointCodec = {"checkpoint", Takes, Detail, Decode, Encode};

}  // namespace tessera
