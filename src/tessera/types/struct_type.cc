#include "tessera/types/struct_type.h"

namespace tessera {

bool StructureType::operator==(const StructureType& other) const { return fields == other.fields; }

const std::string& StructType::Name() const {
  static const std::string empty;
  return name ? *name : empty;
}

}  // namespace tessera
