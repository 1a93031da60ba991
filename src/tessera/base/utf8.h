// UTF-8, as far as printing outside text needs it. Pure functions; call them from any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace tessera {

// Length of the well-formed UTF-8 sequence at the start of `s`, 0 if there is none (Unicode 15, table 3-7).
size_t Utf8Length(std::string_view s);

}  // namespace tessera
