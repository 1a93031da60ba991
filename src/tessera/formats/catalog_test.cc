// The catalogue: every file by itself, and their names together.
#include "tessera/formats/catalog.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Formats(const Problems& problems) {
  std::vector<std::string> list;
  for (const Error& error : problems.list()) list.push_back(error.Format());
  return list;
}

class CatalogFileTest : public ::testing::TestWithParam<size_t> {
 protected:
  const CatalogFile& file() const { return CatalogFiles()[GetParam()]; }
};

TEST_P(CatalogFileTest, IsAFormat) {
  const auto format = ParseFormat(file().text, {}, std::string(file().name) + ".txt");
  ASSERT_TRUE(format) << format.error().Format();
  EXPECT_THAT(format->comment, ::testing::StartsWith("//")) << "begins with a comment that says the layout";
  EXPECT_THAT(format->sources, ::testing::Not(IsEmpty()));
}

TEST_P(CatalogFileTest, PrintedAndParsedEqual) {
  const auto format = ParseFormat(file().text);
  ASSERT_TRUE(format) << format.error().Format();
  const std::string printed = PrintFormat(*format);
  const auto again = ParseFormat(printed);
  ASSERT_TRUE(again) << again.error().Format() << "\n" << printed;
  EXPECT_EQ(*again, *format);
}

TEST_P(CatalogFileTest, IsTheFileOfTheSourceTree) {
  std::ifstream source(
      std::filesystem::path(TESSERA_SOURCE_DIR) / "src/tessera/formats/catalog" / (std::string(file().name) + ".txt"),
      std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(source), {}), file().text);
}

INSTANTIATE_TEST_SUITE_P(All, CatalogFileTest, ::testing::Range(size_t{0}, CatalogFiles().size()),
                         [](const auto& test) {
                           std::string name(CatalogFiles()[test.param].name);
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(Catalog, IsInOrder) {
  Problems problems;
  const std::vector<Format> formats = LoadCatalog(CatalogFiles(), &problems);
  EXPECT_THAT(Formats(problems), IsEmpty());
  EXPECT_EQ(formats.size(), CatalogFiles().size());
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TESSERA_SOURCE_DIR) / "src/tessera/formats/catalog")) {
    files += entry.path().extension() == ".txt" ? 1 : 0;
  }
  EXPECT_EQ(files, CatalogFiles().size());
}

TEST(Catalog, EveryFormatIsFoundByItsNames) {
  std::set<std::string> names;
  for (const Format& format : AllFormats()) {
    SCOPED_TRACE(format.name);
    EXPECT_FALSE(format.IsFamily());
    EXPECT_TRUE(names.insert(format.name).second);
    std::string upper = format.name;
    std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
    std::vector<std::string> all = format.aliases;
    all.push_back(format.name);
    all.push_back(upper);
    for (const std::string& name : all) {
      const auto found = FindFormat(name);
      ASSERT_TRUE(found) << name;
      EXPECT_EQ(*found, format) << name;
    }
    const auto types = DeclareFormat(format, format.ExampleShape(), WithPlaceholders(format));
    ASSERT_TRUE(types) << types.error().Format();
    EXPECT_GT(types->BitsPerWeight().value_or(0), 0.0);
  }
  for (const char* name : {"int4_b32", "int4_b128", "int4z_b32", "int8_channel", "int8_tensor", "fp8_e4m3_b128"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(Catalog, FamiliesTakeEveryBlockSize) {
  const auto found = FindFormat("INT4_B96");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "int4_b96");
  EXPECT_EQ(found->block, 96);
  EXPECT_EQ(DeclareFormat(*found, std::vector<int64_t>{2, 192})->SizeBytes(), 4u * (2 + 48));
  for (const char* name : {"int4_b", "int4_b0", "int4_b-1", "int4_b032", "int4_b3x", "int4_b99999999999999999999",
                           "int4_b{block}", "int4", ""}) {
    EXPECT_FALSE(FindFormat(name)) << name;
  }
  EXPECT_EQ(FindFormat("int9_tensor").error().Format(),
            "'int9_tensor': no format goes by that name (did you mean 'int8_tensor'?) [format-name]");
  EXPECT_THAT(FindFormat("nothing_like_it").error().Format(), HasSubstr("(a name that `tessera formats` lists)"));
}

std::string Text(const std::string& name, const std::string& more = "") {
  return "FormatProto { name: \"" + name + "\", title: \"t\", author: \"a\" " + more +
         " }\nQuantizationProto { cast: CastUniformProto { storage_type: FLOAT16 } }";
}

TEST(Catalog, WhatIsWrongIsLeftOut) {
  const std::vector<std::string> texts = {Text("a", "aliases: [\"X\"]"),
                                          Text("b", "aliases: [\"x\"]"),
                                          Text("c"),
                                          Text("c"),
                                          Text("e_b{block}", "blocks: [2, 4]"),
                                          Text("e_b4"),
                                          Text("g", "aliases: [\"a\"]"),
                                          "nothing",
                                          Text("i", "aliases: [\"I\"]")};
  const std::vector<std::string> files = {"a", "b", "c", "d", "e_b", "e_b4", "g", "h", "i"};
  std::vector<CatalogFile> catalog;
  for (size_t i = 0; i < texts.size(); ++i) catalog.push_back({files[i], texts[i]});
  Problems problems;
  const std::vector<Format> formats = LoadCatalog(catalog, &problems);
  EXPECT_THAT(Formats(problems),
              ElementsAre("catalog/b.txt: the name 'x' is taken by catalog/a.txt (another name) [format-name]",
                          "catalog/d.txt: is the file of c (c.txt) [format-name]",
                          "catalog/d.txt: the name 'c' is taken by catalog/c.txt (another name) [format-name]",
                          "catalog/e_b4.txt: the name 'e_b4' is taken by catalog/e_b.txt (another name) [format-name]",
                          "catalog/g.txt: the name 'a' is taken by catalog/a.txt (another name) [format-name]",
                          "catalog/h.txt:1:1: expected FormatProto, found 'nothing' [syntax]",
                          "catalog/i.txt: the name 'i' is taken by catalog/i.txt (another name) [format-name]"));
  std::vector<std::string> names;
  for (const Format& format : formats) names.push_back(format.name);
  EXPECT_THAT(names, ElementsAre("a", "c", "e_b{block}"));
}

TEST(Catalog, AFamilysDefaultBlockHasAPlainName) {
  const auto found = FindFormat("NF4");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "nf4_b64");
  EXPECT_EQ(*found, *FindFormat("nf4_b64"));
  EXPECT_THAT(FindFormat("nf4_b128")->aliases, IsEmpty());
  const std::vector<Format> own = {
      *ParseFormat(Text("h_b{block}", "blocks: [2, 4], default_block: 2, aliases: [\"H\", \"Z-{block}\"]"))};
  EXPECT_EQ(FindFormat("h", own)->name, "h_b2");
  EXPECT_EQ(FindFormat("z-8", own)->name, "h_b8");
  Problems problems;
  const std::string text = PrintFormat(own[0]);
  const std::string other = Text("h");
  const std::vector<CatalogFile> files = {{"h_b", text}, {"h", other}};
  LoadCatalog(files, &problems);
  EXPECT_THAT(Formats(problems),
              ElementsAre("catalog/h.txt: the name 'h' is taken by catalog/h_b.txt (another name) [format-name]"));
}

TEST(Catalog, OwnFormatsComeFirst) {
  const std::vector<Format> own = {*ParseFormat(Text("int8_tensor")),
                                   *ParseFormat(Text("mine", "aliases: [\"int4_b32\"]")),
                                   *ParseFormat(Text("int8_b{block}", "blocks: [8]"))};
  EXPECT_EQ(*FindFormat("INT8_tensor", own), own[0]);
  EXPECT_EQ(*FindFormat("int4_b32", own), own[1]);
  EXPECT_EQ(FindFormat("int8_b24", own)->block, 24);
  EXPECT_EQ(FindFormat("int4_b64", own)->name, "int4_b64");
  EXPECT_THAT(FindFormat("mime", own).error().fix, HasSubstr("'mine'"));
  EXPECT_NE(*FindFormat("int8_tensor"), own[0]);
}

// ---- docs/formats.md: the table between its two marks

std::filesystem::path Page() { return std::filesystem::path(TESSERA_SOURCE_DIR) / "docs/formats.md"; }

std::string Table() {
  std::string table =
      "| name | bits per weight | block | author | aliases | what it is |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const Format& format : AllFormats()) {
    const auto types = DeclareFormat(format, format.ExampleShape(), WithPlaceholders(format));
    std::string aliases;
    for (const std::string& alias : format.aliases) aliases += (aliases.empty() ? "`" : ", `") + alias + "`";
    table += fmt::format("| `{}` | {:.5g} | {} | {} | {} | {} |\n", format.name,
                         types ? types->BitsPerWeight().value_or(0) : 0.0, format.BlockValues(), format.author, aliases,
                         format.title);
  }
  return table;
}

TEST(FormatDocs, TableOfFormats) {
  constexpr std::string_view kBegin = "<!-- formats: begin -->\n";
  constexpr std::string_view kEnd = "<!-- formats: end -->\n";
  std::string committed;
  {
    std::ifstream file(Page(), std::ios::binary);
    committed.assign(std::istreambuf_iterator<char>(file), {});
  }
  const size_t begin = committed.find(kBegin);
  const size_t end = committed.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos && begin < end) << "the marks are missing";
  const std::string page = committed.substr(0, begin + kBegin.size()) + Table() + committed.substr(end);
  if (const char* write = std::getenv("TESSERA_WRITE_DOCS"); write != nullptr && *write == '1') {
    std::ofstream file(Page(), std::ios::binary);
    file << page;
    ASSERT_TRUE(file.flush()) << Page();
    return;
  }
  EXPECT_EQ(committed, page) << "To write the page: TESSERA_WRITE_DOCS=1 build/release/tessera_formats_test "
                                "--gtest_filter='FormatDocs.*' (or ./dev lint --fix)";
}

}  // namespace
}  // namespace tessera
