#include "engine/objects/object_kinds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace eris::engine {
namespace {

TEST(ObjectKindsTest, EveryHashPartitionGetsASeedOfItsOwn) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 100; ++i) seeds.insert(*PartitionSeed(ObjectKind::kHash));
  EXPECT_EQ(seeds.size(), 100u);
  EXPECT_EQ(*PartitionSeed(ObjectKind::kIndex), 0u);
}

TEST(ObjectKindsTest, OnlyKindsThatThereAreCanBeCreated) {
  EXPECT_TRUE(CheckKind(ObjectKind::kIndex).ok());
  EXPECT_TRUE(CheckKind(ObjectKind::kHash).ok());
  EXPECT_EQ(CheckKind(static_cast<ObjectKind>(0)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckKind(static_cast<ObjectKind>(200)).code(), absl::StatusCode::kInvalidArgument);
}

TEST(ObjectKindsTest, ByteStringsAreForIndexesAlone) {
  EXPECT_TRUE(CheckValueType(ObjectKind::kIndex, ColumnType::kUint64).ok());
  EXPECT_TRUE(CheckValueType(ObjectKind::kIndex, ColumnType::kString).ok());
  EXPECT_TRUE(CheckValueType(ObjectKind::kHash, ColumnType::kUint64).ok());
  EXPECT_EQ(CheckValueType(ObjectKind::kHash, ColumnType::kString).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckValueType(ObjectKind::kIndex, static_cast<ColumnType>(9)).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ObjectKindsTest, KeysOfTwoPartsAreForIndexesOfNumbersAlone) {
  const auto check = [](ObjectKind kind, ColumnType values, const KeyTypes& keys) {
    return CheckKeyTypes(kind, values, keys).code();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const KeyTypes two = {ColumnType::kDate, ColumnType::kFloat64};
  const auto none = static_cast<ColumnType>(0);
  EXPECT_EQ(check(ObjectKind::kIndex, ColumnType::kUint64, two), absl::StatusCode::kOk);
  EXPECT_EQ(check(ObjectKind::kHash, ColumnType::kUint64, ColumnType::kDate), absl::StatusCode::kOk);
  EXPECT_EQ(check(ObjectKind::kHash, ColumnType::kUint64, two), kInvalid);
  EXPECT_EQ(check(ObjectKind::kIndex, ColumnType::kString, two), kInvalid);
  EXPECT_EQ(check(ObjectKind::kIndex, ColumnType::kUint64, none), kInvalid);
  EXPECT_EQ(check(ObjectKind::kIndex, ColumnType::kUint64, {ColumnType::kDate, none}), kInvalid);
}

}  // namespace
}  // namespace eris::engine
