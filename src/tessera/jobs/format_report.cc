#include "tessera/jobs/format_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/codecs/format_codec.h"
#include "tessera/formats/catalog.h"
#include "tessera/jobs/format_files.h"
#include "tessera/jobs/leaf_rows.h"
#include "tessera/quant/profile_text.h"
#include "tessera/quant/translate.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

// The first opset that has the four-bit integers and small floats as types.
constexpr int64_t kShownOpset = 23;

struct Shown {
  Format format;
  FormatTypes types;
  std::vector<std::string> placeholders;  // data that zeros stand for
  std::optional<Function> decoder;
  std::string no_decoder;  // why there is none
};

Result<Shown> Show(Format format, const SourceOptions& options, bool with_decoder) {
  Shown shown;
  DeclareOptions declare;
  declare.limits = options.limits;
  TESSERA_TRY(BindAssignments(options.assignments, &declare.parameters));
  for (const FormatData& data : format.data) {
    if (declare.parameters.count(data.parameter) == 0) shown.placeholders.push_back(data.parameter);
  }
  declare = WithPlaceholders(format, std::move(declare));
  std::vector<int64_t> shape(format.ExampleShape().begin(), format.ExampleShape().end());
  if (!options.shape.empty()) {
    TESSERA_ASSIGN(shape, ParseShapeOption(options.shape));
  }
  TESSERA_ASSIGN(shown.types, DeclareFormat(format, shape, declare));
  if (with_decoder) {
    Result<Function> decoder = FormatDecoder(shown.types, std::nullopt, options.limits);
    if (!decoder) decoder = FormatDecoder(shown.types, kShownOpset, options.limits);
    if (decoder)
      shown.decoder = *std::move(decoder);
    else
      shown.no_decoder = decoder.error().Format();
  }
  shown.format = std::move(format);
  return shown;
}

Result<std::vector<Shown>> ShowAll(const SourceOptions& options) {
  TESSERA_ASSIGN(const std::vector<Format> own, LoadFormatFiles(options.format_files, options.limits));
  std::vector<Format> formats;
  for (const Format& format : own) {
    for (int64_t block : format.blocks) formats.push_back(WithBlock(format, block));
    if (!format.IsFamily()) formats.push_back(format);
  }
  formats.insert(formats.end(), AllFormats().begin(), AllFormats().end());
  std::vector<Shown> all;
  SourceOptions plain = options;
  plain.shape.clear();
  plain.assignments.clear();
  for (Format& format : formats) {
    TESSERA_ASSIGN(Shown shown, Show(std::move(format), plain, false));
    all.push_back(std::move(shown));
  }
  return all;
}

Result<Shown> ShowOne(const std::string& name, const SourceOptions& options) {
  TESSERA_ASSIGN(const std::vector<Format> own, LoadFormatFiles(options.format_files, options.limits));
  TESSERA_ASSIGN(Format format, FindFormat(name, own));
  return Show(std::move(format), options, true);
}

std::string BitsText(const FormatTypes& types) {
  const std::optional<double> bits = types.BitsPerWeight();
  return bits ? fmt::format("{:.6g}", *bits) : "-";
}

Json JsonOf(const Shown& shown) {
  const Format& format = shown.format;
  Json json = {{"name", format.name},
               {"title", format.title},
               {"author", format.author},
               {"aliases", format.aliases},
               {"sources", format.sources},
               {"block", format.BlockValues()},
               {"partial_blocks", format.partial_blocks},
               {"codec", CodecName(format, shown.types)},
               {"doc_string", format.doc_string},
               {"shape", shown.types.shape},
               {"size_bytes", shown.types.SizeBytes()}};
  const std::optional<double> bits = shown.types.BitsPerWeight();
  json["bits_per_weight"] = bits ? Json(*bits) : Json(nullptr);
  Json data = Json::array();
  for (const FormatData& entry : format.data)
    data.push_back({{"parameter", entry.parameter}, {"values", entry.values}});
  json["data"] = std::move(data);
  return json;
}

std::string Dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

Result<std::string> FormatTable(const SourceOptions& options) {
  TESSERA_ASSIGN(const std::vector<Shown> all, ShowAll(options));
  constexpr size_t kColumns = 6;
  std::vector<std::array<std::string, kColumns>> rows = {{"name", "bits", "block", "author", "aliases", "title"}};
  for (const Shown& shown : all) {
    const Format& format = shown.format;
    rows.push_back({format.name, BitsText(shown.types), std::to_string(format.BlockValues()), format.author,
                    fmt::format("{}", fmt::join(format.aliases, " ")), format.title});
  }
  std::array<size_t, kColumns> widths{};
  for (auto& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) {
      row[i] = Printable(row[i]);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = fmt::format("{:<{}}  {:>{}}  {:>{}}  {:<{}}  {:<{}}  {}", row[0], widths[0], row[1], widths[1],
                                   row[2], widths[2], row[3], widths[3], row[4], widths[4], row[5]);
    text += line + "\n";
  }
  return text;
}

Result<std::string> FormatTableJson(const SourceOptions& options) {
  TESSERA_ASSIGN(const std::vector<Shown> all, ShowAll(options));
  Json json = Json::array();
  for (const Shown& shown : all) json.push_back(JsonOf(shown));
  return Dump(json);
}

Result<std::string> FormatText(const std::string& name, const SourceOptions& options, const LayoutOptions& layout) {
  TESSERA_ASSIGN(const Shown shown, ShowOne(name, options));
  const Format& format = shown.format;
  std::string text = format.comment + (format.comment.empty() ? "" : "\n") + PrintFormatHeader(format) + "\n";
  text += fmt::format("{} bytes for {}, {} bits per weight; codec: {}\n", shown.types.SizeBytes(),
                      shown.types.shape.empty() ? "a scalar" : ShapeText(shown.types.shape), BitsText(shown.types),
                      CodecName(format, shown.types));
  if (!shown.placeholders.empty()) {
    text += fmt::format("zeros stand for data of a model: {} (--set NAME=@file.npy)\n",
                        fmt::join(shown.placeholders, ", "));
  }
  if (shown.types.profile) text += "\n---- profile\n\n" + PrintProfile(*shown.types.profile);
  text += "\n---- struct types\n\n" + PrintNotation(shown.types.types);
  text += "\n---- byte map\n\n" + LayoutText(*shown.types.root, layout);
  text += "\n---- decoder\n\n" + (shown.decoder ? PrintFunctionText(*shown.decoder, 0) : shown.no_decoder + "\n");
  return text;
}

Result<std::string> FormatJson(const std::string& name, const SourceOptions& options) {
  TESSERA_ASSIGN(const Shown shown, ShowOne(name, options));
  Json json = JsonOf(shown);
  json["text"] = PrintFormat(shown.format);
  json["placeholders"] = shown.placeholders;
  json["profile"] = shown.types.profile ? Json(PrintProfile(*shown.types.profile)) : Json(nullptr);
  json["struct"] = PrintNotation(shown.types.types);
  json["leaves"] = LeafRows(*shown.types.root);
  json["decoder"] = shown.decoder ? Json(PrintFunctionText(*shown.decoder, 0)) : Json(nullptr);
  if (!shown.decoder) json["no_decoder"] = shown.no_decoder;
  return Dump(json);
}

}  // namespace tessera
