#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "tessera/formats/testing/document_rows.h"
#include "tessera/formats/testing/scheme_report.h"

namespace tessera {
namespace {

constexpr std::string_view kBegin = "<!-- schemes: begin -->\n";
constexpr std::string_view kEnd = "<!-- schemes: end -->\n";

constexpr std::string_view kHeader = R"(# Schemes

The quantization schemes that the founding document describes, taken literally: the formats `sketch.*` of the
[catalogue](formats.md). This page is written by the test that checks them: a file that changes without it fails the
tests, and `./dev lint --fix` writes it anew.

* *profile parsed*: our text and the document's are read, and printed and read again they are the same.
* *translated*: profile and shape give declarations that the checker of types accepts.
* *equal to the document*: names, order, types and places of the serialized fields and the value of every constant
  are those of the document's struct type. Codebooks that the document leaves open have synthetic numbers.
* *inverse*: the declarations give the profile and the shape again.
* *document's type recovered*: the document's own struct type is read back as the same profile.
* *deviations*: lines of [deviations.md](deviations.md) for the scheme. They tell of differences in the profile and in
  metadata as well.
* *bytes* and *bits a value*: of the payload for that shape. Scales, zero points and codebooks that are constants of the
  type take no payload, so that most numbers here are below those of the format that the scheme is named after.

)";

// Column by column: what it is called, and whether it can be had without the document.
struct Column {
  std::string_view name;
  bool needs_document;
};
constexpr Column kColumns[] = {
    {"scheme", false},
    {"what it is", false},
    {"profile parsed", false},
    {"translated", false},
    {"equal to the document", true},
    {"inverse", false},
    {"document's type recovered", true},
    {"deviations", true},
    {"shape", false},
    {"bytes", false},
    {"bits a value", false},
};

std::string YesOrNo(bool yes) { return yes ? "yes" : "no"; }

bool MentionsScheme(const Deviation& deviation, std::string_view id) {
  return std::find(deviation.schemes.begin(), deviation.schemes.end(), id) != deviation.schemes.end();
}

std::string EqualCell(const SchemeReport::Document& document) {
  if (!document.has_type) return "has none";
  const bool equal =
      std::all_of(document.differences.begin(), document.differences.end(), [](const Difference& difference) {
        return difference.kind == DifferenceKind::kProfile || difference.kind == DifferenceKind::kMetadata;
      });
  return equal ? "yes" : "but for deviations";
}

std::vector<std::string> Cells(const SchemeReport& report, std::span<const Deviation> deviations) {
  const Format& format = *report.format;
  uint64_t values = 1;
  for (int64_t dim : format.ExampleShape()) values *= static_cast<uint64_t>(dim);
  std::string equal;
  std::string recovered;
  std::string count;
  if (report.document) {
    equal = EqualCell(*report.document);
    recovered = report.document->has_type ? YesOrNo(report.document->type_recovered) : "has none";
    const auto lines = std::count_if(deviations.begin(), deviations.end(), [&](const Deviation& deviation) {
      return MentionsScheme(deviation, report.row->id);
    });
    count = lines == 0 ? "0" : fmt::format("[{}](deviations.md#{})", lines, format.name);
  }
  return {fmt::format("`{}`", format.name),
          format.title,
          YesOrNo(report.parsed),
          YesOrNo(report.translated),
          equal,
          YesOrNo(report.inverse),
          recovered,
          count,
          fmt::format("{}", fmt::join(format.ExampleShape(), "x")),
          fmt::format("{}", report.size_bytes),
          fmt::format("{:.5g}", static_cast<double>(report.size_bytes) * 8 / static_cast<double>(values))};
}

// The cells of the rows of a Markdown table by their first cell.
std::map<std::string, std::vector<std::string>> CommittedCells(const std::string& page) {
  std::map<std::string, std::vector<std::string>> rows;
  for (size_t at = 0; at < page.size();) {
    const size_t end = std::min(page.find('\n', at), page.size());
    const std::string line = page.substr(at, end - at);
    at = end + 1;
    if (line.rfind("| ", 0) != 0) continue;
    std::vector<std::string> cells;
    for (size_t cell = 2; cell < line.size();) {
      const size_t stop = std::min(line.find(" |", cell), line.size());
      cells.push_back(line.substr(cell, stop - cell));
      cell = stop + 3;
    }
    if (!cells.empty()) rows[cells.front()] = cells;
  }
  return rows;
}

std::string Row(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

// One line of a cell for each text, so that the lines of two cells belong together; one where all are the same.
std::string Lines(const std::vector<std::string>& texts) {
  if (std::adjacent_find(texts.begin(), texts.end(), std::not_equal_to<>()) == texts.end() && !texts.empty()) {
    return texts.front();
  }
  return fmt::format("{}", fmt::join(texts, "<br>"));
}

bool Explains(const DifferencePattern& pattern, const Difference& difference) {
  return pattern.kind == difference.kind &&
         pattern.name == (difference.field.empty() ? difference.declaration : difference.field);
}

}  // namespace

std::vector<Deviation> ExplainDifferences(std::span<const SchemeReport> reports, std::vector<std::string>* failures) {
  std::map<std::string_view, const SchemeReport::Document*> documents;
  std::set<const Difference*> explained;
  for (const SchemeReport& report : reports) {
    if (report.document) documents[report.row->id] = &*report.document;
  }
  std::vector<Deviation> deviations;
  for (const DifferenceReason& reason : DifferenceReasons()) {
    const size_t first = deviations.size();
    for (const std::string_view id : reason.schemes) {
      if (documents.count(id) == 0) continue;
      std::vector<std::string> said;
      std::vector<std::string> done;
      for (const DifferencePattern& pattern : reason.patterns) {
        bool used = false;
        for (const Difference& difference : documents[id]->differences) {
          if (!Explains(pattern, difference)) continue;
          used = true;
          explained.insert(&difference);
          said.push_back(difference.document);
          done.push_back(difference.ours);
        }
        if (!used) {
          failures->push_back(
              fmt::format("{}: a reason for `{}` ({}) that no difference needs", id, pattern.name, Name(pattern.kind)));
        }
      }
      if (said.empty()) continue;
      Deviation line{{std::string(id)}, Lines(said), Lines(done), std::string(reason.why)};
      auto same = std::find_if(deviations.begin() + static_cast<std::ptrdiff_t>(first), deviations.end(),
                               [&](const Deviation& d) { return d.document == line.document && d.ours == line.ours; });
      if (same == deviations.end()) {
        deviations.push_back(std::move(line));
      } else {
        same->schemes.push_back(line.schemes.front());
      }
    }
  }
  for (const auto& [id, document] : documents) {
    for (const Difference& difference : document->differences) {
      if (explained.count(&difference) != 0) continue;
      failures->push_back(fmt::format("{}: no reason for a difference ({}, {}, {}): document: {}; ours: {}", id,
                                      Name(difference.kind), difference.declaration, difference.field,
                                      difference.document, difference.ours));
    }
  }
  return deviations;
}

std::string SchemesPage(std::span<const SchemeReport> reports, std::span<const Deviation> deviations,
                        const std::string& committed) {
  const auto committed_rows = CommittedCells(committed);
  std::string page(kHeader);
  std::vector<std::string> names;
  std::vector<std::string> rules;
  for (const Column& column : kColumns) {
    names.emplace_back(column.name);
    rules.emplace_back("---");
  }
  page += Row(names) + Row(rules);
  for (const SchemeReport& report : reports) {
    std::vector<std::string> cells = Cells(report, deviations);
    auto old = committed_rows.find(cells.front());
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!report.document && kColumns[i].needs_document && old != committed_rows.end() && i < old->second.size()) {
        cells[i] = old->second[i];
      }
    }
    page += Row(cells);
  }
  return page;
}

Result<std::string> DeviationsPage(std::span<const Deviation> deviations, const std::string& committed) {
  const size_t begin = committed.find(kBegin);
  const size_t end = committed.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    return Fail(ErrorCode::kSyntax, "docs/deviations.md", "the marks of the generated part are missing",
                fmt::format("a line {}and then a line {}", kBegin, kEnd));
  }
  std::string table =
      Row({"scheme", "what the document says", "what we do", "why"}) + Row({"---", "---", "---", "---"});
  std::set<std::string> anchored;
  for (const Deviation& deviation : deviations) {
    std::string schemes;
    for (const std::string& id : deviation.schemes) {
      if (!schemes.empty()) schemes += ", ";
      const std::string name = "sketch." + id;
      if (anchored.insert(id).second) schemes += fmt::format("<a id=\"{}\"></a>", name);
      schemes += fmt::format("`{}`", name);
    }
    table += Row({schemes, deviation.document, deviation.ours, deviation.why});
  }
  return committed.substr(0, begin + kBegin.size()) + table + committed.substr(end);
}

}  // namespace tessera
