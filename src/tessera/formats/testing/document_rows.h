// What only the comparison with the founding document needs to know of a scheme of it: which example and which profile
// of that it is, what its template parameters stand for, and why we differ where we do. The scheme itself is the format
// `sketch.ID` of the catalogue.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/formats/format.h"
#include "tessera/formats/testing/difference.h"

namespace tessera {

// A template parameter of an example.
struct DocumentBinding {
  std::string_view parameter;
  // In the notation, over `elements`, `rows` and `cols` of the format's example; or the format's data of that name.
  std::string_view value;
};

struct DocumentRow {
  std::string_view id;       // of the scheme: "q2_k"; unique
  std::string_view example;  // of the founding document: "06_q2_k"
  std::vector<DocumentBinding> bindings = {};
  size_t profile = 0;    // which profile of the file
  bool has_type = true;  // the document gives a struct type
};

// In the order of the founding document.
std::span<const DocumentRow> DocumentRows();
// nullptr if there is none.
const DocumentRow* FindDocumentRow(std::string_view id);

std::string SketchName(const DocumentRow& row);
// The row's format in the catalogue; nullptr if there is none.
const Format* SketchOf(const DocumentRow& row);

// A kind of difference and where it is: the field, or the declaration where there is no field.
struct DifferencePattern {
  DifferenceKind kind;
  std::string_view name;
};

// Explains all differences of these kinds and names in these schemes. Each pair of scheme and pattern has to occur.
struct DifferenceReason {
  std::vector<std::string_view> schemes;
  std::vector<DifferencePattern> patterns;
  std::string_view why;
};
std::span<const DifferenceReason> DifferenceReasons();

}  // namespace tessera
