// Walks over what a profile holds: nested profiles, and the data of codebooks and matrices, wherever they stand.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/quant/profile_fields.h"

namespace tessera {

// Calls visit(data, path) for every FloatData, an empty one that stands for "none" included, and visit(profile, path)
// for every profile before what is in it, where `visit` takes them; in the order of the fields.
// REQUIRES: nesting within Limits::depth, as validation demands.
template <typename Visit>
class ProfileWalk {
 public:
  explicit ProfileWalk(Visit visit) : visit_(std::move(visit)) {}

  template <IsMessage Message>
  void operator()(const Message& message, const Path& path) {
    if constexpr (std::is_same_v<Message, Profile>) Call(message, path);
    ForEachField<Message>([&](const auto& row) {
      const auto& value = message.*row.member;
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Profile::Kind>) {
        if (value.index() == 0) return;
        const Path family = path.Field(kFamilyNames[value.index() - 1].field);
        (*this)(value, family);
      } else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::vector<Profile>>) {
        for (size_t i = 0; i < value.size(); ++i) {
          const Path entry = path.Index(row.name, i);
          (*this)(value[i], entry);
        }
      } else {
        const Path field = path.Field(row.name);
        (*this)(value, field);
      }
    });
    if constexpr (std::is_same_v<Message, Stored>) {
      const Path stored = path.Field("stored");
      (*this)(message.type, stored);
    }
  }

  void operator()(const FloatData& data, const Path& path) { Call(data, path); }
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
  // Numbers, names and lists of them.
  template <typename T>
  void operator()(const T&, const Path&) {}

 private:
  template <typename T>
  void Call(const T& value, const Path& path) {
    if constexpr (std::is_invocable_v<Visit&, const T&, const Path&>) visit_(value, path);
  }

  Visit visit_;
};

// The memory that a profile takes, about: what stands in it and all data, which Limits::profile_bytes bounds.
inline uint64_t ProfileBytes(const Profile& profile) {
  struct Sum {
    uint64_t* bytes;
    void operator()(const Profile&, const Path&) const { *bytes += sizeof(Profile); }
    void operator()(const FloatData& data, const Path&) const { *bytes += data.values.size() * sizeof(float); }
  };
  uint64_t bytes = 0;
  ProfileWalk walk(Sum{&bytes});
  walk(profile, Path());
  return bytes;
}

}  // namespace tessera
