// Errors as values. Everything that reads bytes, text or arguments from outside returns Result<T> or appends to
// Problems; nothing aborts and nothing prints. Read this header first.
//
// An Error says where (a path such as `struct_types[3].structure.field[1]`, or `tensor 'w'`), what is wrong, and what
// would be right. Thread-safety: values; share them as you share a std::string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "tessera/base/error_codes.h"

namespace tessera {

enum class ErrorCode : uint16_t {
#define TESSERA_X(enumerator, slug, kind, summary) enumerator,
  TESSERA_ERROR_CODES(TESSERA_X)
#undef TESSERA_X
};

// How a program that stops on this error exits; see error_codes.h.
enum class ErrorKind : uint8_t { kInput, kOutput, kFinding };

struct ErrorCodeInfo {
  ErrorCode code;
  std::string_view slug;
  ErrorKind kind;
  std::string_view summary;
};

// Every code, in declaration order: AllErrorCodes()[static_cast<size_t>(code)].code == code.
std::span<const ErrorCodeInfo> AllErrorCodes();
const ErrorCodeInfo& Info(ErrorCode code);

struct Error {
  ErrorCode code;
  std::string where;  // path or object; may be empty
  std::string what;   // what is wrong
  std::string fix;    // what would be right; may be empty

  // `where: what (fix) [slug]` on one line; control characters and bytes that are not UTF-8 are escaped.
  std::string Format() const;
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string where, std::string what, std::string fix = {}) {
  return tl::unexpected<Error>(Error{code, std::move(where), std::move(what), std::move(fix)});
}

#define TESSERA_CONCAT_(a, b) a##b
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_(a, b)

// Returns from the enclosing function with the error of `expr`, a Result, if it has one.
#define TESSERA_TRY(...) TESSERA_TRY_(TESSERA_CONCAT(tessera_try_, __COUNTER__), (__VA_ARGS__))
#define TESSERA_TRY_(tmp, expr)                                                                 \
  do {                                                                                          \
    if (auto tmp = expr; !tmp) return tl::unexpected<::tessera::Error>(std::move(tmp).error()); \
  } while (false)

// `TESSERA_ASSIGN(auto x, F());`: x is the value of F(), or the enclosing function returns F()'s error.
// Declares a variable, so it cannot be the only statement of an `if` without braces.
#define TESSERA_ASSIGN(lhs, ...) TESSERA_ASSIGN_(TESSERA_CONCAT(tessera_assign_, __COUNTER__), lhs, (__VA_ARGS__))
#define TESSERA_ASSIGN_(tmp, lhs, expr)                                      \
  auto tmp = expr;                                                           \
  if (!tmp) return tl::unexpected<::tessera::Error>(std::move(tmp).error()); \
  lhs = *std::move(tmp)

// A list of errors that goes on after the first. Bounded: past `max` problems only their number is kept.
class Problems {
 public:
  explicit Problems(size_t max = 100'000) : max_(max) {}

  void Add(Error error) {
    if (list_.size() < max_)
      list_.push_back(std::move(error));
    else
      ++omitted_;
  }
  void Add(ErrorCode code, std::string where, std::string what, std::string fix = {}) {
    Add(Error{code, std::move(where), std::move(what), std::move(fix)});
  }

  bool empty() const { return list_.empty() && omitted_ == 0; }
  size_t count() const { return list_.size() + omitted_; }  // with those omitted
  size_t omitted() const { return omitted_; }
  const std::vector<Error>& list() const { return list_; }

 private:
  size_t max_;
  size_t omitted_ = 0;
  std::vector<Error> list_;
};

// The place of an element inside a message, as a stack of frames that costs nothing until it is printed:
//   Path root; Path types = root.Index("struct_types", 3); Path field = types.Field("structure").Index("field", 1);
// REQUIRES: a child does not outlive its parent, nor the string that it names.
class Path {
 public:
  Path() = default;
  explicit Path(std::string_view name) : name_(name) {}
  Path Field(std::string_view name) const { return Path(this, name, -1); }
  Path Index(std::string_view name, size_t index) const { return Path(this, name, static_cast<int64_t>(index)); }
  std::string Str() const;

 private:
  Path(const Path* parent, std::string_view name, int64_t index) : parent_(parent), name_(name), index_(index) {}
  const Path* parent_ = nullptr;
  std::string_view name_;
  int64_t index_ = -1;
};

// `text` with control characters and bytes that are not UTF-8 escaped, for terminals.
std::string Printable(std::string_view text);

// `text` in single quotes, with control characters and bytes that are not UTF-8 escaped and long texts shortened, for
// error messages.
std::string Quoted(std::string_view text);

}  // namespace tessera
