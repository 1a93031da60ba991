// Fuzz target: random payloads of random types. The input is a profile in the notation, a NUL, and bytes that the
// payload repeats; an input that begins with a NUL names a format of the catalogue by a number instead. The native
// codec, the decoder from the leaves and the function from the bytes, both in the evaluator, give the same values or
// all fail; what was decoded can be encoded, always to the same bytes, which decode again.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/codecs/decoder.h"
#include "tessera/codecs/evaluator.h"
#include "tessera/codecs/format_codec.h"
#include "tessera/codecs/native_codec.h"
#include "tessera/formats/catalog.h"
#include "tessera/quant/profile_text.h"
#include "tessera/quant/profile_walk.h"
#include "tessera/quant/translate.h"
#include "tessera/types/element_value.h"
#include "tessera/types/operators.h"
#include "tessera/types/struct_view.h"
#include "tessera/types/type_table.h"

namespace {

using tessera::Profile;
using Shape = std::vector<int64_t>;

constexpr uint64_t kMaxPayload = 1 << 13;
constexpr uint64_t kMaxValues = 1 << 12;
constexpr uint64_t kMaxEncoded = 1 << 9;

[[noreturn]] void Finding(std::string_view what, std::string_view text, std::string_view more = {}) {
  std::fprintf(stderr, "%.*s\n%.*s\n%.*s\n", static_cast<int>(what.size()), what.data(), static_cast<int>(text.size()),
               text.data(), static_cast<int>(more.size()), more.data());
  __builtin_trap();
}

tessera::EvaluatorOptions SmallOptions() {
  tessera::EvaluatorOptions options;
  options.max_elements = 1 << 20;
  options.max_total_bytes = 1 << 26;
  options.max_steps = 1 << 26;
  return options;
}

tessera::Limits SmallLimits() {
  tessera::Limits limits;
  limits.depth = 8;
  limits.fields = 1'024;
  limits.leaves = 1'024;
  limits.constant_bytes = 1 << 14;
  limits.payload_bytes = uint64_t{1} << 32;
  limits.profile_bytes = 1 << 20;
  return limits;
}

std::vector<uint8_t> Repeated(std::string_view bytes, uint64_t size) {
  std::vector<uint8_t> payload(size);
  for (uint64_t i = 0; i < size && !bytes.empty(); ++i) payload[i] = static_cast<uint8_t>(bytes[i % bytes.size()]);
  return payload;
}

// Powers and products with a matrix are rounded in several ways.
struct Rounded {
  bool* rounded;
  void operator()(const Profile& profile, const tessera::Path&) const {
    for (const auto& rotation : {profile.pre_rotation, profile.post_rotation}) {
      if (rotation && rotation->dims.size() == 2) *rounded = true;
    }
    if (std::holds_alternative<tessera::LogProfile>(profile.kind)) *rounded = true;
  }
};

double NumberOf(const tessera::Tensor& tensor, uint64_t i) {
  if (tessera::Info(tensor.type).kind == tessera::ElementKind::kFloat)
    return tessera::DecodeFloat(tensor.type, tensor.Code(i));
  return static_cast<double>(tessera::DecodeInteger(tensor.type, tensor.Code(i)));
}

void CheckProfile(const Profile& profile, const Shape& shape, std::string_view bytes) {
  tessera::TranslateOptions options;
  options.limits = SmallLimits();
  auto types = tessera::TranslateProfile(profile, shape, options);
  if (!types) {
    options.outliers = 1;
    types = tessera::TranslateProfile(profile, shape, options);
  }
  if (!types) return;
  tessera::Problems problems;
  const tessera::TypeTable table = tessera::TypeTable::Build(*types, options.limits, &problems);
  const auto root = table.Get(static_cast<int64_t>(types->size()) - 1);
  if (root == nullptr || root->size_bits / 8 > kMaxPayload) return;
  uint64_t values = 1;
  for (int64_t dim : shape) values *= static_cast<uint64_t>(dim);
  if (values > kMaxValues) return;
  const std::string text = tessera::PrintProfile(profile) + "\nshape " + tessera::ShapeText(shape);
  const std::vector<uint8_t> payload = Repeated(bytes, root->size_bits / 8);

  const auto codec = tessera::NativeCodec::Create(profile, shape, *types, options.limits);
  if (!codec) Finding("has no native codec", text, codec.error().Format());
  const auto native = codec->Decode(payload);
  if (!native && native.error().what.empty()) Finding("an error that says nothing", text);

  const auto by_leaves = tessera::BuildDecoder(profile, shape, *types, tessera::kMaxOpset, options.limits);
  const uint64_t size = payload.size();
  const auto by_bytes =
      tessera::BuildPayloadDecoder(profile, shape, *types, std::span(&size, 1), tessera::kMaxOpset, options.limits);
  // Whether all elements are numbers that ONNX casts; BOOL and complex types have no real numbers to compare.
  if (by_leaves && by_bytes) {
    const auto view = tessera::StructView::Create(root, {payload}, "payload");
    if (!view) Finding("is no view", text, view.error().Format());
    std::vector<tessera::Tensor> leaves;
    for (size_t i = 0; i < view->leaf_count(); ++i) leaves.push_back(*tessera::TensorOf(view->leaf(i)));
    const auto a = tessera::EvaluateFunction(*by_leaves, std::move(leaves), SmallOptions());
    const auto b = tessera::EvaluateFunction(
        *by_bytes,
        {tessera::Tensor{.type = tessera::ElementType::kUint8, .dims = {static_cast<int64_t>(size)}, .bytes = payload}},
        SmallOptions());
    const bool limited = (!a && a.error().code == tessera::ErrorCode::kEvaluateLimit) ||
                         (!b && b.error().code == tessera::ErrorCode::kEvaluateLimit);
    if (!limited) {
      if (a.has_value() != b.has_value() || a.has_value() != native.has_value()) {
        Finding("some decode, some do not", text,
                (a ? "leaves: yes" : a.error().Format()) + "\n" + (b ? "bytes: yes" : b.error().Format()) + "\n" +
                    (native ? "native: yes" : native.error().Format()));
      }
      bool rounded = false;
      tessera::ProfileWalk walk(Rounded{&rounded});
      walk(profile, tessera::Path("profile"));
      for (uint64_t i = 0; native && !rounded && i < native->size(); ++i) {
        const double x = (*native)[i];
        const double y = NumberOf(*a, i);
        const double z = NumberOf(*b, i);
        auto same = [](double p, double q) {
          return std::bit_cast<uint64_t>(p) == std::bit_cast<uint64_t>(q) || (std::isnan(p) && std::isnan(q));
        };
        if (!same(x, y) || !same(x, z)) {
          Finding("decodes to different values", text,
                  "value " + std::to_string(i) + ": native " + std::to_string(x) + ", leaves " + std::to_string(y) +
                      ", bytes " + std::to_string(z));
        }
      }
    }
  }
  if (!native || native->size() > kMaxEncoded) return;
  const auto encoded = codec->Encode(*native);
  if (!encoded) {
    if (encoded.error().what.empty()) Finding("an error that says nothing", text);
    return;
  }
  const auto again = codec->Encode(*native);
  if (!again || *again != *encoded) Finding("is encoded in two ways", text);
  const auto decoded = codec->Decode(*encoded);
  if (!decoded) Finding("what was encoded does not decode", text, decoded.error().Format());
}

void CheckFormat(std::string_view input) {
  const auto formats = tessera::AllFormats();
  const tessera::Format& format = formats[static_cast<uint8_t>(input[0]) % formats.size()];
  input.remove_prefix(1);
  const int64_t columns = static_cast<int64_t>(input.size() % 3 + 1) * format.BlockValues();
  for (const Shape& shape : {Shape{2, columns}, Shape{1, 4096}}) {
    const auto types = tessera::DeclareFormat(format, shape, tessera::WithPlaceholders(format));
    if (!types || types->SizeBytes() > kMaxPayload * 4) continue;
    const std::vector<uint8_t> payload = Repeated(input, types->SizeBytes());
    const auto decoded = tessera::DecodeFormat(format, *types, payload);
    if (!decoded) {
      if (decoded.error().what.empty()) Finding("an error that says nothing", format.name);
      continue;
    }
    // Additive codebooks are searched, which takes long under sanitizers.
    if (decoded->size() > kMaxEncoded) return;
    const auto encoded = tessera::EncodeFormat(format, *types, *decoded);
    if (!encoded) continue;
    if (encoded->payload.size() != types->SizeBytes()) Finding("is encoded in another size", format.name);
    const auto again = tessera::DecodeFormat(format, *types, encoded->payload);
    if (!again) Finding("what was encoded does not decode", format.name, again.error().Format());
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.size() > 1 && input[0] == '\0') {
    CheckFormat(input.substr(1));
    return 0;
  }
  const std::string_view text = input.substr(0, input.find('\0'));
  const std::string_view bytes = input.substr(std::min(input.size(), text.size() + 1));
  tessera::NotationOptions options;
  options.limits = SmallLimits();
  auto parsed = tessera::ParseProfiles(text, options);
  if (!parsed) return 0;
  const auto profiles = std::move(*parsed).Concrete();
  if (!profiles) return 0;
  for (const Profile& profile : std::span(*profiles).first(std::min<size_t>(2, profiles->size()))) {
    for (const Shape& shape : {Shape{}, Shape{64}, Shape{4, 64}, Shape{2, 3, 32}, Shape{0, 4}, Shape{5}}) {
      CheckProfile(profile, shape, bytes);
    }
  }
  return 0;
}
