// What only the comparison with the founding document needs to know of a scheme: which profile of the example it is,
// what its template parameters stand for, and why we differ where we do.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tessera/formats/testing/difference.h"

namespace tessera {

// A template parameter of an example.
struct DocumentBinding {
  std::string_view parameter;
  // In the notation, over `elements`, `rows` and `cols` of the scheme's shape; or the scheme's data of that name.
  std::string_view value;
};

struct DocumentRow {
  std::string_view id;  // of the scheme
  std::vector<DocumentBinding> bindings = {};
  size_t profile = 0;    // which profile of the file
  bool has_type = true;  // the document gives a struct type
};

// Rows for the schemes for which there is something to say.
std::span<const DocumentRow> DocumentRows();
// A row with nothing in it where there is none.
const DocumentRow& FindDocumentRow(std::string_view id);

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
