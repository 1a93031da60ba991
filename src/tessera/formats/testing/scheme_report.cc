#include "tessera/formats/testing/scheme_report.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "tessera/formats/testing/document_compare.h"
#include "tessera/formats/testing/profile_compare.h"
#include "tessera/quant/profile_text.h"
#include "tessera/quant/translate.h"
#include "tessera/quant/validate.h"
#include "tessera/types/closure.h"
#include "tessera/types/expression.h"

namespace tessera {
namespace {

// Quarters around 0: exact, all different.
Constant SyntheticData(uint64_t count) {
  Constant constant;
  constant.type = ElementType::kFloat;
  constant.dims = {static_cast<int64_t>(count)};
  constant.bytes.resize(count * sizeof(float));
  for (uint64_t i = 0; i < count; ++i) {
    const float value = (static_cast<float>(i) - static_cast<float>(count / 2)) / 4;
    std::memcpy(constant.bytes.data() + i * sizeof(float), &value, sizeof value);
  }
  return constant;
}

Result<std::string> ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(ErrorCode::kFileOpen, path.string(), "cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

NotationOptions DataOf(const Format& format) {
  NotationOptions options;
  options.parameters = WithSyntheticData(format).parameters;
  return options;
}

// The template parameters of an example's struct types.
Result<NotationOptions> DocumentOptions(const DocumentRow& row, const Format& format) {
  NotationOptions options = DataOf(format);
  const std::span<const int64_t> shape = format.ExampleShape();
  options.shape = std::vector<int64_t>(shape.begin(), shape.end());
  const NotationOptions own = options;
  for (const DocumentBinding& binding : row.bindings) {
    if (auto data = own.parameters.find(binding.value); data != own.parameters.end()) {
      options.parameters[std::string(binding.parameter)] = data->second;
      continue;
    }
    Lexer lexer(binding.value, "binding of " + std::string(binding.parameter));
    ParameterScope scope(own);
    TESSERA_TRY(scope.CheckShape());
    TESSERA_ASSIGN(const WideInteger value, ParseExpression(&lexer, &scope, "a dimension"));
    if (scope.unbound_uses() != 0 || value < 0 || value > INT64_MAX) {
      return Fail(ErrorCode::kExpression, std::string(binding.parameter), "is no size");
    }
    options.parameters[std::string(binding.parameter)] = static_cast<int64_t>(value);
  }
  return options;
}

// The declarations that the document gives for the scheme, its root last.
Result<std::vector<StructType>> DocumentTypes(const DocumentRow& row, const Format& format, const std::string& our_root,
                                              const std::filesystem::path& examples) {
  TESSERA_ASSIGN(const std::string text, ReadText(examples / (std::string(row.example) + ".struct.txt")));
  TESSERA_ASSIGN(NotationOptions options, DocumentOptions(row, format));
  TESSERA_ASSIGN(NotationResult parsed, ParseNotation(text, options));
  TESSERA_ASSIGN(const std::vector<StructType> types, std::move(parsed).Concrete());
  const StructType* root = &types.back();
  for (const StructType& type : types) {
    if (type.Name() == our_root) root = &type;
  }
  return Closure(*root, types);
}

Result<Profile> DocumentProfile(const DocumentRow& row, const Format& format, const std::filesystem::path& examples) {
  TESSERA_ASSIGN(const std::string text, ReadText(examples / (std::string(row.example) + ".profile.txt")));
  TESSERA_ASSIGN(ProfileText parsed, ParseProfiles(text, DataOf(format)));
  TESSERA_ASSIGN(std::vector<Profile> profiles, std::move(parsed).Concrete());
  if (row.profile >= profiles.size()) return Fail(ErrorCode::kSyntax, std::string(row.example), "has fewer profiles");
  return profiles[row.profile];
}

// The checks that need only the format; fills everything but `document`.
Result<std::vector<StructType>> ExamineFormat(const Format& format, Profile* profile, SchemeReport* report) {
  TESSERA_ASSIGN(*profile, FormatProfile(format, std::nullopt, WithSyntheticData(format)));
  report->parsed = true;
  TESSERA_ASSIGN(ProfileText printed, ParseProfiles(PrintProfile(*profile), DataOf(format)));
  if (printed.profiles != std::vector<Profile>{*profile}) {
    report->failures.emplace_back("printed and parsed again it is another profile:\n" + PrintProfile(*profile));
  }
  Problems problems;
  ValidateProfile(*profile, Path(), {}, &problems);
  for (const Error& problem : problems.list()) report->failures.push_back("validation: " + problem.Format());

  TESSERA_ASSIGN(FormatTypes declared, DeclareFormat(format, format.ExampleShape(), WithSyntheticData(format)));
  report->translated = true;
  report->size_bytes = declared.SizeBytes();
  const std::vector<StructType>& types = declared.types;

  TESSERA_ASSIGN(const RecoveredProfile recovered, RecoverProfile(types));
  TESSERA_ASSIGN(const std::vector<StructType> again,
                 TranslateProfile(recovered.profile, recovered.shape, recovered.options));
  if (recovered.profile != Resolved(*profile)) {
    report->failures.push_back("the inverse is another profile:\n" + PrintProfile(recovered.profile));
  }
  if (recovered.shape != declared.shape) {
    report->failures.push_back("the inverse has another shape: " + ShapeText(recovered.shape));
  }
  if (again != types) report->failures.push_back("the inverse translates differently:\n" + PrintNotation(again));
  report->inverse = recovered.profile == Resolved(*profile) && recovered.shape == declared.shape && again == types;
  return std::move(declared.types);
}

Result<SchemeReport::Document> CompareWithDocument(const DocumentRow& row, const Format& format, const Profile& profile,
                                                   const std::vector<StructType>& types,
                                                   const std::filesystem::path& examples) {
  SchemeReport::Document result;
  TESSERA_ASSIGN(const Profile theirs, DocumentProfile(row, format, examples));
  result.differences = CompareProfiles(profile, theirs);
  result.has_type = row.has_type;
  if (!result.has_type) return result;
  TESSERA_ASSIGN(const std::vector<StructType> their_types, DocumentTypes(row, format, types.back().Name(), examples));
  TESSERA_ASSIGN(std::vector<Difference> differences, CompareDeclarations(types, their_types));
  std::move(differences.begin(), differences.end(), std::back_inserter(result.differences));
  auto recovered =
      RecoverProfile(their_types, std::vector<int64_t>(format.ExampleShape().begin(), format.ExampleShape().end()));
  if (!recovered) {
    result.recovery_error = recovered.error().Format();
  } else if (recovered->profile != Resolved(profile)) {
    result.recovery_error = "another profile:\n" + PrintProfile(recovered->profile);
  } else {
    result.type_recovered = true;
  }
  return result;
}

}  // namespace

DeclareOptions WithSyntheticData(const Format& format) {
  DeclareOptions options;
  for (const FormatData& data : format.data) {
    options.parameters[data.parameter] = SyntheticData(static_cast<uint64_t>(data.values));
  }
  return options;
}

SchemeReport ExamineScheme(const DocumentRow& row, const std::optional<std::filesystem::path>& examples) {
  SchemeReport report;
  report.row = &row;
  report.format = SketchOf(row);
  Profile profile;
  auto types = ExamineFormat(*report.format, &profile, &report);
  if (!types) {
    report.failures.push_back(types.error().Format());
    return report;
  }
  if (!examples) return report;
  auto document = CompareWithDocument(row, *report.format, profile, *types, *examples);
  if (document) {
    report.document = *std::move(document);
  } else {
    report.failures.push_back("document: " + document.error().Format());
  }
  return report;
}

}  // namespace tessera
