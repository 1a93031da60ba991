// SHA-256 of a stream of bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tessera {

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  ~Sha256();
  void Update(std::span<const uint8_t> bytes);
  // The digest of all bytes so far, in 64 hex digits; the stream ends here.
  std::string HexDigest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
