// The formats sketch.*: each by itself, against the founding document where that is there, and the pages in docs/.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tessera/formats/catalog.h"
#include "tessera/formats/testing/document_rows.h"
#include "tessera/formats/testing/scheme_report.h"
#include "tessera/quant/profile_text.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

std::filesystem::path ExamplesFolder() {
  const char* shared = std::getenv("TESSERA_SHARED");
  return (shared != nullptr ? std::filesystem::path(shared) : std::filesystem::path(TESSERA_SOURCE_DIR) / "../shared") /
         "spec/examples";
}

std::optional<std::filesystem::path> Examples() {
  if (!std::filesystem::exists(ExamplesFolder())) return std::nullopt;
  return ExamplesFolder();
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::filesystem::path Page(const char* name) { return std::filesystem::path(TESSERA_SOURCE_DIR) / "docs" / name; }

const std::vector<SchemeReport>& Reports() {
  static const std::vector<SchemeReport> reports = [] {
    std::vector<SchemeReport> all;
    for (const DocumentRow& row : DocumentRows()) all.push_back(ExamineScheme(row, Examples()));
    return all;
  }();
  return reports;
}

class SchemeRow : public ::testing::TestWithParam<size_t> {};

TEST_P(SchemeRow, GoesThrough) {
  const SchemeReport& report = Reports()[GetParam()];
  for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
  EXPECT_TRUE(report.parsed);
  EXPECT_TRUE(report.translated);
  EXPECT_TRUE(report.inverse);
  EXPECT_GT(report.size_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, SchemeRow, ::testing::Range(size_t{0}, DocumentRows().size()),
                         [](const auto& test) { return std::string(DocumentRows()[test.param].id); });

TEST(SchemeTable, HasEveryExampleOnceOrTwice) {
  // 38 examples, two of which hold two profiles.
  EXPECT_EQ(DocumentRows().size(), 40u);
  std::set<std::string> names;
  std::set<std::string_view> examples;
  for (const DocumentRow& row : DocumentRows()) {
    EXPECT_TRUE(names.insert(SketchName(row)).second) << row.id;
    const Format* format = SketchOf(row);
    ASSERT_NE(format, nullptr) << row.id;
    EXPECT_EQ(format->sources, std::vector{"the founding document, example " + std::string(row.example)});
    EXPECT_EQ(FindDocumentRow(row.id), &row);
    examples.insert(row.example);
  }
  EXPECT_EQ(examples.size(), 38u);
  EXPECT_EQ(*examples.begin(), "01_int8_symmetric");
  EXPECT_EQ(*examples.rbegin(), "38_smoothquant");
  EXPECT_EQ(FindDocumentRow("q9_k"), nullptr);
  // No sketch that is not compared.
  for (const Format& format : AllFormats()) {
    EXPECT_EQ(format.name.rfind("sketch.", 0) == 0, names.count(format.name) == 1) << format.name;
  }
}

TEST(SchemeTable, IsTheDocumentsList) {
  if (!Examples()) GTEST_SKIP() << "skipped: there is no " << ExamplesFolder() << " (set TESSERA_SHARED)";
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(*Examples())) {
    const std::string name = entry.path().filename().string();
    if (const size_t at = name.find(".profile.txt"); at != std::string::npos) files.insert(name.substr(0, at));
  }
  std::set<std::string> rows;
  for (const DocumentRow& row : DocumentRows()) rows.insert(std::string(row.example));
  EXPECT_EQ(rows, files);
}

TEST(SchemeTable, ReasonsAreForSchemes) {
  for (const DifferenceReason& reason : DifferenceReasons()) {
    for (const std::string_view id : reason.schemes) EXPECT_NE(FindDocumentRow(id), nullptr) << id;
    EXPECT_FALSE(reason.why.empty());
  }
}

TEST(SchemeTable, DataThatIsNotGivenStaysOpen) {
  const Format aqlm = *FindFormat("sketch.aqlm_2x8");
  auto open = FormatProfile(aqlm, std::nullopt);
  ASSERT_TRUE(open) << open.error().Format();
  EXPECT_EQ(std::get<CodebookProfile>(open->kind).codebook_data.parameter, "codebook_data");
  auto types = DeclareFormat(aqlm, aqlm.ExampleShape());
  ASSERT_FALSE(types);
  EXPECT_EQ(types.error().code, ErrorCode::kUnbound);
  EXPECT_TRUE(DeclareFormat(aqlm, aqlm.ExampleShape(), WithSyntheticData(aqlm)));
  EXPECT_TRUE(DeclareFormat(aqlm, aqlm.ExampleShape(), WithPlaceholders(aqlm)));
}

TEST(SchemeTable, ShapesThatDoNotFitAreErrors) {
  for (const char* id : {"q4_k", "mxfp4", "spqr", "stq1_0", "matmulnbits_int4"}) {
    const Format& format = *SketchOf(*FindDocumentRow(id));
    const std::vector<int64_t> shape = {3, 5};
    auto types = DeclareFormat(format, shape, WithSyntheticData(format));
    ASSERT_FALSE(types) << id;
    EXPECT_EQ(types.error().code, ErrorCode::kProfileShape) << types.error().Format();
  }
}

// ---- docs/

constexpr const char* kHowToWrite =
    "To write the page: TESSERA_WRITE_DOCS=1 build/release/tessera_formats_test --gtest_filter='SchemeDocs.*' "
    "(or ./dev lint --fix)";

// Compares or, with TESSERA_WRITE_DOCS=1, writes.
void ExpectPage(const char* name, const std::string& page) {
  if (const char* write = std::getenv("TESSERA_WRITE_DOCS"); write != nullptr && *write == '1') {
    std::ofstream file(Page(name), std::ios::binary);
    file << page;
    ASSERT_TRUE(file.flush()) << Page(name);
    return;
  }
  EXPECT_EQ(ReadText(Page(name)), page) << kHowToWrite;
}

TEST(SchemeDocs, EveryDifferenceHasItsReason) {
  if (!Examples()) GTEST_SKIP() << "skipped: there is no " << ExamplesFolder() << " (set TESSERA_SHARED)";
  std::vector<std::string> failures;
  ExplainDifferences(Reports(), &failures);
  for (const std::string& failure : failures) ADD_FAILURE() << failure;
  // Only where the declarations differ may the document's own not be read back.
  for (const SchemeReport& report : Reports()) {
    if (!report.document || !report.document->has_type || report.document->type_recovered) continue;
    const auto& differences = report.document->differences;
    EXPECT_TRUE(std::any_of(differences.begin(), differences.end(),
                            [](const Difference& difference) { return difference.kind != DifferenceKind::kProfile; }))
        << report.row->id << ": " << report.document->recovery_error;
  }
}

TEST(SchemeDocs, TableOfSchemes) {
  std::vector<std::string> failures;
  const std::vector<Deviation> deviations = ExplainDifferences(Reports(), &failures);
  const std::string page = SchemesPage(Reports(), deviations, ReadText(Page("schemes.md")));
  ASSERT_EQ(page.find("|  |"), std::string::npos) << "a new row needs the founding document (set TESSERA_SHARED)";
  ExpectPage("schemes.md", page);
}

TEST(SchemeDocs, TableOfDeviations) {
  if (!Examples()) GTEST_SKIP() << "skipped: there is no " << ExamplesFolder() << " (set TESSERA_SHARED)";
  std::vector<std::string> failures;
  auto page = DeviationsPage(ExplainDifferences(Reports(), &failures), ReadText(Page("deviations.md")));
  ASSERT_TRUE(page) << page.error().Format();
  ExpectPage("deviations.md", *page);
}

// Also without the document: where a scheme has deviations, the other page has them.
TEST(SchemeDocs, LinksFindTheirLines) {
  const std::string schemes = ReadText(Page("schemes.md"));
  const std::string deviations = ReadText(Page("deviations.md"));
  for (const DocumentRow& row : DocumentRows()) {
    const std::string id = SketchName(row);
    const bool linked = schemes.find("(deviations.md#" + id + ")") != std::string::npos;
    const bool anchored = deviations.find("<a id=\"" + id + "\"></a>") != std::string::npos;
    EXPECT_EQ(linked, anchored) << id;
    EXPECT_THAT(schemes, HasSubstr("| `" + id + "` |"));
  }
}

TEST(SchemePages, CellsThatNeedTheDocumentAreKeptWithoutIt) {
  SchemeReport report;
  report.row = FindDocumentRow("mxfp4");
  report.format = SketchOf(*report.row);
  report.parsed = report.translated = report.inverse = true;
  report.size_bytes = 8912896;
  SchemeReport with = report;
  with.document = SchemeReport::Document{true, {{DifferenceKind::kCount, "D", "f", "a", "b"}}, false, "no"};
  const std::vector<Deviation> deviations = {{{"mxfp4"}, "a", "b", "c"}};
  const std::string page = SchemesPage(std::vector{with}, deviations, "");
  EXPECT_THAT(page,
              HasSubstr("| `sketch.mxfp4` | MXFP4: E2M1, a power of two for each 32 | yes | yes | but for deviations | "
                        "yes | no | [1](deviations.md#sketch.mxfp4) | 4096x4096 | 8912896 | 4.25 |\n"));
  EXPECT_EQ(SchemesPage(std::vector{report}, {}, page), page);
  // A column that needs no document follows the code.
  report.inverse = false;
  EXPECT_NE(SchemesPage(std::vector{report}, {}, page), page);
}

TEST(SchemePages, DeviationsStandBetweenTheMarks) {
  const std::string committed = "before\n<!-- schemes: begin -->\nold\n<!-- schemes: end -->\nafter\n";
  const std::vector<Deviation> deviations = {{{"nf4", "log4"}, "a", "b", "c"}, {{"nf4"}, "d", "e", "f"}};
  auto page = DeviationsPage(deviations, committed);
  ASSERT_TRUE(page);
  EXPECT_EQ(*page,
            "before\n<!-- schemes: begin -->\n"
            "| scheme | what the document says | what we do | why |\n| --- | --- | --- | --- |\n"
            "| <a id=\"sketch.nf4\"></a>`sketch.nf4`, <a id=\"sketch.log4\"></a>`sketch.log4` | a | b | c |\n"
            "| `sketch.nf4` | d | e | f |\n"
            "<!-- schemes: end -->\nafter\n");
  EXPECT_FALSE(DeviationsPage(deviations, "no marks"));
}

TEST(SchemePages, DifferencesAndReasonsNeedEachOther) {
  SchemeReport report;
  report.row = FindDocumentRow("nf4");
  report.document = SchemeReport::Document{true, {}, true, ""};
  std::vector<std::string> failures;
  EXPECT_THAT(ExplainDifferences(std::vector{report}, &failures), ::testing::IsEmpty());
  EXPECT_THAT(failures, ::testing::IsEmpty());
  report.document->differences = {{DifferenceKind::kCount, "NF4", "indices", "`indices`: UINT8[8]", "UINT8[9]"}};
  EXPECT_THAT(ExplainDifferences(std::vector{report}, &failures), ::testing::IsEmpty());
  EXPECT_THAT(failures, ::testing::ElementsAre(HasSubstr("nf4: no reason for a difference (count, NF4, indices)")));

  // The reason for MXFP4's scale with nothing that it explains.
  failures.clear();
  report.row = FindDocumentRow("mxfp4");
  report.document->differences.clear();
  ExplainDifferences(std::vector{report}, &failures);
  EXPECT_THAT(failures, ::testing::ElementsAre(
                            HasSubstr("mxfp4: a reason for `tiling.elem_quant[0].floating_point.scale` (profile)"),
                            HasSubstr("mxfp4: a reason for `tessera.scale` (metadata)")));
}

}  // namespace
}  // namespace tessera
