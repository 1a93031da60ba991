#include "tessera/types/closure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using ::testing::ElementsAre;

// A structure with one reference a field.
StructType Declaration(std::string name, const std::vector<int32_t>& references) {
  StructureType structure;
  for (int32_t index : references) {
    ArrayType array{PhysicalType{TypeReference{index}}, {2}};
    structure.fields.push_back({"f" + std::to_string(structure.fields.size()), PhysicalType{array}, std::nullopt});
  }
  StructType type;
  type.root.kind = structure;
  type.name = std::move(name);
  return type;
}

std::vector<std::string> Names(const std::vector<StructType>& types) {
  std::vector<std::string> names;
  for (const StructType& type : types) names.push_back(type.Name());
  return names;
}

std::vector<int32_t> ReferencesOf(StructType type) {
  std::vector<int32_t> indices;
  ForEachReference(&type.root, [&](TypeReference* reference) { indices.push_back(reference->index); });
  return indices;
}

TEST(ClosureTest, HoldsEveryDeclarationOnceAfterThoseItRefersTo) {
  // d refers to b and c, both refer to a; x is not part of it.
  std::vector<StructType> table = {Declaration("d", {3, 1}), Declaration("c", {4, 4}), Declaration("x", {4}),
                                   Declaration("b", {4}), Declaration("a", {})};
  std::vector<StructType> closure = Closure(table[0], table);
  EXPECT_THAT(Names(closure), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(ReferencesOf(closure[1]), ElementsAre(0));
  EXPECT_THAT(ReferencesOf(closure[2]), ElementsAre(0, 0));
  EXPECT_THAT(ReferencesOf(closure[3]), ElementsAre(1, 2));
}

TEST(ClosureTest, DoesNotDependOnTheNumbersInTheTable) {
  std::vector<StructType> one = {Declaration("a", {}), Declaration("b", {0}), Declaration("c", {1, 0})};
  std::vector<StructType> other = {Declaration("c", {2, 1}), Declaration("a", {}), Declaration("b", {1})};
  EXPECT_EQ(Closure(one[2], one), Closure(other[0], other));
  other[1].doc_string = "another a";
  EXPECT_NE(Closure(one[2], one), Closure(other[0], other));
}

TEST(ClosureTest, EndsOnCyclesAndReferencesOutOfRange) {
  std::vector<StructType> cycle = {Declaration("a", {1}), Declaration("b", {0})};
  EXPECT_THAT(Names(Closure(cycle[0], cycle)), ElementsAre("a", "b", "a"));
  std::vector<StructType> wrong = {Declaration("a", {7, -3})};
  EXPECT_THAT(ReferencesOf(Closure(wrong[0], wrong)[0]), ElementsAre(-1, -1));
}

TEST(ClosureTest, TakesAChainOfAnyLength) {
  constexpr int32_t kLength = 200'000;
  std::vector<StructType> chain = {Declaration("0", {})};
  for (int32_t i = 1; i < kLength; ++i) chain.push_back(Declaration(std::to_string(i), {i - 1}));
  EXPECT_EQ(Closure(chain.back(), chain).size(), chain.size());
}

}  // namespace
}  // namespace tessera
