#include "tessera/formats/testing/scheme_report.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "tessera/formats/testing/document_compare.h"
#include "tessera/formats/testing/document_rows.h"
#include "tessera/formats/testing/profile_compare.h"
#include "tessera/quant/profile_text.h"
#include "tessera/quant/validate.h"
#include "tessera/types/closure.h"
#include "tessera/types/expression.h"
#include "tessera/types/type_table.h"

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

// The template parameters of an example's struct types.
Result<NotationOptions> DocumentOptions(const Scheme& scheme) {
  NotationOptions options = WithSyntheticData(scheme);
  options.shape = scheme.shape;
  const NotationOptions own = options;
  for (const DocumentBinding& binding : FindDocumentRow(scheme.id).bindings) {
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
Result<std::vector<StructType>> DocumentTypes(const Scheme& scheme, const std::string& our_root,
                                              const std::filesystem::path& examples) {
  TESSERA_ASSIGN(const std::string text, ReadText(examples / (std::string(scheme.document) + ".struct.txt")));
  TESSERA_ASSIGN(NotationOptions options, DocumentOptions(scheme));
  TESSERA_ASSIGN(NotationResult parsed, ParseNotation(text, options));
  TESSERA_ASSIGN(const std::vector<StructType> types, std::move(parsed).Concrete());
  const StructType* root = &types.back();
  for (const StructType& type : types) {
    if (type.Name() == our_root) root = &type;
  }
  return Closure(*root, types);
}

Result<Profile> DocumentProfile(const Scheme& scheme, const std::filesystem::path& examples) {
  TESSERA_ASSIGN(const std::string text, ReadText(examples / (std::string(scheme.document) + ".profile.txt")));
  TESSERA_ASSIGN(ProfileText parsed, ParseProfiles(text, WithSyntheticData(scheme)));
  TESSERA_ASSIGN(std::vector<Profile> profiles, std::move(parsed).Concrete());
  const size_t index = FindDocumentRow(scheme.id).profile;
  if (index >= profiles.size()) return Fail(ErrorCode::kSyntax, std::string(scheme.document), "has fewer profiles");
  return profiles[index];
}

// The checks that need only the row; fills everything but `document`.
Result<std::vector<StructType>> ExamineRow(const Scheme& scheme, Profile* profile, SchemeReport* report) {
  TESSERA_ASSIGN(*profile, SchemeProfile(scheme, WithSyntheticData(scheme)));
  report->parsed = true;
  TESSERA_ASSIGN(ProfileText printed, ParseProfiles(PrintProfile(*profile), WithSyntheticData(scheme)));
  if (printed.profiles != std::vector<Profile>{*profile}) {
    report->failures.emplace_back("printed and parsed again it is another profile:\n" + PrintProfile(*profile));
  }
  Problems problems;
  ValidateProfile(*profile, Path(), {}, &problems);
  for (const Error& problem : problems.list()) report->failures.push_back("validation: " + problem.Format());

  TESSERA_ASSIGN(std::vector<StructType> types, TranslateScheme(scheme, scheme.shape, WithSyntheticData(scheme)));
  Problems type_problems;
  const TypeTable table = TypeTable::Build(types, {}, &type_problems);
  for (const Error& problem : type_problems.list()) report->failures.push_back("type: " + problem.Format());
  const auto root = table.Get(static_cast<int64_t>(types.size()) - 1);
  if (root == nullptr) return types;
  report->translated = true;
  report->size_bytes = root->size_bits / 8;

  TESSERA_ASSIGN(const RecoveredProfile recovered, RecoverProfile(types));
  TESSERA_ASSIGN(const std::vector<StructType> again,
                 TranslateProfile(recovered.profile, recovered.shape, recovered.options));
  if (recovered.profile != Resolved(*profile)) {
    report->failures.push_back("the inverse is another profile:\n" + PrintProfile(recovered.profile));
  }
  if (recovered.shape != scheme.shape) {
    report->failures.push_back("the inverse has another shape: " + ShapeText(recovered.shape));
  }
  if (again != types) report->failures.push_back("the inverse translates differently:\n" + PrintNotation(again));
  report->inverse = recovered.profile == Resolved(*profile) && recovered.shape == scheme.shape && again == types;
  return types;
}

Result<SchemeReport::Document> CompareWithDocument(const Scheme& scheme, const Profile& profile,
                                                   const std::vector<StructType>& types,
                                                   const std::filesystem::path& examples) {
  SchemeReport::Document result;
  TESSERA_ASSIGN(const Profile theirs, DocumentProfile(scheme, examples));
  result.differences = CompareProfiles(profile, theirs);
  result.has_type = FindDocumentRow(scheme.id).has_type;
  if (!result.has_type) return result;
  TESSERA_ASSIGN(const std::vector<StructType> their_types, DocumentTypes(scheme, types.back().Name(), examples));
  TESSERA_ASSIGN(std::vector<Difference> differences, CompareDeclarations(types, their_types));
  std::move(differences.begin(), differences.end(), std::back_inserter(result.differences));
  auto recovered = RecoverProfile(their_types, scheme.shape);
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

NotationOptions WithSyntheticData(const Scheme& scheme) {
  NotationOptions options;
  for (const SchemeData& data : scheme.data) {
    options.parameters[std::string(data.parameter)] = SyntheticData(data.values);
  }
  return options;
}

SchemeReport ExamineScheme(const Scheme& scheme, const std::optional<std::filesystem::path>& examples) {
  SchemeReport report;
  report.scheme = &scheme;
  Profile profile;
  auto types = ExamineRow(scheme, &profile, &report);
  if (!types) {
    report.failures.push_back(types.error().Format());
    return report;
  }
  if (!examples) return report;
  auto document = CompareWithDocument(scheme, profile, *types, *examples);
  if (document) {
    report.document = *std::move(document);
  } else {
    report.failures.push_back("document: " + document.error().Format());
  }
  return report;
}

}  // namespace tessera
