// DoPut and DoExchange over real gRPC in process, with an engine that refuses and holds back what
// the test says: totals, errors, clients that do not read, messages that are none.
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "arrow/flight.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "eris/errors.h"
#include "server/flight/put_batch.h"
#include "server/flight/put_totals.h"
#include "tests/support/arrow_messages.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using ::eris::test::ArrowBatchOf;
using ::eris::test::ArrowColumn;
using ::eris::test::ArrowMessage;
using ::eris::test::ArrowSchemaOf;
using ::eris::test::NumberColumn;
using ::testing::HasSubstr;
namespace protocol = ::arrow::flight::protocol;

using PutStream = grpc::ClientReaderWriter<protocol::FlightData, protocol::PutResult>;

std::vector<ArrowColumn> KeysAndValues(const std::vector<uint64_t>& keys,
                                       const std::vector<uint64_t>& values) {
  return {NumberColumn("value", "uint64", values), NumberColumn("key", "uint64", keys)};
}

protocol::FlightData DataOf(const ArrowMessage& message) {
  protocol::FlightData data;
  data.set_data_header(message.header);
  data.set_data_body(message.body);
  return data;
}

class FlightPutTest : public RpcTest {
 protected:
  explicit FlightPutTest(ServerConfig config_in = {})
      : RpcTest(std::move(config_in)), stub(protocol::FlightService::NewStub(channel)) {}

  static protocol::FlightData First(const std::vector<ArrowColumn>& columns,
                                    const std::string& command = R"({"object": "orders"})") {
    protocol::FlightData data = DataOf({.header = ArrowSchemaOf(columns)});
    data.mutable_flight_descriptor()->set_type(protocol::FlightDescriptor::CMD);
    data.mutable_flight_descriptor()->set_cmd(command);
    return data;
  }
  static protocol::FlightData Batch(const std::vector<uint64_t>& keys,
                                    const std::vector<uint64_t>& values) {
    return DataOf(ArrowBatchOf(static_cast<int64_t>(keys.size()), KeysAndValues(keys, values)));
  }

  // Sends the messages, ends, and reads all results.
  grpc::Status Put(const std::vector<protocol::FlightData>& messages) {
    grpc::ClientContext context;
    const auto stream = stub->DoPut(&context);
    for (const protocol::FlightData& message : messages) {
      if (!stream->Write(message)) break;
    }
    return End(*stream);
  }
  grpc::Status End(PutStream& stream) {
    stream.WritesDone();
    protocol::PutResult result;
    results.clear();
    while (stream.Read(&result)) results.push_back(result.app_metadata());
    return stream.Finish();
  }
  static std::string Totals(uint64_t batches, uint64_t written, uint64_t refused = 0,
                            uint64_t unknown = 0) {
    return PutTotalsJson(
        {.batches = batches, .written = written, .refused = refused, .unknown = unknown});
  }

  std::vector<uint64_t> ValuesAt(const std::vector<uint64_t>& keys) {
    v1::LookupResponse response;
    const grpc::Status status = Lookup(LookupOf(keys), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return Elements(response.columns(0));
  }

  std::unique_ptr<protocol::FlightService::Stub> stub;
  std::vector<std::string> results;  // of the last Put
};

void ExpectRefusedPut(const grpc::Status& status, grpc::StatusCode code, const std::string& text) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr(text));
}

TEST(PutTotalsTest, TellWhatBecameOfTheRows) {
  BatchResult result;
  EXPECT_EQ(PutTotalsOf(result, 5), (PutTotals{.written = 5}));
  result.status = absl::ResourceExhaustedError("");
  result.refused = 2;
  EXPECT_EQ(PutTotalsOf(result, 5), (PutTotals{.written = 3, .refused = 2}));
  result.status = absl::DeadlineExceededError("");
  EXPECT_EQ(PutTotalsOf(result, 5), (PutTotals{.unknown = 5}));
  EXPECT_EQ(PutTotalsJson({.batches = 1, .written = 2, .refused = 3, .unknown = 4}),
            R"({"batches": 1, "written": 2, "refused": 3, "unknown": 4})");
  // Only a call that has written nothing may be told when to try again.
  const absl::Status full = Error(ErrorReason::kInFlightBytes, "full");
  EXPECT_GT(ErrorDetailsOf(WithTotals(full, {.refused = 1})).retry_ms, 0u);
  EXPECT_EQ(ErrorDetailsOf(WithTotals(full, {.written = 2})).retry_ms, 0u);
  EXPECT_EQ(ErrorDetailsOf(WithTotals(full, {.unknown = 2})).retry_ms, 0u);
  EXPECT_EQ(ErrorDetailsOf(WithTotals(full, {.written = 2})).reason, "IN_FLIGHT_BYTES");
  EXPECT_EQ(WithTotals(absl::NotFoundError("x"), {.written = 2}).message(),
            "x; 2 rows were written");
  EXPECT_EQ(
      WithTotals(absl::NotFoundError("x"), {.written = 2, .refused = 1, .unknown = 3}).message(),
      "x; 2 rows were written, 1 were refused, of 3 it is unknown");
}

// What the engine takes at once; together the pieces are the batch.
TEST(PutBatchTest, PiecesAreTheBatch) {
  const Schema schema = {.columns = {{.name = "n", .type = ColumnType::kInt32, .nullable = true},
                                     {.name = "s", .type = ColumnType::kString}}};
  constexpr uint64_t kRows = 3'000'001;
  std::vector<int32_t> numbers(kRows);
  std::vector<uint32_t> offsets(kRows + 1);
  for (uint64_t i = 0; i < kRows; ++i) {
    numbers[i] = static_cast<int32_t>(i);
    offsets[i + 1] = offsets[i] + (i < 40 ? 1 << 20 : 1);
  }
  const std::vector<uint8_t> validity(kRows / 8 + 1, 0x5a);
  const std::vector<ColumnView> views = {{.values = numbers.data(), .validity = validity.data()},
                                         {.values = "", .offsets = offsets.data()}};
  const RowBatch rows = {kRows, views};
  std::vector<uint64_t> sizes;
  for (uint64_t first = 0; first < kRows; first += sizes.back()) {
    const RowPiece piece = PieceFrom(schema, rows, first);
    sizes.push_back(piece.rows);
    EXPECT_EQ(first % 8, 0u);
    EXPECT_LE(piece.rows, kBatchKeysMax);
    EXPECT_EQ(*static_cast<const int32_t*>(piece.columns[0].values), static_cast<int32_t>(first));
    EXPECT_EQ(*piece.columns[0].validity, 0x5a);
    EXPECT_EQ(piece.columns[1].offsets[0], offsets[first]);
    EXPECT_EQ(piece.columns[1].values, views[1].values);
    EXPECT_LE(piece.columns[1].offsets[piece.rows] - piece.columns[1].offsets[0], 16u << 20);
  }
  EXPECT_GT(sizes.size(), 7u);
}

TEST_F(FlightPutTest, RowsAreWrittenAndCounted) {
  ASSERT_TRUE(
      Put({First(KeysAndValues({}, {})), Batch({1, 2}, {10, 20}), Batch({2, 3}, {21, 30})}).ok());
  ASSERT_FALSE(results.empty());
  EXPECT_EQ(results.back(), Totals(2, 4));
  EXPECT_EQ(ValuesAt({1, 2, 3}), (std::vector<uint64_t>{10, 21, 30}));
}

TEST_F(FlightPutTest, ObjectByPathAndASchemaOfItsOwn) {
  protocol::FlightData descriptor;
  descriptor.mutable_flight_descriptor()->set_type(protocol::FlightDescriptor::PATH);
  descriptor.mutable_flight_descriptor()->add_path("orders");
  protocol::FlightData metadata;
  metadata.set_app_metadata("anything");
  const protocol::FlightData schema = DataOf({.header = ArrowSchemaOf(KeysAndValues({}, {}))});
  ASSERT_TRUE(Put({descriptor, schema, metadata, Batch({}, {}), Batch({7}, {8})}).ok());
  EXPECT_EQ(results.back(), Totals(2, 1));
  EXPECT_EQ(ValuesAt({7}), std::vector<uint64_t>{8});
  ASSERT_TRUE(Put({descriptor, schema}).ok());
  EXPECT_TRUE(results.empty());
  ASSERT_TRUE(Put({descriptor}).ok());
  ASSERT_TRUE(Put({}).ok());
}

TEST_F(FlightPutTest, RefusedRowsAreToldExactly) {
  engine.RefuseKeys({2, 5});
  const grpc::Status status =
      Put({First(KeysAndValues({}, {})), Batch({1, 2, 3}, {1, 2, 3}), Batch({4, 5}, {4, 5})});
  ExpectRefusedPut(status, grpc::StatusCode::RESOURCE_EXHAUSTED, "no memory for some keys");
  ASSERT_FALSE(results.empty());
  // The second batch was under way, or not; its rows are counted or not written.
  const bool both = results.back() == Totals(2, 3, 2);
  EXPECT_TRUE(both || results.back() == Totals(1, 2, 1)) << results.back();
  EXPECT_THAT(status.error_message(), HasSubstr(both ? "; 3 rows were written, 2 were refused"
                                                     : "; 2 rows were written, 1 were refused"));
}

TEST_F(FlightPutTest, OverloadIsToldExactly) {
  grpc::ClientContext context;
  const auto stream = stub->DoPut(&context);
  ASSERT_TRUE(stream->Write(First(KeysAndValues({}, {}))));
  ASSERT_TRUE(stream->Write(Batch({1, 2}, {1, 2})));
  protocol::PutResult result;
  ASSERT_TRUE(stream->Read(&result));
  engine.RefuseWith(absl::ResourceExhaustedError("AEUs accept nothing"));
  ASSERT_TRUE(stream->Write(Batch({3, 4, 5}, {3, 4, 5})));
  ExpectRefusedPut(End(*stream), grpc::StatusCode::RESOURCE_EXHAUSTED,
                   "AEUs accept nothing; 2 rows were written, 3 were refused");
  EXPECT_EQ(results, std::vector<std::string>{Totals(2, 2, 3)});
}

// More results than gRPC keeps for a client that does not read.
TEST_F(FlightPutTest, ClientThatReadsNoResultIsNotHeldUp) {
  grpc::ClientContext context;
  const auto stream = stub->DoPut(&context);
  ASSERT_TRUE(stream->Write(First(KeysAndValues({}, {}))));
  constexpr uint64_t kBatches = 20'000;
  const protocol::FlightData batch = Batch({1}, {1});
  for (uint64_t i = 0; i < kBatches; ++i) ASSERT_TRUE(stream->Write(batch));
  EXPECT_TRUE(End(*stream).ok());
  EXPECT_EQ(results.back(), Totals(kBatches, kBatches));
}

TEST_F(FlightPutTest, DrainTellsWhatHasBeenWritten) {
  grpc::ClientContext context;
  const auto stream = stub->DoPut(&context);
  engine.Hold();
  ASSERT_TRUE(stream->Write(First(KeysAndValues({}, {}))));
  ASSERT_TRUE(stream->Write(Batch({1, 2}, {1, 2})));
  ASSERT_TRUE(engine.AwaitHeld(1));
  std::promise<void> empty;
  server->BeginDrain([&] { empty.set_value(); });
  engine.Release();
  protocol::PutResult result;
  while (stream->Read(&result)) results.push_back(result.app_metadata());
  ExpectRefusedPut(stream->Finish(), grpc::StatusCode::UNAVAILABLE, "; 2 rows were written");
  EXPECT_EQ(results, std::vector<std::string>{Totals(1, 2)});
  empty.get_future().wait();
}

TEST_F(FlightPutTest, ClientThatGoesAwayLeavesNothing) {
  engine.Hold();
  {
    grpc::ClientContext context;
    const auto stream = stub->DoPut(&context);
    ASSERT_TRUE(stream->Write(First(KeysAndValues({}, {}))));
    ASSERT_TRUE(stream->Write(Batch({1, 2}, {1, 2})));
    ASSERT_TRUE(engine.AwaitHeld(1));
    context.TryCancel();
    EXPECT_EQ(End(*stream).error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(engine.AwaitHeld(0));
  engine.Release();
}

class FlightPutLimitsTest : public FlightPutTest {
 protected:
  static ServerConfig Small() {
    ServerConfig config;
    config.in_flight_bytes_max = 1 << 20;
    config.call_ms_max = 100;
    config.stall_ms_max = 200;
    return config;
  }
  FlightPutLimitsTest() : FlightPutTest(Small()) {}
};

TEST_F(FlightPutLimitsTest, BatchWithoutRoomInTheBudgetIsRefused) {
  const std::vector<uint64_t> many(100'000);
  ExpectRefusedPut(Put({First(KeysAndValues({}, {})), Batch({1}, {1}), Batch(many, many)}),
                   grpc::StatusCode::INVALID_ARGUMENT, "; 1 rows were written");
  EXPECT_EQ(results.back(), Totals(1, 1));
}

TEST_F(FlightPutLimitsTest, BatchThatTakesTooLongHasAnUnknownOutcome) {
  engine.Hold();
  grpc::ClientContext context;
  const auto stream = stub->DoPut(&context);
  ASSERT_TRUE(stream->Write(First(KeysAndValues({}, {}))));
  ASSERT_TRUE(stream->Write(Batch({1, 2, 3}, {1, 2, 3})));
  ExpectRefusedPut(End(*stream), grpc::StatusCode::DEADLINE_EXCEEDED, "of 3 it is unknown");
  EXPECT_EQ(results, std::vector<std::string>{Totals(1, 0, 0, 3)});
  engine.Release();
}

// While it sends, it may leave its results unread for longer than server.stall_ms_max.
TEST_F(FlightPutLimitsTest, OnlyTheEndWaitsForAClientThatDoesNotRead) {
  using std::chrono::steady_clock;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // a window that does not grow
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto narrow = protocol::FlightService::NewStub(
      grpc::CreateCustomChannel(server->address(), grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  const auto stream = narrow->DoPut(&context);
  ASSERT_TRUE(stream->Write(First(KeysAndValues({}, {}))));
  const protocol::FlightData batch = Batch({1}, {1});
  const auto until = steady_clock::now() + 4 * std::chrono::milliseconds(config.stall_ms_max);
  for (int sent = 0; sent < 5'000 || steady_clock::now() < until; ++sent) {
    ASSERT_TRUE(stream->Write(batch));
  }
  stream->WritesDone();
  std::promise<void> gone;
  server->BeginDrain([&] { gone.set_value(); });
  gone.get_future().wait();  // it is cut: nothing else ends it before it is read
  protocol::PutResult result;
  while (stream->Read(&result)) {
  }
  ExpectRefusedPut(stream->Finish(), grpc::StatusCode::RESOURCE_EXHAUSTED, "stall_ms_max");
}

// Nothing is written, the client is told why, and the server goes on.
TEST_F(FlightPutTest, MessagesThatAreNoneAreRefused) {
  const std::vector<ArrowColumn> columns = KeysAndValues({}, {});
  const protocol::FlightData first = First(columns);
  protocol::FlightData no_descriptor = first;
  no_descriptor.clear_flight_descriptor();
  protocol::FlightData noise;
  noise.set_data_header(std::string(200, '\x7f'));
  protocol::FlightData dictionary;
  dictionary.set_data_header(test::ArrowDictionaryBatch());
  protocol::FlightData cut = Batch({1, 2}, {1, 2});
  cut.mutable_data_body()->resize(8);
  const protocol::FlightData compressed = DataOf(ArrowBatchOf(1, KeysAndValues({1}, {1}), true));
  ArrowColumn null = NumberColumn<uint64_t>("key", "uint64", {1});
  null.buffers[0] = std::string(1, '\0');
  null.nulls = 1;
  const protocol::FlightData with_null =
      DataOf(ArrowBatchOf(1, {NumberColumn<uint64_t>("value", "uint64", {1}), null}));
  const struct {
    std::vector<protocol::FlightData> messages;
    std::string said;
    grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT;
  } cases[] = {
      {{no_descriptor}, "the first message has no descriptor"},
      {{First(columns, "orders")}, "must be a JSON object"},
      {{First(columns, R"({"object": "nothing"})")}, "nothing", grpc::StatusCode::NOT_FOUND},
      {{First(columns, R"({"object": "orders", "limit": 3})")}, "DoPut takes an object alone"},
      {{First({columns[0]})}, "column \"key\" is missing"},
      {{First({columns[0], NumberColumn<int64_t>("key", "int64", {})})},
       "cast it, for example to pyarrow.uint64()"},
      {{first, noise}, "damaged, or none of Arrow's IPC format"},
      {{first, first}, "a second schema"},
      {{first, dictionary}, "a batch of a dictionary"},
      {{first, cut}, "its body has 8 bytes"},
      {{first, compressed}, "compressed"},
      {{first, with_null}, "row 0 is null"},
      {{first, DataOf(ArrowBatchOf(1 << 30, KeysAndValues({1}, {1})))}, "rows in 72 bytes"},
  };
  for (const auto& one : cases) {
    ExpectRefusedPut(Put(one.messages), one.code, one.said);
    EXPECT_TRUE(results.empty());
  }
  protocol::FlightData batch_first = First(columns);
  batch_first.set_data_header(ArrowBatchOf(0, columns).header);
  ExpectRefusedPut(Put({batch_first}), grpc::StatusCode::INVALID_ARGUMENT,
                   "a batch before the schema");
  ASSERT_TRUE(Put({first, Batch({1}, {1})}).ok());
}

class FlightExchangeTest : public FlightPutTest {
 protected:
  struct Answer {
    std::vector<bool> found{};
    std::vector<uint64_t> values{};  // of a column, those of keys without a row too
    int64_t nulls = 0;
  };
  // The answers to batches of keys, in the order in which they come.
  grpc::Status Exchange(const std::vector<std::vector<uint64_t>>& keys,
                        const std::string& command = R"({"object": "orders"})") {
    grpc::ClientContext context;
    const auto stream = stub->DoExchange(&context);
    const auto column = [](const std::vector<uint64_t>& some) {
      return std::vector<ArrowColumn>{NumberColumn("key", "uint64", some)};
    };
    stream->Write(First(column({}), command));
    for (const auto& some : keys) {
      stream->Write(DataOf(ArrowBatchOf(static_cast<int64_t>(some.size()), column(some))));
    }
    stream->WritesDone();
    protocol::FlightData answer;
    answers.clear();
    for (bool schema = true; stream->Read(&answer); schema = false) {
      const ipc::Message& message = *ipc::GetMessage(answer.data_header().data());
      EXPECT_EQ(message.header_as_Schema() != nullptr, schema);
      if (!schema) answers.push_back(Read(*message.header_as_RecordBatch(), answer.data_body()));
    }
    return stream->Finish();
  }
  static Answer Read(const ipc::RecordBatch& batch, const std::string& body) {
    Answer answer{.nulls = batch.nodes()->Get(1)->null_count()};
    const auto rows = static_cast<size_t>(batch.length());
    for (size_t i = 0; i < rows; ++i) {
      const char byte = body[static_cast<size_t>(batch.buffers()->Get(1)->offset()) + i / 8];
      answer.found.push_back((byte >> (i & 7) & 1) != 0);
    }
    answer.values.resize(rows);
    if (rows == 0) return answer;
    std::memcpy(answer.values.data(), body.data() + batch.buffers()->Get(3)->offset(),
                rows * sizeof(uint64_t));
    return answer;
  }
  std::vector<Answer> answers;
};

TEST_F(FlightExchangeTest, KeysAreAnsweredInOrder) {
  Load(100);
  ASSERT_TRUE(Exchange({{20, 21, 0}, {}, {990}}).ok());
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].found, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(answers[0].values[0], 21u);
  EXPECT_EQ(answers[0].values[2], 1u);
  EXPECT_EQ(answers[0].nulls, 1);
  EXPECT_TRUE(answers[1].found.empty());
  EXPECT_EQ(answers[2].values, std::vector<uint64_t>{991});
  EXPECT_EQ(answers[2].nulls, 0);
}

TEST_F(FlightExchangeTest, ColumnsAreThoseAskedFor) {
  Load(10);
  ASSERT_TRUE(Exchange({{50}}, R"({"object": "orders", "columns": ["key", "value"]})").ok());
  EXPECT_EQ(answers[0].values, std::vector<uint64_t>{50});
  const auto refusal = [&](const std::string& command, const std::string& said,
                           grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT) {
    ExpectRefusedPut(Exchange({{1}}, command), code, said);
    EXPECT_TRUE(answers.empty());
  };
  refusal(R"({"object": "orders", "columns": ["price"]})", "\"price\" is none of the object");
  refusal(R"({"object": "orders", "limit": 1})", "nothing else");
  refusal(R"({"object": "nothing"})", "nothing", grpc::StatusCode::NOT_FOUND);
}

// The answers before it come, and none after it.
TEST_F(FlightExchangeTest, FailureEndsTheStreamInItsPlace) {
  Load(10);
  grpc::ClientContext context;
  const auto stream = stub->DoExchange(&context);
  const std::vector<ArrowColumn> keys = {NumberColumn<uint64_t>("key", "uint64", {10})};
  ASSERT_TRUE(stream->Write(First(keys)));
  ASSERT_TRUE(stream->Write(DataOf(ArrowBatchOf(1, keys))));
  protocol::FlightData answer;
  ASSERT_TRUE(stream->Read(&answer));
  ASSERT_TRUE(stream->Read(&answer));
  engine.RefuseWith(absl::ResourceExhaustedError("AEUs accept nothing"));
  ASSERT_TRUE(stream->Write(DataOf(ArrowBatchOf(1, keys))));
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&answer));
  ExpectRefusedPut(stream->Finish(), grpc::StatusCode::RESOURCE_EXHAUSTED, "AEUs accept nothing");
}

}  // namespace
}  // namespace eris::server
