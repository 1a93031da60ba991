#include "tessera/jobs/check.h"

#include <type_traits>
#include <utility>

#include "tessera/base/file.h"
#include "tessera/jobs/walk.h"

namespace tessera {
namespace {

// The static type of a graph input or output; nullptr if there is none of that name.
const ir::TypeProto* TypeOfGraphValue(const Model& model, std::string_view name) {
  for (const auto* infos : {&model.proto().graph().input(), &model.proto().graph().output()}) {
    for (const ir::ValueInfoProto& info : *infos) {
      if (info.name() == name) return &info.type();
    }
  }
  return nullptr;
}

template <typename Proto>
Result<void> CheckValueFile(const Model& model, const ValueFile& file, const CheckOptions& options,
                            Problems* problems) {
  TESSERA_ASSIGN(std::shared_ptr<const MappedFile> bytes, MappedFile::Open(file.path));
  LoadOptions load;
  load.limits = options.limits;
  load.inline_bytes = UINT64_MAX;  // one value; its bytes are its own
  Proto value;
  std::vector<Error> conflicts;
  Result<std::vector<std::span<const uint8_t>>> parsed = ParseCut(bytes->bytes(), load, &value, &conflicts);
  if (!parsed) {
    Error error = std::move(parsed).error();
    error.where = file.path.string() + (error.where.empty() ? "" : ": " + error.where);
    return tl::unexpected<Error>(std::move(error));
  }
  if (!parsed->empty()) {
    return Fail(ErrorCode::kUnsupported, file.path.string(), "holds data of the form that marks data kept elsewhere",
                "other data");
  }
  for (Error& conflict : conflicts) {
    conflict.where = file.name + (conflict.where.empty() ? "" : "." + conflict.where);
    problems->Add(std::move(conflict));
  }
  CheckValue(model, file.name, value, options, problems);
  return {};
}

}  // namespace

Result<CheckReport> CheckFile(const std::filesystem::path& path, const CheckOptions& options,
                              const std::vector<ValueFile>& values) {
  LoadOptions load;
  load.limits = options.limits;
  TESSERA_ASSIGN(Model model, Model::Load(path, load));
  CheckReport report;
  report.problems = Problems(options.limits.problems);
  report.struct_types = static_cast<uint64_t>(model.proto().struct_types_size());
  ForEachValue(model.proto(), [&](const auto& value, const Path&) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, ir::StructProto>)
      ++report.struct_values;
    else
      ++report.tensors;
  });
  CheckModel(model, options, &report.problems);
  for (const ValueFile& file : values) {
    const ir::TypeProto* type = TypeOfGraphValue(model, file.name);
    if (type == nullptr) {
      return Fail(ErrorCode::kArgument, "--value " + file.name, "the model has no input or output of that name",
                  "the name of a graph input or output");
    }
    if (type->has_sequence_type())
      TESSERA_TRY(CheckValueFile<ir::SequenceProto>(model, file, options, &report.problems));
    else if (type->has_map_type())
      TESSERA_TRY(CheckValueFile<ir::MapProto>(model, file, options, &report.problems));
    else if (type->has_optional_type())
      TESSERA_TRY(CheckValueFile<ir::OptionalProto>(model, file, options, &report.problems));
    else
      TESSERA_TRY(CheckValueFile<ir::StructProto>(model, file, options, &report.problems));
  }
  return report;
}

}  // namespace tessera
