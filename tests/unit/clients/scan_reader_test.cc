#include "clients/scan_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eris/key_encoding.h"
#include "tests/unit/clients/fake_data_server.h"

namespace eris::client {
namespace {

// Has the keys 0 .. 9, one row a chunk; the token is the next key in digits. Breaks each stream
// after `chunks_a_stream` chunks.
class TenKeys : public v1::Data::Service {
 public:
  grpc::Status Scan(grpc::ServerContext*, const v1::ScanRequest* request,
                    grpc::ServerWriter<v1::ScanResponse>* writer) override {
    ++streams;
    const bool resumed = !request->resume_token().empty();
    if (resumed && (request->has_range() || request->limit() != 0 || request->keys_only() ||
                    request->has_values() || request->direction() != 0)) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "a token comes alone"};
    }
    uint64_t key = resumed ? std::stoull(request->resume_token()) : request->range().lo();
    for (int chunk = 0; key < 10; ++chunk, ++key) {
      if (chunk == chunks_a_stream) return {end, "broken"};
      v1::ScanResponse response;
      ToColumn(std::vector<uint64_t>{key}, *response.mutable_keys());
      if (!resumed) keys_only_ = request->keys_only();
      if (!keys_only_) {
        ToColumn(std::vector<uint64_t>{key * 2}, *response.mutable_values());
      }
      if (key < 9) response.set_resume_token(std::to_string(key + 1));
      response.set_new_snapshot(resumed && chunk == 0);
      writer->Write(response);
    }
    return grpc::Status::OK;
  }

  int chunks_a_stream = 100;
  grpc::StatusCode end = grpc::StatusCode::UNAVAILABLE;
  int streams = 0;

 private:
  bool keys_only_ = false;  // a real server has it in the token
};

struct Seen {
  std::vector<uint64_t> keys;
  std::vector<uint64_t> new_snapshots;  // first keys of the chunks that say so
  absl::Status status;
};

Seen ScanFrom(Client& client, uint64_t lo) {
  Seen seen;
  ScanRows rows;
  const auto reader = client.Scan("o", {lo, std::nullopt});
  for (;;) {
    const absl::StatusOr<bool> more = reader->Next(rows);
    seen.status = more.status();
    if (!more.ok() || !*more) return seen;
    for (size_t i = 0; i < rows.keys.size(); ++i) {
      EXPECT_EQ(rows.values[i], rows.keys[i] * 2);
      seen.keys.push_back(rows.keys[i]);
    }
    if (rows.new_snapshot) seen.new_snapshots.push_back(rows.keys[0]);
  }
}

TEST(ScanReaderTest, RowsComeInOrderToTheEnd) {
  TenKeys service;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  const Seen seen = ScanFrom(*client, 7);
  EXPECT_TRUE(seen.status.ok()) << seen.status;
  EXPECT_EQ(seen.keys, (std::vector<uint64_t>{7, 8, 9}));
  EXPECT_EQ(service.streams, 1);
}

TEST(ScanReaderTest, BrokenStreamIsResumedBehindTheLastChunkAndSaysSo) {
  TenKeys service;
  service.chunks_a_stream = 4;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  const Seen seen = ScanFrom(*client, 0);
  EXPECT_TRUE(seen.status.ok()) << seen.status;
  EXPECT_EQ(seen.keys, (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(seen.new_snapshots, (std::vector<uint64_t>{4, 8}));
  EXPECT_EQ(service.streams, 3);
}

TEST(ScanReaderTest, StreamThatTheServerHasCutForItsReadersPauseIsAnError) {
  TenKeys service;
  service.chunks_a_stream = 4;
  service.end = grpc::StatusCode::RESOURCE_EXHAUSTED;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  const Seen seen = ScanFrom(*client, 0);
  EXPECT_EQ(seen.status, absl::ResourceExhaustedError("broken"));
  EXPECT_EQ(seen.keys, (std::vector<uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(service.streams, 1);
}

TEST(ScanReaderTest, OptionsGoOutOnceAndATokenComesAlone) {
  TenKeys service;
  service.chunks_a_stream = 4;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  const auto reader = client->ScanWith("o", {.limit = 100,
                                             .direction = ScanDirection::kBackward,
                                             .values = ValueRange{0, 100},
                                             .keys_only = true});
  ScanRows rows;
  uint64_t next = 0;
  for (auto more = reader->Next(rows);; more = reader->Next(rows)) {
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) break;
    EXPECT_EQ(rows.keys, std::vector<uint64_t>{next++});
    EXPECT_TRUE(rows.values.empty());
  }
  EXPECT_EQ(next, 10u);
  EXPECT_EQ(service.streams, 3);
}

TEST(ScanReaderTest, StreamThatBreaksWithoutProgressIsAnError) {
  TenKeys service;
  service.chunks_a_stream = 0;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  const Seen seen = ScanFrom(*client, 0);
  EXPECT_TRUE(absl::IsUnavailable(seen.status)) << seen.status;
  EXPECT_EQ(service.streams, 1);
}

// Answers one row with as many columns of keys, and of which lengths, as a test says; remembers the
// request.
class OneChunk : public v1::Data::Service {
 public:
  grpc::Status Scan(grpc::ServerContext*, const v1::ScanRequest* request,
                    grpc::ServerWriter<v1::ScanResponse>* writer) override {
    asked = *request;
    writer->Write(answer);
    return grpc::Status::OK;
  }
  grpc::Status Aggregate(grpc::ServerContext*, const v1::AggregateRequest* request,
                         v1::AggregateResponse* response) override {
    *asked.mutable_range() = request->range();
    *response = sums;
    return grpc::Status::OK;
  }

  v1::ScanRequest asked;
  v1::ScanResponse answer;
  v1::AggregateResponse sums;
};

constexpr KeyTypes kVisits{ColumnType::kUint64, ColumnType::kDate};

TEST(ScanReaderTest, KeysOfTwoPartsComeInTwoColumns) {
  OneChunk service;
  ToColumn(std::vector<uint64_t>{7, 7}, *service.answer.mutable_keys());
  ToColumn(std::vector<uint64_t>{1, 2}, *service.answer.mutable_values());
  const std::vector<uint64_t> days = {KeyFromDate(-1), KeyFromDate(5)};
  ASSERT_TRUE(
      ToKeyColumn("keys", ColumnType::kDate, days, *service.answer.mutable_second_keys()).ok());
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  ScanRows rows;
  auto more = client->Scan("o", {7, 8, KeyFromDate(-3), KeyFromDate(9)}, 0, kVisits)->Next(rows);
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(rows.keys, (std::vector<uint64_t>{7, 7}));
  EXPECT_EQ(rows.second_keys, days);
  EXPECT_EQ(service.asked.range().start().u64(), 7u);
  EXPECT_EQ(service.asked.range().start_second().date32(), -3);
  EXPECT_EQ(service.asked.range().end().u64(), 8u);
  EXPECT_EQ(service.asked.range().end_second().date32(), 9);

  service.answer.mutable_second_keys()->mutable_data()->resize(4);
  more = client->Scan("o", {}, 0, kVisits)->Next(rows);
  EXPECT_EQ(more.status(), absl::InternalError("the server sent 2 first and 1 second parts of keys "
                                               "in one scan chunk"));
  service.answer.clear_second_keys();
  more = client->Scan("o", {}, 0, kVisits)->Next(rows);
  EXPECT_EQ(more.status(),
            absl::InvalidArgumentError("keys of the object have one part, key_type has two"));
  *service.answer.mutable_second_keys() = service.answer.keys();
  more = client->Scan("o", {})->Next(rows);
  EXPECT_EQ(more.status(),
            absl::InvalidArgumentError("keys of the object have two parts, key_type has one"));
}

TEST(ScanReaderTest, AggregateHasBothPartsOfItsEnds) {
  OneChunk service;
  service.sums.set_count(2);
  service.sums.set_min(1);
  service.sums.mutable_first_key()->set_u64(7);
  service.sums.mutable_last_key()->set_u64(8);
  service.sums.mutable_first_second()->set_date32(-1);
  service.sums.mutable_last_second()->set_date32(1);
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  const auto rows = client->Aggregate("o", {.range = {7, std::nullopt, KeyFromDate(0)}}, kVisits);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->first_key, 7u);
  EXPECT_EQ(rows->first_second, KeyFromDate(-1));
  EXPECT_EQ(rows->last_second, KeyFromDate(1));
  EXPECT_EQ(service.asked.range().start_second().date32(), 0);
}

TEST(ScanReaderTest, BoundsBelowAndAboveAllKeysOfAPartAreTheEndsOfIt) {
  constexpr KeyTypes kFloats{ColumnType::kFloat64, ColumnType::kFloat64};
  const uint64_t lowest = LowestKey(ColumnType::kFloat64);
  const uint64_t highest = HighestKey(ColumnType::kFloat64);
  OneChunk service;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  const auto sent = [&](const KeyRange& range) {
    ScanRows rows;
    client->Scan("o", range, 0, kFloats)->Next(rows).IgnoreError();
    return service.asked.range();
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

TEST(ScanReaderTest, BoundsThatAreNoKeysOfTheirTypeAreRefusedUnsent) {
  constexpr uint64_t kBeyondDates = uint64_t{1} << 32;
  OneChunk service;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  const auto refused = [&](const KeyTypes& types, const KeyRange& range, const std::string& text) {
    ScanRows rows;
    const auto reader = client->Scan("o", range, 0, types);
    const auto more = reader->Next(rows);
    EXPECT_EQ(more.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(more.status().message()).find(text), std::string::npos) << more.status();
    EXPECT_FALSE(*reader->Next(rows));  // the scan has ended
    EXPECT_EQ(client->Aggregate("o", {.range = range}, types).status(), more.status());
    EXPECT_EQ(client->ScanWith("o", {.range = range}, types)->Next(rows).status(), more.status());
  };
  refused(ColumnType::kDate, {kBeyondDates, std::nullopt},
          "range.lo is 4294967296, no key of type date");
  refused(ColumnType::kFloat64, {0, 1}, "range.hi is 1, no key of type f64");
  refused(kVisits, {0, std::nullopt, kBeyondDates},
          "range.lo_second is 4294967296, no key of type");
  refused(kVisits, {0, std::nullopt, 0, 5}, "range without hi: hi_second is 5, must be 0");
  refused({}, {0, 1, 0, 1},
          "range has second parts (lo_second 0, hi_second 1), its keys have one part");
  EXPECT_FALSE(service.asked.has_range());
  EXPECT_EQ(client->Create("o", {.split_points = {5, kBeyondDates}, .key_type = ColumnType::kDate})
                .status()
                .message(),
            "split_points[1] is 4294967296, no key of type date: encoded they are 0 to 4294967295");
}

TEST(ScanReaderTest, DestroyingTheReaderInTheMiddleCancelsTheScan) {
  TenKeys service;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  ScanRows rows;
  const auto reader = client->Scan("o", {});
  const absl::StatusOr<bool> more = reader->Next(rows);
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(rows.keys, std::vector<uint64_t>{0});
}

TEST(ClientTest, NobodyListeningIsUnavailableAfterTheTimeout) {
  const auto client =
      Client::Connect({.server = "127.0.0.1:1", .timeout = absl::Milliseconds(100)});
  EXPECT_TRUE(absl::IsUnavailable(client.status())) << client.status();
}

}  // namespace
}  // namespace eris::client
