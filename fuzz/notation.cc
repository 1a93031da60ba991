// Fuzz target: any text either fails with an error at a place in it, or parses to types that print and parse again to
// equal ones.
#include "tessera/types/notation.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace {

void CheckTypes(std::string_view text) {
  tessera::NotationOptions options;
  options.shape = {{4, 256}};
  options.parameters["n"] = 3;
  options.parameters["literal"] = std::string("0.5");
  tessera::Constant data;
  data.type = tessera::ElementType::kFloat;
  data.dims = {2};
  data.bytes = {0, 0, 0x80, 0x3F, 1, 0, 0xC0, 0x7F};
  options.parameters["data"] = data;
  auto first = tessera::ParseNotation(text, options);
  if (!first) {
    if (first.error().where.empty() || first.error().what.empty()) __builtin_trap();
    return;
  }
  auto types = std::move(*first).Concrete();
  if (!types) return;
  // What was printed has no parameters left: symbols of value infos may have names that are bound here.
  auto second = tessera::ParseNotation(tessera::PrintNotation(*types), {});
  if (!second || !second->unbound.empty() || second->types != *types) __builtin_trap();
}

void CheckFunction(std::string_view text) {
  auto first = tessera::ParseFunctionText(text, {});
  if (!first) return;
  auto second = tessera::ParseFunctionText(tessera::PrintFunctionText(*first, 2), {});
  if (!second || *second != *first) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckTypes(text);
  CheckFunction(text);
  return 0;
}
