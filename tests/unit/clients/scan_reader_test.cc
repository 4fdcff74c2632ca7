#include "clients/scan_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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
      if (chunk == chunks_a_stream) return {grpc::StatusCode::UNAVAILABLE, "broken"};
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
