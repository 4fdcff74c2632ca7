// A scan's reader over a channel to a service that does what a test says: time limits, broken
// streams, limits of rows.
#include "clients/table_scan_reader.h"

#include <chrono>
#include <string>
#include <vector>

#include "clients/table_client.h"
#include "eris/v1/table.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/clients/fake_data_server.h"

namespace eris::client {
namespace {

using ::testing::HasSubstr;

// Has the rows 0 .. 9, one a message; the token is the next one in digits.
class TenRows : public v1::Tables::Service {
 public:
  grpc::Status ScanTable(grpc::ServerContext* context, const v1::ScanTableRequest* request,
                         grpc::ServerWriter<v1::ScanTableResponse>* writer) override {
    ++streams;
    has_deadline = context->deadline() != std::chrono::system_clock::time_point::max();
    snapshots.push_back(request->snapshot());
    int32_t row = request->resume_token().empty() ? 0 : std::stoi(request->resume_token());
    for (int message = 0; row < 10; ++message, ++row) {
      if (message == messages_a_stream) {
        if (!silent) return {end, "broken"};
        while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
        return grpc::Status::CANCELLED;
      }
      v1::ScanTableResponse response;
      if (message == 0) {
        v1::TableColumn* const column = response.mutable_schema()->add_columns();
        column->set_name("a");
        column->set_type(v1::COLUMN_TYPE_INT32);
      }
      response.mutable_rows()->set_rows(1);
      v1::Column* const column = response.mutable_rows()->add_columns();
      column->set_type(v1::COLUMN_TYPE_INT32);
      column->set_data(&row, sizeof(row));
      if (tokens) response.set_resume_token(std::to_string(row + 1));
      if (!writer->Write(response)) break;
    }
    return grpc::Status::OK;
  }

  int messages_a_stream = 100;
  bool silent = false;  // after them, instead of an end
  grpc::StatusCode end = grpc::StatusCode::UNAVAILABLE;
  bool tokens = true;
  int streams = 0;
  bool has_deadline = false;
  std::vector<uint64_t> snapshots;
};

struct Seen {
  std::vector<int32_t> rows;
  absl::Status status;
};

Seen ReadAll(TableScanReader& reader) {
  Seen seen;
  OwnedRows rows;
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next(rows);
    seen.status = more.status();
    if (!more.ok() || !*more) return seen;
    for (uint64_t i = 0; i < rows.rows; ++i) seen.rows.push_back(rows.Get<int32_t>(0, i));
  }
}

class TableScanReaderTest : public ::testing::Test {
 protected:
  Seen Scan(const Query& query = {}, absl::Duration timeout = absl::Seconds(30),
            uint64_t snapshot = 0) {
    const FakeDataServer server(service_);
    const auto client = server.Connect(timeout);
    if (client == nullptr) return {.rows = {}, .status = absl::UnavailableError("no server")};
    return ReadAll(*TableClient(*client).Scan("t", query, snapshot));
  }
  const std::vector<int32_t> all_ = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  TenRows service_;
};

TEST_F(TableScanReaderTest, StreamHasNoDeadlineAsAWhole) {
  const Seen seen = Scan();
  EXPECT_TRUE(seen.status.ok()) << seen.status;
  EXPECT_EQ(seen.rows, all_);
  EXPECT_EQ(service_.streams, 1);
  EXPECT_FALSE(service_.has_deadline);
}

TEST_F(TableScanReaderTest, MessageThatDoesNotComeEndsTheScan) {
  service_.messages_a_stream = 3;
  service_.silent = true;
  service_.tokens = false;
  const Seen seen = Scan({}, absl::Milliseconds(100));
  EXPECT_EQ(seen.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(seen.status.message()), HasSubstr("no message for 100ms"));
  EXPECT_EQ(seen.rows, (std::vector<int32_t>{0, 1, 2}));
}

TEST_F(TableScanReaderTest, StreamThatGetsSilentOrBreaksIsResumedBehindItsLastRow) {
  for (const bool silent : {false, true}) {
    service_.streams = 0;
    service_.snapshots.clear();
    service_.messages_a_stream = 4;
    service_.silent = silent;
    const Seen seen = Scan({}, silent ? absl::Milliseconds(200) : absl::Seconds(30), 7);
    EXPECT_TRUE(seen.status.ok()) << seen.status;
    EXPECT_EQ(seen.rows, all_);
    EXPECT_EQ(service_.streams, 3);
    EXPECT_EQ(service_.snapshots, (std::vector<uint64_t>{7, 0, 0}));  // the token knows it
  }
}

TEST_F(TableScanReaderTest, StreamThatTheServerHasCutForItsReadersPauseIsResumed) {
  service_.messages_a_stream = 4;
  service_.end = grpc::StatusCode::RESOURCE_EXHAUSTED;
  const Seen seen = Scan();
  EXPECT_TRUE(seen.status.ok()) << seen.status;
  EXPECT_EQ(seen.rows, all_);
}

TEST_F(TableScanReaderTest, StreamThatEndsForAnotherReasonIsNotResumed) {
  service_.messages_a_stream = 4;
  service_.end = grpc::StatusCode::ABORTED;
  const Seen seen = Scan();
  EXPECT_EQ(seen.status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(service_.streams, 1);
}

TEST_F(TableScanReaderTest, StreamWithoutProgressIsNotOpenedAgain) {
  service_.messages_a_stream = 0;
  for (const auto end : {grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::RESOURCE_EXHAUSTED}) {
    service_.streams = 0;
    service_.end = end;
    const Seen seen = Scan();
    EXPECT_EQ(static_cast<int>(seen.status.code()), static_cast<int>(end));
    EXPECT_EQ(service_.streams, 1);
  }
}

TEST_F(TableScanReaderTest, LimitEndsTheStream) {
  const Seen seen = Scan({.limit = 4});
  EXPECT_TRUE(seen.status.ok()) << seen.status;
  EXPECT_EQ(seen.rows, (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST_F(TableScanReaderTest, ReaderThatIsLeftCancelsItsStream) {
  service_.messages_a_stream = 3;
  service_.silent = true;
  const FakeDataServer server(service_);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  {
    const auto reader = TableClient(*client).Scan("t", {});
    OwnedRows rows;
    EXPECT_TRUE(*reader->Next(rows));
  }
  EXPECT_EQ(service_.streams, 1);
}

}  // namespace
}  // namespace eris::client
