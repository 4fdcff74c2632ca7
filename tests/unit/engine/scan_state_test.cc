// Scans with AEUs stepped by hand: pauses, ends of every kind, and every chunk back in the pool
// after each.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/hand_engine.h"

namespace eris {
namespace {

using Chunk = absl::StatusOr<std::optional<ScanChunk>>;

constexpr uint64_t kRows = 300'000;  // half of it at either AEU: more than its chunks hold

class ScanStateTest : public testing::Test {
 protected:
  ScanStateTest() {
    EXPECT_TRUE(
        engine_.While([&] {
                 return engine_->Create("o", {.expected = {0, kRows}}).status();
               })
            .ok());
    session_ = engine_->NewSession();
    std::vector<uint64_t> keys(10'000);
    for (uint64_t from = 0; from < kRows; from += keys.size()) {
      std::iota(keys.begin(), keys.end(), from);
      EXPECT_TRUE(engine_.While([&] { return session_->Upsert("o", keys, keys); }).ok());
    }
  }
  ~ScanStateTest() override { ExpectNothingLeft(); }

  std::unique_ptr<Scan> Open(const ScanOptions& options = {}) {
    auto scan = session_->OpenScan("o", options);
    EXPECT_TRUE(scan.ok()) << scan.status();
    return *std::move(scan);
  }
  Chunk Next(Scan& scan) {
    return engine_.While([&] { return scan.Next(); });
  }
  void ExpectNothingLeft() {
    engine_.StepUntil([&] {
      return engine_->core().in_flight.count() == 0 && engine_->core().scans.size() == 0;
    });
    EXPECT_EQ(engine_->core().chunks->in_use(), 0u);
  }
  // Reads to the end and counts, checking that rows follow one another.
  uint64_t Count(Scan& scan, uint64_t from = 0) {
    uint64_t next = from;
    for (;;) {
      Chunk chunk = Next(scan);
      EXPECT_TRUE(chunk.ok()) << chunk.status();
      if (!chunk.ok() || !*chunk) return next - from;
      for (const uint64_t key : (*chunk)->keys()) EXPECT_EQ(key, next++);
    }
  }

  test::HandEngine engine_{2, [](Options& options) { options.scan_chunks_max = 6; }};
  std::unique_ptr<Session> session_;
};

TEST_F(ScanStateTest, ReadsEveryRowInOrderThroughFourChunks) {
  auto scan = Open();
  EXPECT_EQ(engine_->core().chunks->in_use(), 4u);
  EXPECT_EQ(Count(*scan), kRows);
}

TEST_F(ScanStateTest, AnEmptyPoolIsResourceExhaustedUntilChunksComeBack) {
  auto first = Open(), second = Open();  // 4 and 2 of 6 chunks
  EXPECT_EQ(engine_->core().chunks->in_use(), 6u);
  EXPECT_EQ(session_->OpenScan("o", {}).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Count(*second), kRows);
  first.reset();
  second.reset();
  ExpectNothingLeft();
  EXPECT_EQ(Count(*Open()), kRows);
}

TEST_F(ScanStateTest, OneChunkDoesForAWholeScan) {
  auto first = Open();
  auto small = Open({.range = {}, .limit = 10});
  auto last = Open();  // gets the one that is left
  EXPECT_EQ(engine_->core().chunks->in_use(), 6u);
  EXPECT_EQ(Count(*last), kRows);
  EXPECT_EQ(Count(*small), 10u);
}

TEST_F(ScanStateTest, AReaderThatKeepsAllChunksIsToldSo) {
  auto scan = Open();
  std::vector<ScanChunk> kept;
  Chunk chunk = Next(*scan);
  while (chunk.ok() && *chunk) {
    kept.push_back(*std::move(*chunk));
    chunk = Next(*scan);
  }
  EXPECT_EQ(kept.size(), 2u);
  EXPECT_EQ(chunk.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(kept[1].keys()[0], kept[0].keys().size());
  const uint64_t next = kept[1].keys().back() + 1;
  kept.clear();
  EXPECT_EQ(Count(*scan, next), kRows - next);
}

TEST_F(ScanStateTest, AChunkOutlivesItsScan) {
  auto scan = Open();
  Chunk chunk = Next(*scan);
  ASSERT_TRUE(chunk.ok());
  ScanChunk kept = *std::move(*chunk);
  scan.reset();
  while (engine_.StepAll()) {
  }
  EXPECT_EQ(kept.keys()[100], 100u);
  EXPECT_GT(engine_->core().chunks->in_use(), 0u);
}

TEST_F(ScanStateTest, ALimitHoldsAcrossPartitions) {
  for (const uint64_t limit : {uint64_t{1}, uint64_t{40'000}, kRows / 2, kRows / 2 + 1, kRows}) {
    auto scan = Open({.range = {}, .limit = limit});
    EXPECT_EQ(Count(*scan), limit);
  }
  auto scan = Open({.range = {kRows / 2 - 5, std::nullopt}, .limit = 10});
  EXPECT_EQ(Count(*scan, kRows / 2 - 5), 10u);
}

TEST_F(ScanStateTest, AScanThatIsDestroyedWithPartsOutGivesItsChunksBack) {
  auto scan = Open();
  scan.reset();
  EXPECT_GT(engine_->core().chunks->in_use(), 0u);  // AEUs may still be writing
  ExpectNothingLeft();
}

TEST_F(ScanStateTest, ADeadlineEndsTheWaitAndTheScanGoesOn) {
  auto scan = Open();
  EXPECT_EQ(scan->Next(absl::Now() + absl::Milliseconds(10)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Count(*scan), kRows);
}

TEST_F(ScanStateTest, CancelFromAnotherThreadEndsAWaitingNext) {
  auto scan = Open();
  std::optional<Chunk> got;
  std::thread reader([&] { got.emplace(scan->Next()); });
  scan->Cancel();  // no AEU has moved
  reader.join();
  EXPECT_EQ(got->status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(scan->Next().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ScanStateTest, AnObjectDroppedMidWayIsNotFound) {
  auto scan = Open();
  ASSERT_TRUE(Next(*scan).ok());
  EXPECT_TRUE(engine_.While([&] { return engine_->Drop("o"); }).ok());
  // What was already filled may still come.
  Chunk chunk = Next(*scan);
  for (int i = 0; i < 4 && chunk.ok(); ++i) chunk = Next(*scan);
  EXPECT_EQ(chunk.status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ScanStateTest, AnEngineClosedMidWayIsUnavailable) {
  auto scan = Open();
  Chunk chunk = Next(*scan);
  ASSERT_TRUE(chunk.ok());
  engine_.Close();
  EXPECT_EQ(scan->Next().status().code(), absl::StatusCode::kUnavailable);
  scan->Cancel();  // the first reason stays
  EXPECT_EQ(scan->Next().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*chunk)->keys()[7], 7u);
  int calls = 0;
  scan->NextAsync([&](Chunk next) {
    ++calls;
    EXPECT_EQ(next.status().code(), absl::StatusCode::kUnavailable);
  });
  EXPECT_EQ(calls, 1);
  // The destructor sees that chunk and scan give everything back after Close, too.
}

TEST_F(ScanStateTest, CloseCallsANextAsyncThatWaits) {
  auto scan = Open();
  std::atomic<int> calls{0};
  scan->NextAsync([&](Chunk next) {
    // An AEU that is stepped while Close is on its way may have filled the chunk first.
    EXPECT_TRUE(next.ok() || absl::IsUnavailable(next.status())) << next.status();
    calls.fetch_add(1);
  });
  engine_.Close();
  EXPECT_EQ(calls.load(), 1);
  EXPECT_TRUE(absl::IsUnavailable(scan->Next().status()));
}

// Each callback asks for the next chunk.
class Chain {
 public:
  explicit Chain(Scan& scan) : scan_(scan) {}
  void Ask() {
    scan_.NextAsync([this](Chunk chunk) {
      if (!chunk.ok() || !*chunk) {
        status_ = chunk.status();
        done_.store(true);
        return;
      }
      for (const uint64_t key : (*chunk)->keys()) in_order_ &= key == rows_++;
      chunk->reset();
      Ask();
    });
  }
  bool done() const { return done_.load(); }
  uint64_t rows() const { return rows_; }
  bool in_order() const { return in_order_; }
  const absl::Status& status() const { return status_; }

 private:
  Scan& scan_;
  uint64_t rows_ = 0;
  bool in_order_ = true;
  absl::Status status_;
  std::atomic<bool> done_{false};
};

TEST_F(ScanStateTest, AChainOfNextAsyncReadsEverything) {
  auto scan = Open();
  Chain chain(*scan);
  chain.Ask();
  engine_.StepUntil([&] { return chain.done(); });
  EXPECT_TRUE(chain.status().ok()) << chain.status();
  EXPECT_EQ(chain.rows(), kRows);
  EXPECT_TRUE(chain.in_order());
}

TEST_F(ScanStateTest, CancelInTheMiddleOfAChainEndsItOnce) {
  for (int round = 0; round < 20; ++round) {
    auto scan = Open();
    Chain chain(*scan);
    chain.Ask();
    for (int step = 0; step < round; ++step) engine_.StepAll();
    std::thread canceller([&] { scan->Cancel(); });
    engine_.StepUntil([&] { return chain.done(); });
    canceller.join();
    EXPECT_TRUE(chain.status().code() == absl::StatusCode::kCancelled || chain.rows() == kRows);
    scan.reset();
    ExpectNothingLeft();
  }
}

TEST_F(ScanStateTest, DestroyingTheScanCompletesANextAsyncThatWaits) {
  auto scan = Open();
  std::atomic<int> calls{0};
  scan->NextAsync([&](Chunk next) {
    EXPECT_EQ(next.status().code(), absl::StatusCode::kCancelled);
    calls.fetch_add(1);
  });
  scan.reset();
  test::HandEngine::Await([&] { return calls.load() > 0; });
  ExpectNothingLeft();
  EXPECT_EQ(calls.load(), 1);
}

}  // namespace
}  // namespace eris
