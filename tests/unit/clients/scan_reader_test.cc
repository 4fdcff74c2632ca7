// Scans of indexes and tables over a channel to a service that does what a test says: time limits,
// broken streams, limits of rows; and the bounds of ranges that requests carry.
#include "clients/scan_reader.h"

#include <chrono>
#include <string>
#include <vector>

#include "eris/errors.h"
#include "eris/key_encoding.h"
#include "eris/v1/error.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/clients/fake_data_server.h"
#include "tests/unit/clients/test_objects.h"

namespace eris::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Has the keys 0 .. 9 with twice of them as values, one a message; the token is the next key in
// digits. Each stream ends after `messages_a_stream` messages as a test says.
class TenRows : public v1::Data::Service {
 public:
  grpc::Status Scan(grpc::ServerContext* context, const v1::ScanRequest* request,
                    grpc::ServerWriter<v1::ScanResponse>* writer) override {
    requests.push_back(*request);
    if (refusals > 0) {
      --refusals;
      return TryAgain();
    }
    has_deadline = context->deadline() != std::chrono::system_clock::time_point::max();
    const bool resumed = !request->resume_token().empty();
    uint64_t key = resumed ? std::stoull(request->resume_token()) : 0;
    for (int message = 0; key < 10; ++message, ++key) {
      if (message == messages_a_stream) {
        if (!silent) return {end, "broken"};
        while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
        return grpc::Status::CANCELLED;
      }
      v1::ScanResponse response;
      for (const char* name : {"key", "value"}) {
        if (message > 0) break;
        v1::ColumnSchema& column = *response.mutable_schema()->add_columns();
        column.set_name(name);
        column.set_type(v1::COLUMN_TYPE_UINT64);
      }
      response.set_rows(1);
      *response.add_columns() = ColumnOfNumbers({key});
      *response.add_columns() = ColumnOfNumbers({key * 2});
      if (tokens && key < 9) response.set_resume_token(std::to_string(key + 1));
      response.set_new_snapshot(of_index && resumed && message == 0);
      if (!writer->Write(response)) break;
    }
    return grpc::Status::OK;
  }

  // What an overloaded server answers.
  static grpc::Status TryAgain() {
    v1::RetryInfo retry;
    retry.mutable_retry_delay()->set_nanos(1'000'000);
    v1::RequestStatus message;
    google::protobuf::Any* any = message.add_details();
    any->set_type_url("type.googleapis.com/google.rpc.RetryInfo");
    any->set_value(retry.SerializeAsString());
    v1::ErrorInfo info;
    info.set_reason("SCAN_CHUNKS");
    any = message.add_details();
    any->set_type_url("type.googleapis.com/google.rpc.ErrorInfo");
    any->set_value(info.SerializeAsString());
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "full", message.SerializeAsString()};
  }

  int refusals = 0;  // of the next streams
  bool of_index = true;
  int messages_a_stream = 100;
  bool silent = false;  // after them, instead of an end
  grpc::StatusCode end = grpc::StatusCode::UNAVAILABLE;
  bool tokens = true;
  bool has_deadline = false;
  std::vector<v1::ScanRequest> requests;  // one a stream
};

struct Seen {
  std::vector<uint64_t> keys{};
  std::vector<uint64_t> new_snapshots{};  // keys of the chunks that are of one
  uint32_t resumed = 0;
  absl::Status status{};
};

Seen ReadAll(ScanReader& reader) {
  Seen seen;
  OwnedRows rows;
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next(rows);
    seen.resumed = reader.resumed();
    seen.status = more.status();
    if (!more.ok() || !*more) return seen;
    EXPECT_EQ(reader.schema().columns.size(), 2u);
    for (uint64_t i = 0; i < rows.rows; ++i) {
      seen.keys.push_back(rows.Uint64s(0)[i]);
      EXPECT_EQ(rows.Uint64s(1)[i], rows.Uint64s(0)[i] * 2);
    }
    if (reader.new_snapshot()) seen.new_snapshots.push_back(rows.Uint64s(0)[0]);
  }
}

class ScanReaderTest : public ::testing::TestWithParam<ObjectKind> {
 protected:
  ScanReaderTest() { service_.of_index = GetParam() == ObjectKind::kIndex; }
  ObjectInfo object() const {
    return {.name = "o", .kind = GetParam(), .schema = KeyValueSchema()};
  }
  Seen Scan(const Query& query = {}, absl::Duration timeout = absl::Seconds(30),
            uint64_t snapshot = 0) {
    service_.requests.clear();
    const FakeDataServer server(service_);
    const auto client = server.Connect();
    if (client == nullptr) return {.status = absl::UnavailableError("no server")};
    return ReadAll(*client->WithTimeout(timeout)->Scan(object(), query, snapshot));
  }
  // For streams that become silent: a time limit that only the missing message exceeds. On a busy
  // machine another message may be late, too: then doubles the limit and tries again. Returns it.
  absl::Duration ScanSilent(uint64_t snapshot, uint64_t keys, uint32_t streams, Seen& seen) {
    service_.silent = true;
    for (absl::Duration timeout = absl::Milliseconds(50);; timeout *= 2) {
      seen = Scan({}, timeout, snapshot);
      const bool in_time = seen.keys.size() == keys && service_.requests.size() == streams;
      if (in_time || timeout > absl::Seconds(10)) return timeout;
    }
  }
  const std::vector<uint64_t> all_ = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  TenRows service_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, ScanReaderTest,
                         ::testing::Values(ObjectKind::kIndex, ObjectKind::kTable,
                                           ObjectKind::kHeapTable),
                         [](const auto& one) {
                           return one.param == ObjectKind::kIndex   ? "Index"
                                  : one.param == ObjectKind::kTable ? "Table"
                                                                    : "HeapTable";
                         });

TEST_P(ScanReaderTest, StreamIsReadToItsEndAndHasNoDeadlineAsAWhole) {
  const Seen seen = Scan();
  EXPECT_TRUE(seen.status.ok()) << seen.status;
  EXPECT_EQ(seen.keys, all_);
  EXPECT_TRUE(seen.new_snapshots.empty());
  EXPECT_EQ(service_.requests.size(), 1u);
  EXPECT_FALSE(service_.has_deadline);
}

TEST_P(ScanReaderTest, MessageThatDoesNotComeEndsTheScan) {
  service_.messages_a_stream = 3;
  service_.tokens = false;
  Seen seen;
  const absl::Duration timeout = ScanSilent(/*snapshot=*/0, /*keys=*/3, /*streams=*/1, seen);
  EXPECT_EQ(seen.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(seen.status.message()),
              HasSubstr("no message for " + absl::FormatDuration(timeout)));
  EXPECT_THAT(seen.keys, ElementsAre(0, 1, 2));
}

TEST_P(ScanReaderTest, StreamThatGetsSilentOrBreaksIsResumedBehindItsLastRow) {
  for (const bool silent : {false, true}) {
    service_.messages_a_stream = 4;
    Seen seen;
    if (silent) {
      ScanSilent(/*snapshot=*/7, all_.size(), /*streams=*/3, seen);
    } else {
      seen = Scan({}, absl::Seconds(30), 7);
    }
    EXPECT_TRUE(seen.status.ok()) << seen.status;
    EXPECT_EQ(seen.keys, all_);
    EXPECT_EQ(seen.resumed, 2u);
    // Rows of an index are of a newer snapshot from there on.
    EXPECT_EQ(seen.new_snapshots,
              service_.of_index ? (std::vector<uint64_t>{4, 8}) : std::vector<uint64_t>{});
    ASSERT_EQ(service_.requests.size(), 3u);
    EXPECT_EQ(service_.requests[0].snapshot(), 7u);
    EXPECT_EQ(service_.requests[1].snapshot(), 0u);  // the token knows it
    EXPECT_EQ(service_.requests[2].resume_token(), "8");
  }
}

TEST_P(ScanReaderTest, StreamThatTheServerHasCutIsResumedOnlyOnTheSameSnapshot) {
  service_.messages_a_stream = 4;
  service_.end = grpc::StatusCode::RESOURCE_EXHAUSTED;
  const Seen seen = Scan();
  EXPECT_EQ(seen.status,
            service_.of_index ? absl::ResourceExhaustedError("broken") : absl::OkStatus());
  EXPECT_EQ(seen.keys, service_.of_index ? (std::vector<uint64_t>{0, 1, 2, 3}) : all_);
}

TEST_P(ScanReaderTest, StreamThatEndsForAnotherReasonIsNotResumed) {
  service_.messages_a_stream = 4;
  service_.end = grpc::StatusCode::ABORTED;
  EXPECT_EQ(Scan().status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(service_.requests.size(), 1u);
}

TEST_P(ScanReaderTest, StreamWithoutProgressIsNotOpenedAgain) {
  service_.messages_a_stream = 0;
  for (const auto end : {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::RESOURCE_EXHAUSTED}) {
    service_.end = end;
    EXPECT_EQ(static_cast<int>(Scan().status.code()), static_cast<int>(end));
    EXPECT_EQ(service_.requests.size(), 1u);
  }
}

TEST_P(ScanReaderTest, StreamThatIsRefusedIsOpenedAgainWhenTheServerSays) {
  service_.refusals = 3;
  const Seen seen = Scan();
  EXPECT_TRUE(seen.status.ok()) << seen.status;
  EXPECT_EQ(seen.keys, all_);
  EXPECT_EQ(service_.requests.size(), 4u);
  EXPECT_EQ(seen.resumed, 0u);
  service_.refusals = 100;
  const Seen refused = Scan();
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrorDetailsOf(refused.status).reason, "SCAN_CHUNKS");
  EXPECT_EQ(service_.requests.size(), 6u);
}

TEST_P(ScanReaderTest, LimitEndsTheStreamAndIsWhatIsStillWantedInTheNext) {
  EXPECT_THAT(Scan({.limit = 4}).keys, ElementsAre(0, 1, 2, 3));
  service_.messages_a_stream = 4;
  Query query{
      .columns = {{expressions::Column("key"), "key"}, {expressions::Column("value"), "value"}},
      .limit = 6};
  if (service_.of_index) {
    query.range = {1, 20};
    query.direction = ScanDirection::kBackward;
    query.values = ValueRange{0, 100};
  }
  const Seen seen = Scan(query);
  EXPECT_TRUE(seen.status.ok()) << seen.status;
  EXPECT_THAT(seen.keys, ElementsAre(0, 1, 2, 3, 4, 5));
  ASSERT_EQ(service_.requests.size(), 2u);
  v1::ScanRequest first = service_.requests[0];
  EXPECT_EQ(first.query().columns_size(), 2);
  EXPECT_EQ(first.query().range().hi(), service_.of_index ? 20u : 0u);
  EXPECT_EQ(first.query().direction() == v1::SCAN_DIRECTION_BACKWARD, service_.of_index);
  EXPECT_EQ(first.query().values().last(), service_.of_index ? 100u : 0u);
  first.mutable_query()->set_limit(2);
  first.set_resume_token("4");
  EXPECT_EQ(service_.requests[1].SerializeAsString(), first.SerializeAsString());
}

TEST_P(ScanReaderTest, ReaderThatIsLeftCancelsItsStreamAndAnotherGoesOnWithItsToken) {
  service_.messages_a_stream = 3;
  service_.silent = true;
  const FakeDataServer server(service_);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  OwnedRows rows;
  std::string token;
  {
    const auto reader = client->Scan(object(), {});
    EXPECT_TRUE(*reader->Next(rows));
    EXPECT_TRUE(*reader->Next(rows));
    token = reader->resume_token();
  }
  EXPECT_EQ(service_.requests.size(), 1u);
  EXPECT_TRUE(*client->Scan(object(), {.resume = token})->Next(rows));
  EXPECT_EQ(rows.Uint64s(0)[0], 2u);
}

// Answers what a test says; remembers the request.
class OneAnswer : public v1::Data::Service {
 public:
  grpc::Status Scan(grpc::ServerContext*, const v1::ScanRequest* request,
                    grpc::ServerWriter<v1::ScanResponse>* writer) override {
    asked = request->query().range();
    writer->Write(answer);
    return grpc::Status::OK;
  }
  grpc::Status Aggregate(grpc::ServerContext*, const v1::AggregateRequest* request,
                         v1::AggregateResponse* response) override {
    asked = request->range();
    *response = sums;
    return grpc::Status::OK;
  }

  v1::KeyRange asked;
  v1::ScanResponse answer;
  v1::AggregateResponse sums;
};

const ObjectInfo kVisits = IndexOf({ColumnType::kUint64, ColumnType::kDate});

class RangesTest : public ::testing::Test {
 protected:
  absl::StatusOr<bool> Next(const ObjectInfo& object, const KeyRange& range = {}) {
    return client_->Scan(object, {.range = range})->Next(rows_);
  }
  OneAnswer service_;
  const FakeDataServer server_{service_};
  const std::unique_ptr<Client> client_ = server_.Connect();
  OwnedRows rows_;
};

TEST_F(RangesTest, KeysOfTwoPartsComeInTwoColumns) {
  for (const auto& [name, type] : {std::pair("key", v1::COLUMN_TYPE_UINT64),
                                   std::pair("second_key", v1::COLUMN_TYPE_DATE32)}) {
    v1::ColumnSchema& column = *service_.answer.mutable_schema()->add_columns();
    column.set_name(name);
    column.set_type(type);
  }
  service_.answer.set_rows(2);
  *service_.answer.add_columns() = ColumnOfNumbers({7, 7});
  v1::Column& days = *service_.answer.add_columns();
  days.set_type(v1::COLUMN_TYPE_DATE32);
  const int32_t numbers[] = {-1, 5};
  days.set_data(numbers, sizeof(numbers));
  auto more = Next(kVisits, {7, 8, KeyFromDate(-3), KeyFromDate(9)});
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_THAT(rows_.Uint64s(0), ElementsAre(7, 7));
  EXPECT_EQ(rows_.Get<int32_t>(1, 0), -1);
  EXPECT_EQ(rows_.Get<int32_t>(1, 1), 5);
  EXPECT_EQ(service_.asked.start().u64(), 7u);
  EXPECT_EQ(service_.asked.start_second().date32(), -3);
  EXPECT_EQ(service_.asked.end().u64(), 8u);
  EXPECT_EQ(service_.asked.end_second().date32(), 9);

  days.mutable_data()->resize(4);
  EXPECT_TRUE(absl::IsInternal(Next(kVisits).status()));
  service_.answer.mutable_columns()->RemoveLast();
  EXPECT_TRUE(absl::IsInternal(Next(kVisits).status()));
  service_.answer.clear_schema();
  EXPECT_TRUE(absl::IsInternal(Next(kVisits).status()));
}

TEST_F(RangesTest, AggregateHasBothPartsOfItsEnds) {
  service_.sums.set_count(2);
  service_.sums.set_min(1);
  service_.sums.mutable_first_key()->set_u64(7);
  service_.sums.mutable_last_key()->set_u64(8);
  service_.sums.mutable_first_second()->set_date32(-1);
  service_.sums.mutable_last_second()->set_date32(1);
  const auto rows = client_->Aggregate(kVisits, {.range = {7, std::nullopt, KeyFromDate(0)}});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->count, 2u);
  EXPECT_EQ(rows->first_key, 7u);
  EXPECT_EQ(rows->first_second, KeyFromDate(-1));
  EXPECT_EQ(rows->last_second, KeyFromDate(1));
  EXPECT_EQ(service_.asked.start_second().date32(), 0);
}

TEST_F(RangesTest, BoundsBelowAndAboveAllKeysOfAPartAreTheEndsOfIt) {
  const ObjectInfo floats = IndexOf({ColumnType::kFloat64, ColumnType::kFloat64});
  const uint64_t lowest = LowestKey(ColumnType::kFloat64);
  const uint64_t highest = HighestKey(ColumnType::kFloat64);
  const auto sent = [&](const KeyRange& range) {
    Next(floats, range).IgnoreError();
    return service_.asked;
  };
  // Below every first part, whatever the second: no bound.
  EXPECT_FALSE(sent({.lo = 0, .hi = std::nullopt, .lo_second = lowest + 5}).has_start());
  EXPECT_EQ(sent({.lo = lowest, .hi = std::nullopt, .lo_second = lowest + 5}).start().f64(),
            Float64FromKey(lowest));
  EXPECT_FALSE(
      sent({.lo = lowest + 7, .hi = std::nullopt, .lo_second = lowest}).has_start_second());
  // Beyond every second part: up to the next first one.
  const v1::KeyRange all = sent({.lo = 0, .hi = lowest + 7, .hi_second = highest + 1});
  EXPECT_EQ(all.end().f64(), Float64FromKey(lowest + 8));
  EXPECT_FALSE(all.has_end_second());
  EXPECT_FALSE(sent({.lo = 0, .hi = highest, .hi_second = highest + 1}).has_end());
  EXPECT_TRUE(sent({.lo = 0, .hi = highest, .hi_second = highest}).has_end_second());
}

TEST_F(RangesTest, BoundsThatAreNoKeysOfTheirTypeAreRefusedUnsent) {
  constexpr uint64_t kBeyondDates = uint64_t{1} << 32;
  const auto refused = [&](const ObjectInfo& object, const KeyRange& range,
                           const std::string& text) {
    const auto reader = client_->Scan(object, {.range = range});
    const auto more = reader->Next(rows_);
    EXPECT_EQ(more.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(more.status().message()), HasSubstr(text));
    EXPECT_FALSE(*reader->Next(rows_));  // the scan has ended
    EXPECT_EQ(client_->Aggregate(object, {.range = range}).status(), more.status());
  };
  refused(IndexOf(ColumnType::kDate), {kBeyondDates, std::nullopt},
          "range.lo is 4294967296, no key of type date");
  refused(IndexOf(ColumnType::kFloat64), {0, 1}, "range.hi is 1, no key of type float64");
  refused(kVisits, {0, std::nullopt, kBeyondDates},
          "range.lo_second is 4294967296, no key of type");
  refused(kVisits, {0, std::nullopt, 0, 5}, "range without hi: hi_second is 5, must be 0");
  refused(IndexOf({}), {0, 1, 0, 1},
          "range has second parts (lo_second 0, hi_second 1), its keys have one part");
  EXPECT_FALSE(service_.asked.has_start() || service_.asked.has_end());
  EXPECT_THAT(std::string(client_
                              ->Create("o", {.schema = KeyValueSchema(ColumnType::kDate),
                                             .split_points = {5, kBeyondDates}})
                              .status()
                              .message()),
              HasSubstr("split_points[1] is 4294967296, no key of type date: encoded they are 0 to "
                        "4294967295"));
}

TEST(ClientTest, NobodyListeningIsUnavailableAfterTheTimeout) {
  const auto client =
      Client::Connect({.server = "127.0.0.1:1", .timeout = absl::Milliseconds(100)});
  EXPECT_TRUE(absl::IsUnavailable(client.status())) << client.status();
}

}  // namespace
}  // namespace eris::client
