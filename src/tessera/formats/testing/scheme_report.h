// Every check of a scheme of the founding document, and the two pages that show their results. Only tests link it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/formats/format.h"
#include "tessera/formats/testing/difference.h"
#include "tessera/formats/testing/document_rows.h"

namespace tessera {

struct SchemeReport {
  const DocumentRow* row = nullptr;
  const Format* format = nullptr;
  std::vector<std::string> failures;  // what may not be; empty in a working tree
  bool parsed = false;
  bool translated = false;  // and accepted by the checker of types
  bool inverse = false;     // RecoverProfile gave profile and shape again, and these the same declarations
  uint64_t size_bytes = 0;  // of a value of the example's shape

  // Set where the founding document was there to compare with.
  struct Document {
    bool has_type = false;
    std::vector<Difference> differences;  // first of the profile, then of the declarations
    // RecoverProfile takes the document's own declarations, and finds our profile in them.
    bool type_recovered = false;
    std::string recovery_error;  // why not
  };
  std::optional<Document> document;
};

// Binds a format's data to finite numbers, all different.
DeclareOptions WithSyntheticData(const Format& format);

// `examples` holds the founding document's examples as files, where they are there.
// REQUIRES: SketchOf(row).
SchemeReport ExamineScheme(const DocumentRow& row, const std::optional<std::filesystem::path>& examples);

// A line of the table of deviations: differences of some schemes with one reason.
struct Deviation {
  std::vector<std::string> schemes;
  std::string document;
  std::string ours;
  std::string why;
};

// Finds the reason of every difference. A difference without one, and a reason without a difference, go to `failures`.
std::vector<Deviation> ExplainDifferences(std::span<const SchemeReport> reports, std::vector<std::string>* failures);

// docs/schemes.md. Where the document is not there, the cells that need it are those of `committed`.
std::string SchemesPage(std::span<const SchemeReport> reports, std::span<const Deviation> deviations,
                        const std::string& committed);
// docs/deviations.md: `committed` with the part between its two marks made anew. Error: kSyntax without the marks.
Result<std::string> DeviationsPage(std::span<const Deviation> deviations, const std::string& committed);

}  // namespace tessera
