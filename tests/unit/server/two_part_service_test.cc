// Keys of two parts from the C++ client to a real engine, over real gRPC in process: what scans
// leave for their tokens, and many rows under one first part.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "clients/batch_stream.h"
#include "clients/eris_client.h"
#include "eris/engine.h"
#include "eris/key_encoding.h"
#include "eris/v1/data.grpc.pb.h"
#include "gtest/gtest.h"
#include "server/rpc_server.h"
#include "tests/unit/server/io_thread.h"
#include "wire/keys.h"

namespace eris::server {
namespace {

using Row = std::pair<std::pair<uint64_t, uint64_t>, uint64_t>;  // key parts, value
using Rows = std::vector<Row>;

constexpr KeyTypes kTypes{ColumnType::kInt64, ColumnType::kDate};
constexpr uint64_t kSeed = 20261121;

class TwoPartServiceTest : public ::testing::Test {
 protected:
  TwoPartServiceTest() {
    Options options;
    options.topology = "numa:1 core:3 pu:1";
    options.aeu_count = 3;
    options.memory_limit_bytes = uint64_t{1} << 30;
    engine_ = *Engine::Open(options);
    config_.listen = "127.0.0.1:0";
    server_ = *RpcServer::Start(config_, engine_.get(), io_thread_.io());
    client_ = *client::Client::Connect({.server = server_->address(), .own_connection = true});
    const auto created = client_->Create(
        "o", {.split_points = {KeyFromInt64(-5), KeyFromInt64(5)}, .key_type = kTypes});
    EXPECT_TRUE(created.ok()) << created.status();
    EXPECT_EQ(created->key_type, kTypes);
  }
  ~TwoPartServiceTest() override { server_.reset(); }

  // Rows under first parts on both sides of each bound: few, many, and more than a chunk holds.
  Rows Load() {
    Rows rows;
    std::mt19937_64 random(kSeed);
    for (const auto& [number, count] :
         {std::pair(-100, 1), {-6, 3}, {-5, 30'000}, {0, 50'000}, {4, 2}, {5, 1}, {100, 7}}) {
      for (int i = 0; i < count; ++i) {
        rows.push_back({{KeyFromInt64(number), KeyFromDate((i - count / 2) * 3)}, random() % 1000});
      }
    }
    Rows shuffled = rows;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    client::UpsertStream stream(*client_, {},
                                [](uint64_t, absl::Status status, client::RowBits existed) {
                                  EXPECT_TRUE(status.ok()) << status;
                                  EXPECT_EQ(existed.Count(), 0u);
                                });
    for (size_t done = 0; done < shuffled.size(); done += 10'000) {
      std::vector<uint64_t> first, second, values;
      for (size_t i = done; i < std::min(done + 10'000, shuffled.size()); ++i) {
        first.push_back(shuffled[i].first.first);
        second.push_back(shuffled[i].first.second);
        values.push_back(shuffled[i].second);
      }
      EXPECT_TRUE(stream.Send("o", {first, second}, values, kTypes).ok());
    }
    EXPECT_TRUE(stream.Finish().ok());
    return rows;
  }

  static void Append(const client::ScanRows& from, Rows& to) {
    ASSERT_EQ(from.keys.size(), from.second_keys.size());
    for (size_t i = 0; i < from.keys.size(); ++i) {
      to.push_back({{from.keys[i], from.second_keys[i]}, from.values[i]});
    }
  }

  ServerConfig config_;
  IoThread io_thread_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<client::Client> client_;
};

// Each chunk is asked for by the token of the one before.
TEST_F(TwoPartServiceTest, TokensGoOnInsideAFirstPartBothWays) {
  const Rows rows = Load();
  const KeyRange range{KeyFromInt64(-6), KeyFromInt64(5), KeyFromDate(0), KeyFromDate(1)};
  const ValueRange values{100, 899};
  for (const ScanDirection direction : {ScanDirection::kForward, ScanDirection::kBackward}) {
    Rows expected;
    for (const Row& row : rows) {
      const bool in_range = row.first >= std::pair(range.lo, range.lo_second) &&
                            row.first < std::pair(*range.hi, range.hi_second);
      if (in_range && values.Contains(row.second)) expected.push_back(row);
    }
    if (direction == ScanDirection::kBackward) std::reverse(expected.begin(), expected.end());
    expected.resize(expected.size() - 10);  // the limit
    v1::ScanRequest request;
    request.set_object("o");
    ASSERT_TRUE(wire::SetRange("range", kTypes, range, *request.mutable_range()).ok());
    request.mutable_values()->set_lo(values.lo);
    request.mutable_values()->set_last(values.last);
    request.set_limit(expected.size());
    if (direction == ScanDirection::kBackward) request.set_direction(v1::SCAN_DIRECTION_BACKWARD);
    Rows seen;
    int chunks = 0;
    for (std::string token;;) {
      client::ScanReader reader(*client_, request, absl::Seconds(30), kTypes);
      client::ScanRows chunk;
      const absl::StatusOr<bool> more = reader.Next(chunk);
      ASSERT_TRUE(more.ok()) << more.status();
      if (!*more) break;
      Append(chunk, seen);
      ++chunks;
      EXPECT_EQ(chunk.new_snapshot, chunks > 1);
      if (chunk.resume_token.empty()) break;
      request.Clear();
      request.set_object("o");
      request.set_resume_token(chunk.resume_token);
    }
    EXPECT_GE(chunks, 4);
    ASSERT_EQ(seen.size(), expected.size());
    EXPECT_TRUE(seen == expected) << "seed " << kSeed;
  }
}

TEST_F(TwoPartServiceTest, RandomRangesHoldTheirRows) {
  const Rows rows = Load();
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", range " << i);
    const auto bound = [&]() -> std::pair<uint64_t, uint64_t> {
      const Row& row = rows[random() % rows.size()];
      // Below a row, at it, in front of its first part's rows.
      return {row.first.first, random() % 3 == 0 ? 0 : row.first.second - random() % 2};
    };
    auto lo = bound(), hi = bound();
    if (hi < lo) std::swap(lo, hi);
    const KeyRange range{lo.first, hi.first, lo.second, hi.second};
    RangeAggregate expected;
    for (const Row& row : rows) {
      if (row.first < lo || row.first >= hi) continue;
      expected.Add({1, row.second, row.second, row.second, 0, row.first.first, row.first.first,
                    row.first.second, row.first.second});
    }
    const auto sums = client_->Aggregate("o", {.range = range}, kTypes);
    ASSERT_TRUE(sums.ok()) << sums.status();
    EXPECT_EQ(*sums, expected);
    const auto count = client_->Aggregate("o", {.range = range, .count_only = true}, kTypes);
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(count->count, expected.count);
    client::ScanRows last;
    const auto more =
        client_
            ->ScanWith("o", {.range = range, .limit = 1, .direction = ScanDirection::kBackward},
                       kTypes)
            ->Next(last);
    ASSERT_TRUE(more.ok()) << more.status();
    ASSERT_EQ(*more, expected.count > 0);
    if (!*more) continue;
    EXPECT_EQ(last.keys[0], expected.last_key);
    EXPECT_EQ(last.second_keys[0], expected.last_second);
  }
}

TEST_F(TwoPartServiceTest, KeysOfOnePartAreRefusedWhicheverSideLooks) {
  const std::vector<uint64_t> keys = {1, 2};
  EXPECT_EQ(client_->Lookup("o", keys, kTypes).status().message(),
            "2 keys have one part, their type has two parts (i64,date)");
  EXPECT_EQ(client_->Lookup("o", keys, ColumnType::kInt64).status().message(),
            "column keys has 2 elements, column second_keys is unset: keys of object \"o\" have "
            "two parts (i64,date)");
  EXPECT_EQ(client_->Erase("o", {keys, {uint64_t{1} << 32, 5}}, kTypes).status().message(),
            "second_keys[0] is 4294967296, no key of type date: encoded they are 0 to 4294967295");
  EXPECT_EQ(client_->Create("h", {.kind = ObjectKind::kHash, .key_type = kTypes}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace eris::server
