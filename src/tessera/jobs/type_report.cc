#include "tessera/jobs/type_report.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tessera/jobs/leaf_rows.h"
#include "tessera/jobs/logical_shape.h"
#include "tessera/quant/profile_text.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

struct Described {
  Profile profile;
  std::vector<int64_t> shape;
};

Result<Described> Describe(const TypeSource& source, size_t index) {
  auto root = std::find(source.roots.begin(), source.roots.end(), index);
  if (!source.profiles.empty() && root != source.roots.end()) {
    return Described{source.profiles[static_cast<size_t>(root - source.roots.begin())], *source.shape};
  }
  TESSERA_ASSIGN(RecoveredProfile recovered, source.ProfileOf(index));
  return Described{std::move(recovered.profile), std::move(recovered.shape)};
}

Json JsonOf(const TypeSource& source, size_t index) {
  const CheckedType& type = *source.table.Get(static_cast<int64_t>(index));
  Result<Described> described = Describe(source, index);
  std::optional<std::vector<int64_t>> shape = described ? described->shape : LogicalShape(type.declaration);
  std::optional<double> bits_per_weight = shape ? BitsPerWeight(type, *shape) : std::nullopt;
  Json json = {{"name", type.declaration.Name()}};
  json["shape"] = shape ? Json(*shape) : Json(nullptr);
  json["profile"] = described ? Json(PrintProfile(described->profile)) : Json(nullptr);
  if (!described) json["no_profile"] = described.error().Format();
  json["struct"] = PrintNotation(source.Declarations({index}));
  json["size_bits"] = type.size_bits;
  json["size_bytes"] = type.size_bits % 8 == 0 ? Json(type.size_bits / 8) : Json(nullptr);
  json["bits_per_weight"] = bits_per_weight ? Json(*bits_per_weight) : Json(nullptr);
  json["leaves"] = LeafRows(type);
  return json;
}

std::string WithNewLine(std::string text) { return text.ends_with('\n') ? text : text + "\n"; }

}  // namespace

std::optional<std::string> TypeReport(const std::filesystem::path& path, TypeForm form,
                                      const TypeReportOptions& options, Problems* problems, std::string* note) {
  auto refuse = [&](Error error) {
    problems->Add(std::move(error));
    return std::nullopt;
  };
  Result<Source> source = OpenSource(path, options.source);
  if (!source) return refuse(std::move(source).error());
  if (note != nullptr) *note = source->note;
  if (form == TypeForm::kProfile && source->kind == Source::Kind::kFormat && !source->notation.shape &&
      options.type.empty() && options.translation.name.empty() && !options.translation.outliers) {
    Result<Profile> profile = FormatProfile(*source->format, std::nullopt, source->declare());
    if (!profile) return refuse(std::move(profile).error());
    return WithNewLine(PrintProfile(*profile));
  }
  if (form == TypeForm::kProfile && source->kind == Source::Kind::kProfileText && !source->notation.shape) {
    if (!options.type.empty() || !options.translation.name.empty() || options.translation.outliers) {
      return refuse({ErrorCode::kArgument, path.string(), "--type, --name and --outliers are for struct types",
                     "also --shape 4096x4096"});
    }
    std::optional<ProfileSource> loaded = LoadProfiles(*source, problems);
    if (!loaded) return std::nullopt;
    return WithNewLine(PrintProfiles(loaded->profiles));
  }
  std::optional<TypeSource> types = LoadTypes(*source, options.translation, problems);
  if (!types) return std::nullopt;
  Result<std::vector<size_t>> shown = types->Select(options.type);
  if (!shown) return refuse(std::move(shown).error());

  switch (form) {
    case TypeForm::kStruct:
      return WithNewLine(PrintNotation(types->Declarations(*shown)));
    case TypeForm::kProfile: {
      const size_t before = problems->count();
      std::vector<Profile> profiles;
      for (size_t index : *shown) {
        Result<Described> described = Describe(*types, index);
        if (described)
          profiles.push_back(std::move(described->profile));
        else
          problems->Add(source->At(std::move(described).error()));
      }
      if (problems->count() != before) return std::nullopt;
      return WithNewLine(PrintProfiles(profiles));
    }
    case TypeForm::kLayout:
    case TypeForm::kLayoutJson: {
      std::string text;
      for (size_t index : *shown) {
        std::shared_ptr<const CheckedType> type = types->table.Get(static_cast<int64_t>(index));
        if (!text.empty()) text += "\n";
        text += WithNewLine(form == TypeForm::kLayout ? LayoutText(*type, options.layout) : LayoutJson(*type));
      }
      return text;
    }
    case TypeForm::kJson: {
      Json json = Json::array();
      for (size_t index : *shown) json.push_back(JsonOf(*types, index));
      if (json.size() == 1) json = Json(json[0]);
      return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    }
  }
  return std::nullopt;
}

}  // namespace tessera
