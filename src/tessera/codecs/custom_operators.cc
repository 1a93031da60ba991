#include "tessera/codecs/custom_operators.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

namespace tessera {
namespace {

template <typename Operation>
class Registry {
 public:
  Result<void> Add(std::string name, Operation operation) {
    if (name.empty() || !operation) {
      return Fail(ErrorCode::kArgument, "operator", name.empty() ? "has no name" : Quoted(name) + " is no function",
                  "\"domain::Operator\" and what it does");
    }
    const std::lock_guard lock(mutex_);
    if (!operations_.emplace(name, std::move(operation)).second) {
      return Fail(ErrorCode::kArgument, "operator", fmt::format("{} is registered already", Quoted(name)),
                  "another name");
    }
    return {};
  }
  bool Remove(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto found = operations_.find(name);
    if (found == operations_.end()) return false;
    operations_.erase(found);
    return true;
  }
  std::optional<Operation> Find(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto found = operations_.find(name);
    if (found == operations_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Operation, std::less<>> operations_;
};

Registry<CustomDequantizer>& Dequantizers() {
  static auto* registry = new Registry<CustomDequantizer>();  // lives as long as the process
  return *registry;
}
Registry<CustomQuantizer>& Quantizers() {
  static auto* registry = new Registry<CustomQuantizer>();
  return *registry;
}

}  // namespace

Result<void> RegisterDequantizer(std::string name, CustomDequantizer operation) {
  return Dequantizers().Add(std::move(name), std::move(operation));
}
Result<void> RegisterQuantizer(std::string name, CustomQuantizer operation) {
  return Quantizers().Add(std::move(name), std::move(operation));
}
bool UnregisterDequantizer(std::string_view name) { return Dequantizers().Remove(name); }
bool UnregisterQuantizer(std::string_view name) { return Quantizers().Remove(name); }
std::optional<CustomDequantizer> FindDequantizer(std::string_view name) { return Dequantizers().Find(name); }
std::optional<CustomQuantizer> FindQuantizer(std::string_view name) { return Quantizers().Find(name); }

}  // namespace tessera
