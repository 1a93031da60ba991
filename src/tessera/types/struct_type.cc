#include "tessera/types/struct_type.h"

namespace tessera {

PhysicalTypeBox::PhysicalTypeBox() : type_(std::make_unique<PhysicalType>()) {}
PhysicalTypeBox::PhysicalTypeBox(PhysicalType type) : type_(std::make_unique<PhysicalType>(std::move(type))) {}
PhysicalTypeBox::PhysicalTypeBox(const PhysicalTypeBox& other) : type_(std::make_unique<PhysicalType>(*other)) {}
// A moved-from box still holds a type, so that "never null" needs no exception.
PhysicalTypeBox::PhysicalTypeBox(PhysicalTypeBox&& other) noexcept : PhysicalTypeBox() {
  std::swap(type_, other.type_);
}
PhysicalTypeBox& PhysicalTypeBox::operator=(const PhysicalTypeBox& other) {
  if (this != &other) type_ = std::make_unique<PhysicalType>(*other);
  return *this;
}
PhysicalTypeBox& PhysicalTypeBox::operator=(PhysicalTypeBox&& other) noexcept {
  std::swap(type_, other.type_);
  return *this;
}
PhysicalTypeBox::~PhysicalTypeBox() = default;
bool PhysicalTypeBox::operator==(const PhysicalTypeBox& other) const { return *type_ == *other.type_; }

bool StructureType::operator==(const StructureType& other) const { return fields == other.fields; }

const std::string& StructType::Name() const {
  static const std::string empty;
  return name ? *name : empty;
}

}  // namespace tessera
