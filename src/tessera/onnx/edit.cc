#include "tessera/onnx/edit.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

#include "tessera/onnx/check_model.h"
#include "tessera/onnx/convert.h"
#include "tessera/types/closure.h"
#include "tessera/types/struct_view.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace {

tl::unexpected<Error> First(const Problems& problems) { return tl::unexpected<Error>(problems.list().front()); }

void Renumber(StructType* type, const std::vector<int32_t>& positions) {
  ForEachReference(&type->root, [&](TypeReference* reference) { reference->index = positions[reference->index]; });
}

// Declarations of a model with some added, not yet written to it.
class Additions {
 public:
  explicit Additions(const Model& model) {
    Problems problems;  // of what stands there already; a declaration with one equals no other
    Path root;
    for (int i = 0; i < model.proto().struct_types_size(); ++i) {
      types_.push_back(FromProto(model.proto().struct_types(i), root.Index("struct_types", i), &problems));
    }
    old_size_ = types_.size();
  }

  // Adds the first `count` of `types`, in which references are positions; returns their indices in the model.
  // REQUIRES: these passed the checker as a list of their own, each after those that it refers to.
  Result<std::vector<int32_t>> Add(const std::vector<StructType>& types, size_t count, const Limits& limits) {
    std::vector<int32_t> positions;
    for (size_t i = 0; i < count; ++i) {
      StructType type = types[i];
      Renumber(&type, positions);
      TESSERA_ASSIGN(int32_t position, Place(std::move(type)));
      positions.push_back(position);
    }
    if (types_.size() > old_size_) {
      Problems problems;
      TypeTable table = TypeTable::Build(types_, limits, &problems);
      for (size_t i = old_size_; i < types_.size(); ++i) {
        if (table.Get(static_cast<int64_t>(i)) != nullptr) continue;
        const std::string path = fmt::format("struct_types[{}]", i);
        for (const Error& error : problems.list()) {
          if (error.where.starts_with(path)) return tl::unexpected<Error>(error);
        }
        return Fail(ErrorCode::kTypeInvalid, path, "refers to a declaration that is not in order",
                    "types without problems");
      }
    }
    return positions;
  }

  void WriteTo(Model* model) const {
    for (size_t i = old_size_; i < types_.size(); ++i) ToProto(types_[i], model->mutable_proto().add_struct_types());
  }

 private:
  Result<int32_t> Place(StructType type) {
    for (size_t i = 0; i < types_.size(); ++i) {
      if (types_[i].Name() != type.Name()) continue;
      if (types_[i] == type) return static_cast<int32_t>(i);
      return Fail(ErrorCode::kTypeName, fmt::format("struct_types[{}]", i),
                  Quoted(type.Name()) + " is the name of another declaration", "another name for one of the two");
    }
    types_.push_back(std::move(type));
    return static_cast<int32_t>(types_.size() - 1);
  }

  std::vector<StructType> types_;
  size_t old_size_ = 0;
};

Result<void> CheckName(const Model& model, const std::string& name) {
  if (name.empty()) return Fail(ErrorCode::kValueName, "", "the value's name is empty", "a name of its own");
  const ir::GraphProto& graph = model.proto().graph();
  bool taken = false;
  for (const ir::TensorProto& tensor : graph.initializer()) taken = taken || tensor.name() == name;
  for (const ir::SparseTensorProto& sparse : graph.sparse_initializer())
    taken = taken || sparse.values().name() == name;
  for (const ir::StructProto& value : graph.struct_initializer()) taken = taken || value.name() == name;
  if (taken) {
    return Fail(ErrorCode::kValueName, "struct value " + Quoted(name), "the graph has an initializer of that name",
                "a name of its own");
  }
  return {};
}

Result<void> CheckSize(const CheckedType& type, const std::vector<uint8_t>& bytes, const std::string& name,
                       const Limits& limits) {
  const std::string where = "struct value " + Quoted(name);
  if (bytes.size() > limits.payload_bytes) {
    return Fail(ErrorCode::kLimitPayload, where, fmt::format("has {} bytes", bytes.size()),
                fmt::format("at most {}", limits.payload_bytes));
  }
  return CheckPayload(type, std::array{uint64_t{bytes.size()}}, where);
}

ir::StructProto* AddValue(Model* model, const std::string& name, std::vector<uint8_t> bytes) {
  ir::StructProto* value = model->mutable_proto().mutable_graph()->add_struct_initializer();
  value->set_name(name);
  model->SetRawData(value, std::move(bytes));
  return value;
}

}  // namespace

Result<int32_t> AddStructType(Model* model, const std::vector<StructType>& types, const Limits& limits) {
  if (types.empty()) return Fail(ErrorCode::kArgument, "", "there is no type to add", "at least one");
  Problems problems;
  TypeTable::Build(types, limits, &problems);
  if (!problems.empty()) return First(problems);
  Additions additions(*model);
  TESSERA_ASSIGN(std::vector<int32_t> positions, additions.Add(types, types.size(), limits));
  additions.WriteTo(model);
  return positions.back();
}

Result<ir::StructProto*> AddStructInitializer(Model* model, const std::string& name,
                                              const std::vector<StructType>& types, std::vector<uint8_t> bytes,
                                              const Limits& limits) {
  if (types.empty()) return Fail(ErrorCode::kArgument, "", "the value has no type", "at least one");
  TESSERA_TRY(CheckName(*model, name));
  const bool is_inline = types.back().Name().empty();
  const size_t declared = types.size() - (is_inline ? 1 : 0);
  Problems problems;
  TypeTable table =
      TypeTable::Build({types.begin(), types.begin() + static_cast<ptrdiff_t>(declared)}, limits, &problems);
  std::shared_ptr<const CheckedType> checked =
      is_inline ? table.CheckInline(types.back(), Path("struct_type"), &problems) : table.Get(declared - 1);
  if (!problems.empty()) return First(problems);
  TESSERA_TRY(CheckSize(*checked, bytes, name, limits));

  Additions additions(*model);
  TESSERA_ASSIGN(std::vector<int32_t> positions, additions.Add(types, declared, limits));
  additions.WriteTo(model);
  ir::StructProto* value = AddValue(model, name, std::move(bytes));
  if (is_inline) {
    StructType type = types.back();
    Renumber(&type, positions);
    ToProto(type, value->mutable_struct_type());
  } else {
    value->set_type(positions.back());
  }
  return value;
}

Result<ir::StructProto*> AddStructInitializer(Model* model, const std::string& name, int64_t type_index,
                                              std::vector<uint8_t> bytes, const Limits& limits) {
  TESSERA_TRY(CheckName(*model, name));
  const int64_t count = model->proto().struct_types_size();
  if (type_index < 0 || type_index >= count) {
    return Fail(ErrorCode::kTypeIndex, "struct value " + Quoted(name), fmt::format("its type is {}", type_index),
                count == 0 ? "the model has no struct_types" : fmt::format("0 to {}", count - 1));
  }
  Problems problems;
  TypeTable table = BuildTypeTable(model->proto(), limits, &problems);
  std::shared_ptr<const CheckedType> checked = table.Get(type_index);
  if (checked == nullptr) {
    return Fail(ErrorCode::kTypeInvalid, "struct value " + Quoted(name),
                fmt::format("its type, struct_types[{}], is not in order", type_index), "a type without problems");
  }
  TESSERA_TRY(CheckSize(*checked, bytes, name, limits));
  ir::StructProto* value = AddValue(model, name, std::move(bytes));
  value->set_type(static_cast<int32_t>(type_index));
  return value;
}

}  // namespace tessera
