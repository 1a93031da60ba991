#include "tessera/types/element_type.h"

#include <gtest/gtest.h>

#include <limits>

namespace tessera {
namespace {

TEST(ElementType, NumbersAndNamesLeadBackToTheRow) {
  ASSERT_EQ(AllElementTypes().size(), 29u);  // IR 14: UNDEFINED and 28 types
  for (const ElementInfo& row : AllElementTypes()) {
    EXPECT_EQ(ElementTypeFromNumber(static_cast<int64_t>(row.type)), row.type);
    EXPECT_EQ(ElementTypeFromName(row.name), row.type);
    EXPECT_EQ(&Info(row.type), &row);
  }
}

TEST(ElementType, OtherNumbersAndNamesAreNone) {
  for (int64_t number : {int64_t{-1}, int64_t{29}, int64_t{1} << 32, (int64_t{1} << 32) + 1,
                         std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(ElementTypeFromNumber(number), std::nullopt) << number;
  }
  for (const char* name : {"", "float", "FLOAT ", "FLOAT8", "INT128"})
    EXPECT_EQ(ElementTypeFromName(name), std::nullopt);
}

// Against the list of structured-views.md, "Size and bit order".
TEST(ElementType, Widths) {
  for (const ElementInfo& row : AllElementTypes()) EXPECT_EQ(IsFixedWidth(row.type), row.kind > ElementKind::kString);
  auto bits = [](const char* name) { return BitWidth(*ElementTypeFromName(name)); };
  for (const char* name : {"INT2", "UINT2"}) EXPECT_EQ(bits(name), 2u);
  for (const char* name : {"INT4", "UINT4", "FLOAT4E2M1"}) EXPECT_EQ(bits(name), 4u);
  for (const char* name : {"FLOAT6E2M3", "FLOAT6E3M2"}) EXPECT_EQ(bits(name), 6u);
  for (const char* name :
       {"BOOL", "INT8", "UINT8", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT8E8M0"}) {
    EXPECT_EQ(bits(name), 8u) << name;
  }
  for (const char* name : {"INT16", "UINT16", "FLOAT16", "BFLOAT16"}) EXPECT_EQ(bits(name), 16u);
  for (const char* name : {"INT32", "UINT32", "FLOAT"}) EXPECT_EQ(bits(name), 32u);
  for (const char* name : {"INT64", "UINT64", "DOUBLE", "COMPLEX64"}) EXPECT_EQ(bits(name), 64u);
  EXPECT_EQ(bits("COMPLEX128"), 128u);
  EXPECT_EQ(UnpackedBytes(ElementType::kInt2), 1u);
  EXPECT_EQ(UnpackedBytes(ElementType::kBfloat16), 2u);
  EXPECT_EQ(UnpackedBytes(ElementType::kComplex128), 16u);
}

}  // namespace
}  // namespace tessera
