#include "tessera/jobs/type_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tessera/codecs/decoder.h"
#include "tessera/codecs/encoder.h"
#include "tessera/codecs/format_codec.h"
#include "tessera/jobs/logical_shape.h"
#include "tessera/onnx/check_model.h"
#include "tessera/types/closure.h"
#include "tessera/types/notation.h"

namespace tessera {
namespace {

// What a file declares before it is checked. A model's declarations are checked from its messages.
struct Declared {
  std::vector<StructType> types;
  std::vector<Profile> profiles;
};

Result<Declared> DeclaredIn(const Source& source) {
  TESSERA_ASSIGN(NotationResult parsed, ParseNotation(source.text(), source.notation));
  Result<std::vector<StructType>> types = std::move(parsed).Concrete();
  if (!types) return tl::unexpected<Error>(source.At(std::move(types).error()));
  return Declared{*std::move(types), {}};
}

Result<Declared> DeclaredBy(const Source& source, const TranslationOptions& options) {
  if (!source.notation.shape) {
    return tl::unexpected<Error>(
        source.At({ErrorCode::kArgument, "", "a format becomes a struct type for a logical shape, and none is given",
                   "--shape 4096x4096"}));
  }
  DeclareOptions declare = source.declare();
  declare.name = options.name;
  declare.outliers = options.outliers;
  Result<FormatTypes> types = DeclareFormat(*source.format, *source.notation.shape, declare);
  if (!types) {
    Error error = std::move(types).error();
    if (error.code == ErrorCode::kUnbound) error.fix = "--set NAME=@file.npy for data that belongs to a model";
    return tl::unexpected<Error>(std::move(error));
  }
  if (options.decoder_opset) {
    TESSERA_ASSIGN(types->types.back().decoder, FormatDecoder(*types, *options.decoder_opset, declare.limits));
  }
  if (options.encoder_opset) {
    TESSERA_ASSIGN(types->types.back().encoder, FormatEncoder(*types, *options.encoder_opset, declare.limits));
  }
  Declared declared{std::move(types->types), {}};
  if (types->profile) declared.profiles.push_back(*std::move(types->profile));
  return declared;
}

std::optional<Declared> TranslatedFrom(const Source& source, const TranslationOptions& options, Problems* problems) {
  std::optional<ProfileSource> loaded = LoadProfiles(source, problems);
  if (!loaded) return std::nullopt;
  std::optional<Translation> translation = TranslateProfiles(source, *loaded, options, problems);
  if (!translation) return std::nullopt;
  Declared declared{std::move(translation->types), {}};
  for (const Profile& profile : loaded->profiles) declared.profiles.push_back(Resolved(profile));
  return declared;
}

// In the declarations of the roots.
Result<void> AddFunctions(const TranslationOptions& options, TypeSource* source) {
  std::vector<StructType> types(source->table.declarations().begin(), source->table.declarations().end());
  for (size_t root : source->roots) {
    TESSERA_ASSIGN(const RecoveredProfile recovered, source->ProfileOf(root));
    const std::vector<StructType> closure = Closure(types[root], source->table.declarations());
    if (options.decoder_opset) {
      TESSERA_ASSIGN(types[root].decoder,
                     BuildDecoder(recovered.profile, recovered.shape, closure, *options.decoder_opset, source->limits));
    }
    if (options.encoder_opset) {
      TESSERA_ASSIGN(types[root].encoder,
                     BuildEncoder(recovered.profile, recovered.shape, closure, *options.encoder_opset, source->limits));
    }
  }
  Problems problems;
  source->table = TypeTable::Build(std::move(types), source->limits, &problems);
  if (!problems.empty()) return tl::unexpected<Error>(problems.list().front());
  return {};
}

}  // namespace

Result<std::vector<size_t>> TypeSource::Select(std::string_view name) const {
  if (name.empty()) return roots;
  int32_t index = table.Find(name);
  if (index >= 0) return std::vector<size_t>{static_cast<size_t>(index)};
  std::string names;
  for (const StructType& type : table.declarations()) names += (names.empty() ? "" : ", ") + type.Name();
  return Fail(ErrorCode::kArgument, path.string(), "declares no type " + Quoted(name), names);
}

Result<RecoveredProfile> TypeSource::ProfileOf(size_t index) const {
  std::vector<StructType> closure = Closure(table.declaration(index), table.declarations());
  // What a type says of its own shape goes before the one that is given for all.
  const bool knows = LogicalShape(closure.back()).has_value();
  return RecoverProfile(closure, profiles.empty() && !knows ? shape : std::nullopt, limits);
}

std::vector<StructType> TypeSource::Declarations(const std::vector<size_t>& indices) const {
  if (indices.size() == 1) return Closure(table.declaration(indices.front()), table.declarations());
  return {table.declarations().begin(), table.declarations().end()};
}

std::optional<TypeSource> LoadTypes(const Source& source, const TranslationOptions& options, Problems* problems) {
  const size_t before = problems->count();
  const Limits& limits = source.notation.limits;
  if ((source.kind == Source::Kind::kTypeText || source.kind == Source::Kind::kModel) &&
      (!options.name.empty() || options.outliers)) {
    problems->Add(source.At({ErrorCode::kArgument, "", "holds struct types, and --name and --outliers are for profiles",
                             "a text that begins with QuantizationProto"}));
    return std::nullopt;
  }
  Problems found;
  std::optional<TypeTable> table;
  std::vector<Profile> profiles;
  if (source.kind == Source::Kind::kModel) {
    LoadOptions load;
    load.limits = limits;
    Result<Model> model = Model::Load(source.path, load);
    if (!model) {
      problems->Add(std::move(model).error());
      return std::nullopt;
    }
    table = BuildTypeTable(model->proto(), limits, &found);
  } else {
    std::optional<Declared> declared;
    if (source.kind == Source::Kind::kProfileText) {
      declared = TranslatedFrom(source, options, problems);
    } else {
      Result<Declared> read = source.kind == Source::Kind::kFormat ? DeclaredBy(source, options) : DeclaredIn(source);
      if (read)
        declared = *std::move(read);
      else
        problems->Add(std::move(read).error());
    }
    if (!declared) return std::nullopt;
    table = TypeTable::Build(std::move(declared->types), limits, &found);
    profiles = std::move(declared->profiles);
  }
  for (const Error& error : found.list()) problems->Add(source.At(error));
  if (found.empty() && table->size() == 0) {
    problems->Add(source.At({ErrorCode::kArgument, "", "declares no struct types", "a file with at least one"}));
  }
  if (problems->count() != before) return std::nullopt;

  std::vector<bool> referenced(table->size());
  for (const StructType& type : table->declarations()) {
    PhysicalType root = type.root;
    ForEachReference(&root,
                     [&](TypeReference* reference) { referenced[static_cast<size_t>(reference->index)] = true; });
  }
  TypeSource result{source.path, limits, source.notation.shape, *std::move(table), {}, std::move(profiles)};
  for (size_t i = 0; i < referenced.size(); ++i) {
    if (!referenced[i]) result.roots.push_back(i);
  }
  if ((options.decoder_opset || options.encoder_opset) && source.kind != Source::Kind::kFormat) {
    if (Result<void> done = AddFunctions(options, &result); !done) {
      problems->Add(source.At(std::move(done).error()));
      return std::nullopt;
    }
  }
  return result;
}

}  // namespace tessera
