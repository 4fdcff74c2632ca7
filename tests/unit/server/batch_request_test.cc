// What a request weighs in the budget.
#include <string>
#include <type_traits>

#include "gtest/gtest.h"
#include "server/calls/call_bytes.h"
#include "server/data/lookup_op.h"
#include "server/data/write_op.h"
#include "tests/unit/server/fake_engine.h"

namespace eris::server {
namespace {

// The bytes of a column's message without its data.
constexpr uint64_t kColumn = sizeof(v1::Column) + 3 * sizeof(std::string);
// The name of the object.
constexpr uint64_t kName = 1;

class BatchRequestTest : public ::testing::Test {
 protected:
  // A request on an object of that schema, with columns of 6400 bytes.
  template <class Op>
  uint64_t Bytes(const CreateOptions& options, const std::vector<v1::ColumnType>& types,
                 v1::WriteMode mode = v1::WRITE_MODE_UPSERT) {
    (void)engine_.Drop("o");
    EXPECT_TRUE(engine_.Create("o", options).ok());
    typename Op::Request request;
    request.set_object("o");
    if constexpr (Op::kIsWrite) request.set_mode(mode);
    for (const v1::ColumnType type : types) {
      v1::Column* column;
      if constexpr (Op::kIsWrite) {
        column = request.add_columns();
      } else {
        column = request.add_keys();
      }
      column->set_type(type);
      column->set_data(std::string(6400, 'k'));
    }
    const auto plan = Op::Prepare({*session_, leases_}, request);
    EXPECT_TRUE(plan.ok()) << plan.status();
    EXPECT_GE(plan->bytes, Op::RequestBytes(request));
    return plan->bytes - kName - types.size() * kColumn;
  }

  static constexpr v1::ColumnType kU64 = v1::COLUMN_TYPE_UINT64;
  FakeEngine engine_;
  std::unique_ptr<Session> session_ = engine_.NewSession();
  SnapshotLeases leases_{[](SnapshotLeases::Clock::duration) {}};
};

TEST_F(BatchRequestTest, RequestWeighsItsColumnsAndItsAnswer) {
  EXPECT_EQ(Bytes<LookupOp>({}, {kU64}), 2 * 6400 + 101u);
  EXPECT_EQ(Bytes<WriteOp>({}, {kU64, kU64}), 2 * 6400 + 3 * 101u);
  EXPECT_EQ(Bytes<WriteOp>({}, {kU64}, v1::WRITE_MODE_ERASE), 6400 + 3 * 101u);
  EXPECT_EQ(Bytes<WriteOp>({}, {kU64, kU64}, v1::WRITE_MODE_ADD), 3 * 6400 + 3 * 101u);
}

// Half the width of the values that its keys are answered with.
TEST_F(BatchRequestTest, KeysThatAreEncodedWeighTheirCopies) {
  const CreateOptions dates{.schema = KeyValueSchema(ColumnType::kDate)};
  EXPECT_EQ(Bytes<LookupOp>(dates, {v1::COLUMN_TYPE_DATE32}), 6400 + 2 * 12800 + 201u);
  const CreateOptions pairs{.schema =
                                KeyValueSchema(KeyTypes(ColumnType::kUint64, ColumnType::kInt64))};
  EXPECT_EQ(Bytes<WriteOp>(pairs, {kU64, v1::COLUMN_TYPE_INT64}, v1::WRITE_MODE_ERASE),
            3 * 6400 + 3 * 101u);
}

TEST_F(BatchRequestTest, RowsOfATableWeighTheColumnsThatAreAnswered) {
  const CreateOptions table{.kind = ObjectKind::kTable,
                            .schema = {.columns = {{.name = "a", .type = ColumnType::kInt64},
                                                   {.name = "b", .type = ColumnType::kInt32},
                                                   {.name = "c", .type = ColumnType::kString}},
                                       .key = {0}}};
  // Strings are charged when they are there.
  EXPECT_EQ(Bytes<LookupOp>(table, {v1::COLUMN_TYPE_INT64}), 6400 + 800 * 4 + 2 * 101 + 101u);
}

// As the engine has it when no memory was left for columns and bits.
TEST(FillTest, BatchWithoutMemoryForItsAnswerIsRefused) {
  BatchResult result;
  result.status = absl::ResourceExhaustedError("no memory for the answers");
  result.count = 3;
  v1::LookupResponse found;
  EXPECT_EQ(LookupOp::Fill({ColumnType::kUint64}, result, &found), result.status);
  v1::WriteResponse written;
  const WriteOp::Shape adds{.mode = WriteMode::kAdd, .columns = {ColumnType::kUint64}};
  EXPECT_EQ(WriteOp::Fill(adds, result, &written), result.status);
  EXPECT_EQ(WriteOp::Fill({.mode = WriteMode::kUpsert}, result, &written), result.status);
  // Rows that are appended have no bits.
  result.refused = 1;
  EXPECT_TRUE(WriteOp::Fill({.mode = WriteMode::kAppend}, result, &written).ok());
  EXPECT_EQ(written.written(), 2u);
}

TEST(CallBytesTest, LargeRequestLeavesNoMemoryInItsMessage) {
  v1::LookupRequest request;
  KeptBytes kept;
  request.add_keys()->set_data(std::string(8 << 20, 'k'));
  kept.Used(8 << 20, &request);
  EXPECT_LT(request.SpaceUsedLong(), 1000u);
  request.add_keys()->set_data(std::string(8 << 10, 'k'));
  kept.Used(8 << 10, &request);
  EXPECT_EQ(request.keys(0).data().size(), 8u << 10);  // the next small one uses it again
}

// Each request is small, and has its text at a place that no request before it has filled: a
// message keeps the memory of all of them.
TEST(CallBytesTest, SmallRequestsLeaveNoMemoryOfFieldsThatLaterOnesDoNotHave) {
  v1::LookupRequest request;
  KeptBytes kept;
  size_t most = 0;
  for (int k = 0; k < 500; ++k) {
    request.Clear();
    for (int i = 0; i < k; ++i) request.add_columns();
    request.add_columns()->assign(32 << 10, 'c');
    kept.Used(request.SpaceUsedLong(), &request);
    most = std::max(most, request.SpaceUsedLong());
  }
  EXPECT_GT(most, 32u << 10);
  EXPECT_LT(most, 3 * KeptBytes::kMax);
}

template <class Op>
class RequestBytesTest : public ::testing::Test {
 protected:
  static wire::Columns* ColumnsOf(typename Op::Request& request) {
    if constexpr (Op::kIsWrite) {
      return request.mutable_columns();
    } else {
      return request.mutable_keys();
    }
  }
};
using Ops = ::testing::Types<LookupOp, WriteOp>;
TYPED_TEST_SUITE(RequestBytesTest, Ops);

TYPED_TEST(RequestBytesTest, PartsForWhichItIsRefusedWeighToo) {
  constexpr uint64_t kBytes = 1 << 20;
  const std::string large(kBytes, 'x');
  typename TypeParam::Request request;
  wire::Columns& columns = *this->ColumnsOf(request);
  columns.Add()->set_validity(large);
  EXPECT_GE(TypeParam::RequestBytes(request), kBytes);
  columns[0].Clear();
  columns[0].set_offsets(large);
  EXPECT_GE(TypeParam::RequestBytes(request), kBytes);
  columns[0].Clear();
  for (int i = 0; i < 10'000; ++i) columns.Add();
  EXPECT_GE(TypeParam::RequestBytes(request), 10'000 * sizeof(v1::Column));
}

// Two bytes on the wire, many in memory.
TYPED_TEST(RequestBytesTest, UnknownFieldsWeighWhatTheyTakeInMemory) {
  std::string wire;
  for (int i = 0; i < 10'000; ++i) wire += "\x78\x01";  // field 15, varint 1
  typename TypeParam::Request request;
  ASSERT_TRUE(request.ParseFromString(wire));
  EXPECT_GT(TypeParam::RequestBytes(request), 10 * 10'000u);
  typename TypeParam::Request nested;
  ASSERT_TRUE(this->ColumnsOf(nested)->Add()->ParseFromString(wire));
  EXPECT_GT(TypeParam::RequestBytes(nested), 10 * 10'000u);
}

}  // namespace
}  // namespace eris::server
