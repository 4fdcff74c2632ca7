// Tables over real gRPC in process, with a real engine behind: snapshots of streams that break
// while rows come and go, and rows that no message should have.
#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "clients/client_stubs.h"
#include "clients/expression_text.h"
#include "clients/row_messages.h"
#include "clients/table_client.h"
#include "eris/engine.h"
#include "eris/v1/table.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/rpc_server.h"
#include "tests/support/seed.h"
#include "tests/unit/server/io_thread.h"

namespace eris::server {
namespace {

using client::OwnedRows;

class TableEngineTest : public ::testing::Test {
 protected:
  TableEngineTest() {
    Options options;
    options.topology = "numa:1 core:2 pu:1";
    options.aeu_count = 2;
    options.memory_limit_bytes = uint64_t{1} << 30;
    engine_ = *Engine::Open(options);
    config_.listen = "127.0.0.1:0";
    server_ = *RpcServer::Start(config_, engine_.get(), io_thread_.io());
    client_ = *client::Client::Connect({.server = server_->address(), .own_connection = true});
    tables_ = std::make_unique<client::TableClient>(*client_);
    EXPECT_TRUE(
        tables_->Create("t", schema_, {.start = Value(int64_t{0}), .end = Value(int64_t{kRows})})
            .ok());
  }
  ~TableEngineTest() override { server_.reset(); }

  // key -> (key as text, null where odd).
  static OwnedRows Rows(int64_t from, int64_t to, const std::string& prefix = "") {
    OwnedRows rows;
    rows.rows = static_cast<uint64_t>(to - from);
    rows.columns.resize(2);
    uint32_t end = 0;
    rows.columns[1].offsets.append(reinterpret_cast<const char*>(&end), sizeof(end));
    rows.columns[1].validity.resize((rows.rows + 7) / 8);
    for (int64_t key = from; key < to; ++key) {
      rows.columns[0].values.append(reinterpret_cast<const char*>(&key), sizeof(key));
      const auto row = static_cast<size_t>(key - from);
      if (key % 2 == 0) {
        rows.columns[1].validity[row >> 3] |= static_cast<char>(1 << (row & 7));
        rows.columns[1].values += prefix + std::to_string(key);
      }
      end = static_cast<uint32_t>(rows.columns[1].values.size());
      rows.columns[1].offsets.append(reinterpret_cast<const char*>(&end), sizeof(end));
    }
    return rows;
  }
  void Write(OwnedRows rows) {
    const auto written = tables_->Write("t", schema_, rows);
    ASSERT_TRUE(written.ok()) << written.status();
  }
  uint64_t Count() {
    const auto reader = tables_->Scan("t", {.aggregates = *client::ParseAggregates("count(*)")});
    OwnedRows rows;
    const auto more = reader->Next(rows);
    EXPECT_TRUE(more.ok()) << more.status();
    return more.ok() && *more ? rows.Get<uint64_t>(0, 0) : 0;
  }

  static constexpr int64_t kRows = 300'000;
  const Schema schema_ = {
      .columns = {{.name = "key", .type = ColumnType::kInt64},
                  {.name = "text", .type = ColumnType::kString, .nullable = true}},
      .key = {0}};
  ServerConfig config_;
  IoThread io_thread_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<client::TableClient> tables_;
};

TEST_F(TableEngineTest, BrokenScanSeesItsMomentToTheEnd) {
  for (int64_t from = 0; from < kRows; from += 50'000) Write(Rows(from, from + 50'000));
  const uint64_t snapshot = *tables_->TakeSnapshot();
  auto& stub = *client_->stubs().tables;
  v1::ScanTableRequest request;
  request.set_table("t");
  std::set<int64_t> keys;
  int streams = 0;
  for (bool done = false; !done; ++streams) {
    ASSERT_LT(streams, 1000);
    grpc::ClientContext context;
    auto reader = stub.ScanTable(&context, request);
    v1::ScanTableResponse response;
    // Some responses of each stream, then it breaks, and rows change.
    int left = 2;
    while (left > 0 && reader->Read(&response)) {
      --left;
      OwnedRows rows;
      ASSERT_TRUE(client::TakeRows({ColumnType::kInt64, ColumnType::kString},
                                   *response.mutable_rows(), rows)
                      .ok());
      for (uint64_t row = 0; row < rows.rows; ++row) {
        const auto key = rows.Get<int64_t>(0, row);
        ASSERT_TRUE(keys.insert(key).second) << key << " twice";
        ASSERT_EQ(rows.IsNull(1, row), key % 2 != 0);
        if (key % 2 == 0) {
          ASSERT_EQ(rows.GetString(1, row), std::to_string(key));
        }
      }
      request.set_resume_token(response.resume_token());
    }
    if (left == 0) context.TryCancel();
    while (reader->Read(&response)) {
    }
    const grpc::Status status = reader->Finish();
    // The server may have sent the rest before it heard of the break.
    done = left > 0 && status.ok();
    if (done) {
      EXPECT_EQ(keys.size(), static_cast<size_t>(kRows));
    }
    ASSERT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::CANCELLED)
        << status.error_message();
    const int64_t changed = streams * 1000;
    Write(Rows(changed, changed + 500, "new"));
    OwnedRows erased = Rows(changed + 500, changed + 1000);
    erased.columns.resize(1);
    ASSERT_TRUE(tables_->Erase("t", schema_, erased).ok());
  }
  EXPECT_GE(streams, 2);
  // The snapshot that was taken before all that has every row as it was.
  const auto reader = tables_->Scan("t", {}, snapshot);
  OwnedRows rows;
  uint64_t count = 0;
  for (;;) {
    const auto more = reader->Next(rows);
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) break;
    count += rows.rows;
    for (uint64_t row = 0; row < rows.rows; ++row) {
      const auto key = rows.Get<int64_t>(0, row);
      if (key % 2 == 0) {
        ASSERT_EQ(rows.GetString(1, row), std::to_string(key));
      }
    }
  }
  EXPECT_EQ(count, static_cast<uint64_t>(kRows));
  EXPECT_LT(Count(), static_cast<uint64_t>(kRows));
  EXPECT_TRUE(tables_->ReleaseSnapshot(snapshot).ok());
}

// Messages that are changed at random are refused or stored, and what is stored is what they say.
TEST_F(TableEngineTest, ChangedMessagesAreRefusedOrStored) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return random() % n; };
  OwnedRows rows = Rows(0, 100);
  int stored = 0, refused = 0;
  for (int i = 0; i < 2000; ++i) {
    v1::WriteRowsRequest request;
    request.set_table("t");
    client::SwapRows({ColumnType::kInt64, ColumnType::kString}, rows, *request.mutable_rows());
    const v1::Rows original = request.rows();
    for (uint64_t change = below(3); change > 0; --change) {
      v1::Column& column = *request.mutable_rows()->mutable_columns(static_cast<int>(below(2)));
      std::string* const parts[] = {column.mutable_data(), column.mutable_validity(),
                                    column.mutable_offsets()};
      std::string& bytes = *parts[below(3)];
      switch (below(6)) {
        case 0:
          request.mutable_rows()->set_rows(below(3) == 0 ? random() : below(300));
          break;
        case 1:
          bytes.resize(below(bytes.size() + 20));
          break;
        case 2:
          column.set_type(static_cast<v1::ColumnType>(below(32)));
          break;
        case 3:
          if (below(2) == 0)
            request.mutable_rows()->add_columns();
          else
            request.mutable_rows()->mutable_columns()->RemoveLast();
          change = 1;  // the column may be gone
          break;
        default:
          if (!bytes.empty()) bytes[below(bytes.size())] = static_cast<char>(random());
      }
    }
    v1::WriteRowsResponse response;
    grpc::ClientContext context;
    const grpc::Status status = client_->stubs().tables->WriteRows(&context, request, &response);
    ++(status.ok() ? stored : refused);
    if (!status.ok()) {
      ASSERT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    }
    v1::Rows back = original;
    ASSERT_TRUE(client::TakeRows({ColumnType::kInt64, ColumnType::kString}, back, rows).ok());
  }
  EXPECT_GT(stored, 100);
  EXPECT_GT(refused, 100);
  EXPECT_GE(Count(), 100u);
  const auto reader =
      tables_->Scan("t", {.filter = *client::ParseExpression("key between 0 and 99")});
  OwnedRows found;
  ASSERT_TRUE(*reader->Next(found));
  EXPECT_EQ(found.rows, 100u);
}

TEST_F(TableEngineTest, SnapshotsThatAreHeldWhileTheServerStopsAreLetGo) {
  Write(Rows(0, 1000));
  ASSERT_TRUE(tables_->TakeSnapshot(absl::Minutes(10)).ok());
  v1::ScanTableRequest request;
  request.set_table("t");
  grpc::ClientContext context;
  auto reader = client_->stubs().tables->ScanTable(&context, request);
  v1::ScanTableResponse response;
  EXPECT_TRUE(reader->Read(&response));
  context.TryCancel();
  (void)reader->Finish();
  server_.reset();
  engine_->Close();
}

}  // namespace
}  // namespace eris::server
