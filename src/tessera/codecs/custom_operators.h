// Operators of somebody else, by which values of a Function profile are decoded and encoded. A program registers them
// once; the reference codec finds them by the names in the profile. A portable model cannot hold them: there the type
// needs a decoder of its own.
//
// Registration and look-up may happen from any thread; operators that are registered have to take calls from several.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/quant/profile.h"

namespace tessera {

// From the bytes of a value's codes (of a tile's, where the profile is that of tiles), in the last of which unused bits
// are 0, to its values in memory order: as many as `shape` has. An error is passed on.
using CustomDequantizer = std::function<Result<void>(const FunctionProfile& profile, std::span<const int64_t> shape,
                                                     std::span<const uint8_t> codes, std::span<float> values)>;
// The other way; `codes` are 0.
using CustomQuantizer = std::function<Result<void>(const FunctionProfile& profile, std::span<const int64_t> shape,
                                                   std::span<const float> values, std::span<uint8_t> codes)>;

// `name` is "domain::Operator". Errors: kArgument for a name that is registered already, an empty one, and an operator
// that is none.
Result<void> RegisterDequantizer(std::string name, CustomDequantizer operation);
Result<void> RegisterQuantizer(std::string name, CustomQuantizer operation);
// True if there was one.
bool UnregisterDequantizer(std::string_view name);
bool UnregisterQuantizer(std::string_view name);

std::optional<CustomDequantizer> FindDequantizer(std::string_view name);
std::optional<CustomQuantizer> FindQuantizer(std::string_view name);

}  // namespace tessera
