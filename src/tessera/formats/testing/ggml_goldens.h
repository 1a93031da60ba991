// Reads testdata/ggml, and wraps the codecs. What goes wrong fails the running test.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/formats/ggml/block_type.h"
#include "tessera/formats/ggml/numbers.h"

namespace tessera::ggml {

inline std::string GoldenPath(const std::string& file) { return TESSERA_SOURCE_DIR "/testdata/ggml/" + file; }

// "Q4_K", "MXFP4": how ggml spells a type, and the goldens.
inline std::string GoldenName(const BlockType& type) {
  std::string name(type.name);
  if (name.starts_with("ggml_")) name = name.substr(5);
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

inline bool HasGolden(const std::string& file) { return std::filesystem::exists(GoldenPath(file)); }

inline std::vector<uint8_t> GoldenBytes(const std::string& file) {
  std::ifstream stream(GoldenPath(file), std::ios::binary);
  EXPECT_TRUE(stream.is_open()) << file;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

inline std::vector<float> GoldenFloats(const std::string& file) {
  const std::vector<uint8_t> bytes = GoldenBytes(file);
  EXPECT_TRUE(!bytes.empty() && bytes.size() % 4 == 0) << file;
  std::vector<float> floats(bytes.size() / 4);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = LoadF32(bytes.data() + 4 * i);
  return floats;
}

// The words of each line.
inline std::vector<std::vector<std::string>> GoldenTable(const std::string& file) {
  std::ifstream stream(GoldenPath(file));
  EXPECT_TRUE(stream.is_open()) << file;
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    rows.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return rows;
}

inline std::vector<float> Decoded(const BlockType& type, const std::vector<uint8_t>& bytes) {
  std::vector<float> values(bytes.size() / static_cast<size_t>(type.block_bytes) *
                            static_cast<size_t>(type.block_values));
  const auto done = DecodeBlocks(type, bytes, values);
  EXPECT_TRUE(done) << done.error().Format();
  return values;
}

// In rows of `row_values`.
inline std::vector<uint8_t> Encoded(const BlockType& type, const std::vector<float>& values, size_t row_values,
                                    const std::vector<float>& weights = {}) {
  const auto size = BlocksSize(type, values.size());
  EXPECT_TRUE(size) << size.error().Format();
  std::vector<uint8_t> bytes(size.value_or(0), 0xEE);  // what an encoder forgets to write shows
  const auto done = EncodeBlocks(type, values, row_values, weights, bytes);
  EXPECT_TRUE(done) << done.error().Format();
  return bytes;
}

// The first value whose bits differ; "" if there is none.
inline std::string FirstDifference(const std::vector<float>& actual, const std::vector<float>& expected) {
  std::ostringstream text;
  if (actual.size() != expected.size()) {
    text << actual.size() << " values instead of " << expected.size();
    return text.str();
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    const uint32_t a = std::bit_cast<uint32_t>(actual[i]), e = std::bit_cast<uint32_t>(expected[i]);
    if (a == e) continue;
    text << "value " << i << " is " << actual[i] << " (" << std::hex << a << ") instead of " << expected[i] << " (" << e
         << ")";
    return text.str();
  }
  return "";
}

}  // namespace tessera::ggml
