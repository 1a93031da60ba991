// Walks over the data of a profile: codebooks and matrices, wherever they stand.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "tessera/quant/profile_fields.h"

namespace tessera {

// Calls visit(data, path) for every FloatData of a profile, in the order of the fields; an empty one that stands for
// "none" included. REQUIRES: nesting within Limits::depth, as validation demands.
template <typename Visit>
class DataWalk {
 public:
  explicit DataWalk(Visit visit) : visit_(std::move(visit)) {}

  void operator()(const FloatData& data, const Path& path) { visit_(data, path); }

  template <IsMessage Message>
  void operator()(const Message& message, const Path& path) {
    ForEachField<Message>([&](const auto& row) {
      const auto& value = message.*row.member;
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Profile::Kind>) {
        if (value.index() == 0) return;
        const Path family = path.Field(kFamilyNames[value.index() - 1].field);
        (*this)(value, family);
      } else {
        const Path field = path.Field(row.name);
        (*this)(value, field);
      }
    });
    if constexpr (std::is_same_v<Message, Stored>) (*this)(message.type, path);
  }

  template <typename... T>
  void operator()(const std::variant<T...>& choice, const Path& path) {
    std::visit([&](const auto& value) { (*this)(value, path); }, choice);
  }
  template <typename T>
  void operator()(const Box<T>& box, const Path& path) {
    (*this)(*box, path);
  }
  template <typename T>
  void operator()(const std::optional<T>& optional, const Path& path) {
    if (optional) (*this)(*optional, path);
  }
  void operator()(const std::vector<Profile>& list, const Path& path) {
    for (const Profile& profile : list) (*this)(profile, path);
  }
  // Numbers, names and lists of them hold no data.
  template <typename T>
  void operator()(const T&, const Path&) {}

 private:
  Visit visit_;
};

// The bytes of all its data.
inline uint64_t DataBytes(const Profile& profile) {
  uint64_t bytes = 0;
  DataWalk walk([&](const FloatData& data, const Path&) { bytes += data.values.size() * sizeof(float); });
  walk(profile, Path());
  return bytes;
}

}  // namespace tessera
