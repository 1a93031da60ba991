// Fuzz target: any text either fails as a format with an error that has a place, or is one: it prints and parses again
// to an equal one, declares types for the shapes that it takes and refuses the others with a fix, and decodes what is
// asked of it.
#include "tessera/formats/format.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/codecs/format_codec.h"

namespace {

using Shape = std::vector<int64_t>;

constexpr uint64_t kMaxPayload = 1 << 12;
constexpr uint64_t kMaxValues = 1 << 10;

[[noreturn]] void Finding(std::string_view what, std::string_view text, std::string_view more = {}) {
  std::fprintf(stderr, "%.*s\n%.*s\n%.*s\n", static_cast<int>(what.size()), what.data(), static_cast<int>(text.size()),
               text.data(), static_cast<int>(more.size()), more.data());
  __builtin_trap();
}

tessera::Limits SmallLimits() {
  tessera::Limits limits;
  limits.depth = 8;
  limits.fields = 1'024;
  limits.leaves = 1'024;
  limits.total_leaves = 4'096;
  limits.constant_bytes = 1 << 14;
  limits.profile_bytes = 1 << 20;
  return limits;
}

void Declare(const tessera::Format& format, const Shape& shape) {
  tessera::DeclareOptions options;
  options.limits = SmallLimits();
  options = tessera::WithPlaceholders(format, std::move(options));
  const auto types = tessera::DeclareFormat(format, shape, options);
  if (!types) {
    if (types.error().what.empty()) Finding("an error that says nothing", format.name);
    return;
  }
  if (types->root->size_bits % 8 != 0) Finding("is not whole bytes", format.name);
  uint64_t values = 1;
  for (int64_t dim : shape) values *= static_cast<uint64_t>(dim);
  if (types->SizeBytes() > kMaxPayload || values > kMaxValues) return;
  const auto decoded = tessera::DecodeFormat(format, *types, std::vector<uint8_t>(types->SizeBytes()), options.limits);
  if (decoded && decoded->size() != values) Finding("decodes to another number of values", format.name);
  if (!decoded && decoded.error().what.empty()) Finding("an error that says nothing", format.name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto format = tessera::ParseFormat(text, SmallLimits(), "input");
  if (!format) {
    if (format.error().what.empty()) Finding("an error that says nothing", text);
    return 0;
  }
  if (!tessera::IsFormatText(text)) Finding("a format that is said to be none", text);
  const std::string printed = tessera::PrintFormat(*format);
  const auto again = tessera::ParseFormat(printed, SmallLimits(), "printed");
  if (!again) Finding("what was printed does not parse", printed, again.error().Format());
  if (!(*again == *format)) Finding("printed as another", printed);
  const tessera::Format one = format->IsFamily() ? tessera::WithBlock(*format, format->blocks.front()) : *format;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{4, 32}, Shape{3, 7}, Shape{2, 3, 8}, Shape{1, 256}}) {
    Declare(one, shape);
  }
  return 0;
}
