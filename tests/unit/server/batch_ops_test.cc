// What a request weighs in the budget.
#include "server/data/batch_ops.h"
#include "server/calls/call_bytes.h"

#include <string>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

TEST(BatchOpsTest, RequestWeighsItsKeysAndItsAnswer) {
  v1::LookupRequest lookup;
  lookup.mutable_keys()->set_data(std::string(6400, 'k'));
  EXPECT_EQ(LookupOp::Bytes(lookup), 2 * 6400 + 101u);
  v1::UpsertRequest upsert;
  upsert.mutable_keys()->set_data(std::string(6400, 'k'));
  upsert.mutable_values()->set_data(std::string(6400, 'v'));
  EXPECT_EQ(UpsertOp::Bytes(upsert), 2 * 6400 + 101u);
  v1::EraseRequest erase;
  erase.mutable_keys()->set_data(std::string(6400, 'k'));
  EXPECT_EQ(EraseOp::Bytes(erase), 6400 + 101u);
  v1::WriteRequest write;
  write.mutable_keys()->set_data(std::string(6400, 'k'));
  write.mutable_values()->set_data(std::string(6400, 'v'));
  write.mutable_expected()->set_data(std::string(6400, 'e'));
  EXPECT_EQ(WriteOp::Bytes(write), 4 * 6400 + 3 * 101u);
}

// Half the width of the values that its keys are answered with.
TEST(BatchOpsTest, DatesWeighAsManyValuesAsThereAreKeys) {
  v1::LookupRequest lookup;
  lookup.mutable_keys()->set_type(v1::COLUMN_TYPE_DATE32);
  lookup.mutable_keys()->set_data(std::string(3200, 'k'));
  EXPECT_EQ(LookupOp::Bytes(lookup), 3200 + 6400 + 6400 + 101u);  // and are copied as u64
}

TEST(BatchOpsTest, KeysOfTwoPartsWeighTwice) {
  v1::EraseRequest erase;
  erase.mutable_keys()->set_type(v1::COLUMN_TYPE_UINT64);
  erase.mutable_keys()->set_data(std::string(6400, 'k'));
  EXPECT_EQ(EraseOp::Bytes(erase), 6400 + 101u);
  erase.mutable_second_keys()->set_type(v1::COLUMN_TYPE_UINT64);
  erase.mutable_second_keys()->set_data(std::string(6400, 'k'));
  EXPECT_EQ(EraseOp::Bytes(erase), 2 * 6400 + 101u);
  // Others than u64 are copied.
  erase.mutable_second_keys()->set_type(v1::COLUMN_TYPE_INT64);
  EXPECT_EQ(EraseOp::Bytes(erase), 3 * 6400 + 101u);
}

TEST(BatchOpsTest, LargeRequestLeavesNoMemoryInItsMessage) {
  v1::LookupRequest request;
  request.mutable_keys()->set_data(std::string(8 << 20, 'k'));
  FreeIfLarge(LookupOp::Bytes(request), &request);
  EXPECT_LT(request.SpaceUsedLong(), 1000u);
  request.mutable_keys()->set_data(std::string(8 << 10, 'k'));
  FreeIfLarge(LookupOp::Bytes(request), &request);
  EXPECT_EQ(request.keys().data().size(), 8u << 10);  // the next small one uses it again
}

template <class Op>
class BatchOpsTypedTest : public ::testing::Test {};
using Ops = ::testing::Types<LookupOp, UpsertOp, EraseOp, WriteOp>;
TYPED_TEST_SUITE(BatchOpsTypedTest, Ops);

TYPED_TEST(BatchOpsTypedTest, PartsForWhichItIsRefusedWeighToo) {
  constexpr uint64_t kBytes = 1 << 20;
  const std::string large(kBytes, 'x');
  typename TypeParam::Request request;
  request.mutable_keys()->set_validity(large);
  EXPECT_GE(TypeParam::Bytes(request), kBytes);
  request.Clear();
  request.mutable_keys()->set_offsets(large);
  EXPECT_GE(TypeParam::Bytes(request), kBytes);
  request.Clear();
  request.mutable_second_keys()->set_data(large);
  EXPECT_GE(TypeParam::Bytes(request), kBytes);
}

// Two bytes on the wire, many in memory.
TYPED_TEST(BatchOpsTypedTest, UnknownFieldsWeighWhatTheyTakeInMemory) {
  std::string wire;
  for (int i = 0; i < 10'000; ++i) wire += "\x78\x01";  // field 15, varint 1
  typename TypeParam::Request request;
  ASSERT_TRUE(request.ParseFromString(wire));
  EXPECT_GT(TypeParam::Bytes(request), 10 * 10'000u);
  typename TypeParam::Request nested;
  ASSERT_TRUE(nested.mutable_keys()->ParseFromString(wire));
  EXPECT_GT(TypeParam::Bytes(nested), 10 * 10'000u);
}

}  // namespace
}  // namespace eris::server
