// Reads testdata/ggml/tables: the words of a table, each as its bytes from the lowest.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/formats/testing/ggml_goldens.h"

namespace tessera::ggml {

struct WordTable {
  std::string head;  // the first line
  std::vector<std::vector<uint8_t>> words;
};

inline WordTable ReadWords(const std::string& name) {
  const std::vector<uint8_t> bytes = GoldenBytes("tables/" + name + ".txt");
  std::istringstream text(std::string(bytes.begin(), bytes.end()));
  WordTable table;
  std::getline(text, table.head);
  for (std::string line; std::getline(text, line);) {
    table.words.emplace_back();
    for (size_t at = line.size(); at >= 2; at -= 2) {
      table.words.back().push_back(static_cast<uint8_t>(std::stoi(line.substr(at - 2, 2), nullptr, 16)));
    }
  }
  EXPECT_FALSE(table.words.empty()) << name;
  return table;
}

}  // namespace tessera::ggml
