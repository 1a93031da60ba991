// Fuzz target: any text either fails with an error at a place in it, or parses to profiles that print and parse again
// to equal ones. Those that are right for a shape translate to struct types that the checker accepts and that come back
// as the same profile; struct types in the text come back as a profile only if that translates to them.
#include "tessera/quant/profile.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/quant/profile_text.h"
#include "tessera/quant/quantized_tensor.h"
#include "tessera/quant/translate.h"
#include "tessera/quant/validate.h"
#include "tessera/types/closure.h"
#include "tessera/types/notation.h"
#include "tessera/types/type_table.h"

namespace {

using tessera::Profile;
using tessera::StructType;
using Shape = std::vector<int64_t>;

constexpr uint64_t kMaxPayload = uint64_t{1} << 22;

[[noreturn]] void Finding(std::string_view what, std::string_view text, std::string_view more) {
  std::fprintf(stderr, "%.*s\n%.*s\n%.*s\n", static_cast<int>(what.size()), what.data(), static_cast<int>(text.size()),
               text.data(), static_cast<int>(more.size()), more.data());
  __builtin_trap();
}

// Small, so that an input of a few bytes cannot ask for much work.
tessera::Limits SmallLimits() {
  tessera::Limits limits;
  limits.depth = 16;
  limits.fields = 4'096;
  limits.leaves = 4'096;
  limits.constant_bytes = 1 << 16;
  limits.payload_bytes = uint64_t{1} << 40;
  return limits;
}

// Fixed shapes, and one that the input chooses; what is multiplied out stays below 2^20 values, or overflows.
std::vector<Shape> ShapesFor(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  Shape chosen;
  for (uint64_t rank = hash % 4; rank > 0; --rank, hash /= 64) {
    constexpr int64_t kDims[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 60, 64, 0, 5, 7};
    chosen.push_back(kDims[hash / 4 % 16]);
  }
  return {{}, {256}, {4, 256}, {2, 3, 32}, {2, 4}, {0}, {INT64_MAX, 4}, chosen};
}

void CheckTypes(const std::vector<StructType>& types, const Profile& profile, const Shape& shape,
                const tessera::TranslateOptions& options) {
  const std::string text = tessera::PrintProfile(profile) + "\nshape " + tessera::ShapeText(shape);
  tessera::Problems problems;
  const tessera::TypeTable table = tessera::TypeTable::Build(types, options.limits, &problems);
  if (!problems.empty()) Finding("the checker refuses", text, problems.list().front().Format());
  const auto back = tessera::RecoverProfile(types, std::nullopt, options.limits);
  if (!back) Finding("does not come back", text, back.error().Format() + "\n" + tessera::PrintNotation(types));
  if (back->profile != tessera::Resolved(profile) || back->shape != shape)
    Finding("comes back as another", text, tessera::PrintProfile(back->profile));
  const auto again = tessera::TranslateProfile(back->profile, back->shape, back->options);
  if (!again) Finding("what came back does not translate", text, again.error().Format());
  if (*again != types) Finding("what came back translates to", text, tessera::PrintNotation(*again));

  const auto root = table.Get(static_cast<int64_t>(types.size()) - 1);
  if (root == nullptr || root->size_bits % 8 != 0) Finding("is not whole bytes", text, "");
  if (root->size_bits / 8 > kMaxPayload) return;
  tessera::QuantizedTensor tensor;
  tensor.dims = shape;
  tensor.raw_data.resize(root->size_bits / 8);
  tensor.n_bytes = static_cast<int64_t>(tensor.raw_data.size());
  tensor.quantization = tessera::Box<Profile>(tessera::Resolved(profile));
  const auto value = tessera::ToStructValue(tensor, {}, options);
  if (!value) Finding("is no struct value", text, value.error().Format());
  const auto same = tessera::ToQuantizedTensor(*value, options.limits);
  if (!same || !(*same == tensor)) Finding("changes as a quantized tensor", text, "");
}

void CheckProfile(const Profile& profile, const std::vector<Shape>& shapes) {
  tessera::Problems problems;
  tessera::TranslateOptions options;
  options.limits = SmallLimits();
  tessera::ValidateProfile(profile, tessera::Path("profile"), options.limits, &problems);
  for (const tessera::Error& error : problems.list()) {
    if (error.where.empty() || error.what.empty()) Finding("an error that says nothing", error.Format(), "");
  }
  for (const Shape& shape : shapes) {
    options.outliers.reset();
    auto types = tessera::TranslateProfile(profile, shape, options);
    if (!types) {
      if (types.error().what.empty()) Finding("an error that says nothing", types.error().Format(), "");
      options.outliers = 1;
      types = tessera::TranslateProfile(profile, shape, options);
    }
    if (!types) continue;
    if (!problems.empty()) Finding("translates in spite of", problems.list().front().Format(), "");
    CheckTypes(*types, profile, shape, options);
  }
}

void CheckProfiles(std::string_view text) {
  tessera::NotationOptions options;
  options.limits = SmallLimits();
  options.shape = {{4, 256}};
  options.parameters["n"] = 4;
  options.parameters["literal"] = std::string("0.5");
  tessera::Constant data;
  data.type = tessera::ElementType::kFloat;
  data.dims = {4};
  data.bytes = {0, 0, 0x80, 0xBF, 0, 0, 0, 0, 0, 0, 0x80, 0x3F, 0, 0, 0, 0x40};
  options.parameters["data"] = data;
  options.parameters["rotation_matrix_1"] = data;
  auto parsed = tessera::ParseProfiles(text, options);
  if (!parsed) {
    if (parsed.error().where.empty() || parsed.error().what.empty()) Finding("an error without a place", text, "");
    return;
  }
  auto profiles = std::move(*parsed).Concrete();
  if (!profiles) return;
  if (profiles->empty()) Finding("a text without a profile", text, "");
  if (!tessera::IsProfileText(text)) Finding("profiles that are said to be none", text, "");
  tessera::NotationOptions none;
  none.limits = SmallLimits();
  const std::string printed = tessera::PrintProfiles(*profiles);
  const auto again = tessera::ParseProfiles(printed, none);
  if (!again) Finding("what was printed does not parse", printed, again.error().Format());
  if (again->profiles != *profiles) Finding("printed as", printed, tessera::PrintProfiles(again->profiles));
  const std::vector<Shape> shapes = ShapesFor(text);
  size_t left = 4;  // of many profiles in a text the first few are enough
  for (const Profile& profile : *profiles) {
    if (left-- == 0) break;
    CheckProfile(profile, shapes);
  }
}

std::vector<uint64_t> Sizes(const std::vector<StructType>& types) {
  tessera::Problems problems;
  const tessera::TypeTable table = tessera::TypeTable::Build(types, SmallLimits(), &problems);
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < types.size(); ++i) {
    const auto type = table.Get(static_cast<int64_t>(i));
    if (type == nullptr) Finding("a declaration that the checker refuses", "", problems.list().front().Format());
    sizes.push_back(type->size_bits);
  }
  return sizes;
}

void CheckStructTypes(std::string_view text) {
  tessera::NotationOptions options;
  options.limits = SmallLimits();
  auto parsed = tessera::ParseNotation(text, options);
  if (!parsed) return;
  const auto types = std::move(*parsed).Concrete();
  if (!types || types->empty()) return;
  const std::vector<StructType> list = tessera::Closure(types->back(), *types);
  const std::vector<std::optional<Shape>> shapes = {std::nullopt, Shape{4, 256}, Shape{256}, Shape{}};
  for (const std::optional<Shape>& shape : shapes) {
    const auto back = tessera::RecoverProfile(list, shape, options.limits);
    if (!back) {
      if (back.error().what.empty()) Finding("an error that says nothing", text, back.error().Format());
      continue;
    }
    const auto again = tessera::TranslateProfile(back->profile, back->shape, back->options);
    if (!again) Finding("a profile that does not translate", text, again.error().Format());
    // The shape in the metadata, decoders and names of constants are not compared; what the bytes mean is.
    if (Sizes(*again) != Sizes(list)) Finding("a profile of other sizes", text, tessera::PrintNotation(*again));
    const auto twice = tessera::RecoverProfile(*again, std::nullopt, options.limits);
    if (!twice) Finding("a profile that does not come back", text, twice.error().Format());
    if (twice->profile != back->profile || twice->shape != back->shape ||
        twice->options.spelling != back->options.spelling || twice->options.outliers != back->options.outliers)
      Finding("a profile that comes back as another", text, tessera::PrintProfile(twice->profile));
    if (tessera::Resolved(back->profile) != back->profile)
      Finding("a profile with something to infer", text, tessera::PrintProfile(back->profile));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckProfiles(text);
  CheckStructTypes(text);
  const auto shape = tessera::ParseShapeText(text);
  if (shape) {
    const auto again = tessera::ParseShapeText(tessera::ShapeText(*shape));
    if (!again || *again != *shape) Finding("a shape that becomes another", text, tessera::ShapeText(*shape));
  }
  return 0;
}
