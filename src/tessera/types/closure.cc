#include "tessera/types/closure.h"

#include <unordered_map>
#include <utility>

namespace tessera {
namespace {

std::vector<int32_t> References(const StructType& type) {
  std::vector<int32_t> indices;
  PhysicalType root = type.root;
  ForEachReference(&root, [&](TypeReference* reference) { indices.push_back(reference->index); });
  return indices;
}

}  // namespace

void ForEachReference(PhysicalType* type, const std::function<void(TypeReference*)>& visit) {
  if (auto* reference = std::get_if<TypeReference>(&type->kind)) {
    visit(reference);
  } else if (auto* array = std::get_if<ArrayType>(&type->kind)) {
    ForEachReference(&*array->element, visit);
  } else if (auto* structure = std::get_if<StructureType>(&type->kind)) {
    for (Field& field : structure->fields) {
      if (auto* part = std::get_if<PhysicalType>(&field.content)) ForEachReference(part, visit);
    }
  }
}

std::vector<StructType> Closure(const StructType& root, std::span<const StructType> table) {
  // Depth-first without recursion: a stranger's file may chain its declarations as long as it likes.
  struct Frame {
    int32_t index;  // in `table`; -1 for the root
    std::vector<int32_t> references;
    size_t next = 0;
  };
  auto in_range = [&](int32_t index) { return index >= 0 && static_cast<size_t>(index) < table.size(); };
  std::unordered_map<int32_t, bool> seen;
  std::vector<int32_t> order;  // of `table`
  std::vector<Frame> stack;
  stack.push_back({-1, References(root)});
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next == top.references.size()) {
      if (top.index >= 0) order.push_back(top.index);
      stack.pop_back();
      continue;
    }
    int32_t index = top.references[top.next++];
    if (in_range(index) && seen.emplace(index, true).second) stack.push_back({index, References(table[index])});
  }

  std::unordered_map<int32_t, int32_t> position;
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int32_t>(i);
  std::vector<StructType> list;
  for (int32_t index : order) list.push_back(table[index]);
  list.push_back(root);
  for (StructType& type : list) {
    ForEachReference(&type.root, [&](TypeReference* reference) {
      auto found = position.find(reference->index);
      reference->index = found == position.end() ? -1 : found->second;
    });
  }
  return list;
}

}  // namespace tessera
