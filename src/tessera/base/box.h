// A value behind a pointer, for types that contain themselves. Copies are deep, and it is never empty: a box that was
// moved from may only be destroyed or assigned to.
#pragma once

#include <memory>
#include <utility>

namespace tessera {

// T may be incomplete where Box<T> is named, as long as it is complete where a box is made, copied or compared.
template <typename T>
class Box {
 public:
  Box() : value_(std::make_unique<T>()) {}
  Box(T value)
      : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT(google-explicit-constructor): a spelling of T
  Box(const Box& other) : value_(std::make_unique<T>(*other.value_)) {}
  Box(Box&&) noexcept = default;
  Box& operator=(const Box& other) {
    if (this != &other) value_ = std::make_unique<T>(*other.value_);
    return *this;
  }
  Box& operator=(Box&&) noexcept = default;
  ~Box() = default;

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  bool operator==(const Box& other) const { return *value_ == *other.value_; }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace tessera
