// What scans of indexes and of tables and joins promise alike, with AEUs stepped by hand: ends of
// every kind at every moment, and everything given back after each.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "eris/errors.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

enum class Reads { kIndex, kTable, kJoin };

// Half of them at either AEU: more than the chunks of one scan hold.
constexpr uint64_t kReaderRows = 300'000;

class ReaderTest : public testing::TestWithParam<Reads> {
 protected:
  ReaderTest() {
    for (const char* name : {"a", "b"}) Fill(name);
  }
  ~ReaderTest() override { ExpectNothingLeft(); }

  void Fill(const char* name) {
    const bool table = GetParam() == Reads::kTable;
    const Object object = engine_.Create(
        name,
        {.kind = table ? ObjectKind::kTable : ObjectKind::kIndex, .expected = {0, kReaderRows}});
    std::vector<uint64_t> keys(10'000);
    for (uint64_t from = 0; from < kReaderRows; from += keys.size()) {
      std::iota(keys.begin(), keys.end(), from);
      const ColumnView columns[] = {test::ColumnOf(keys), test::ColumnOf(keys)};
      EXPECT_TRUE(engine_
                      .While([&] {
                        return session_->Write(object, {.rows = {keys.size(), columns}}).status;
                      })
                      .ok());
    }
  }
  absl::StatusOr<std::unique_ptr<Scan>> TryOpen(const char* outer = "a", const char* inner = "b") {
    const auto object = session_->Open(outer);
    if (!object.ok()) return object.status();
    if (GetParam() != Reads::kJoin) return session_->OpenScan(*object, {});
    return session_->OpenJoin(*object, test::Open(*session_, inner), {});
  }
  std::unique_ptr<Scan> Open() { return test::OrDie(TryOpen()); }
  Scan::NextResult Next(Scan& scan) {
    return engine_.While([&] { return scan.Next(); });
  }
  uint32_t InUse() {
    return engine_->core().chunks->in_use() + engine_->core().table_chunks->in_use();
  }
  void ExpectNothingLeft() {
    engine_.StepUntil([&] {
      const auto& core = engine_->core();
      return core.in_flight.count() == 0 && core.scans.size() + core.joins.size() == 0;
    });
    EXPECT_EQ(InUse(), 0u);
  }
  // The rows that are left; of each, what stands in its columns fits together.
  uint64_t Count(Scan& scan) {
    uint64_t rows = 0;
    for (;;) {
      const Scan::NextResult chunk = Next(scan);
      EXPECT_TRUE(chunk.ok()) << chunk.status();
      if (!chunk.ok() || *chunk == nullptr) return rows;
      ExpectRight(**chunk);
      rows += (*chunk)->rows();
    }
  }
  static void ExpectRight(const Chunk& chunk) {
    for (size_t i = 1; i < chunk.schema().columns.size(); ++i) {
      EXPECT_EQ(chunk.Uint64s(0), chunk.Uint64s(i));
    }
  }

  test::HandEngine engine_{2, [](Options& options) { options.scan_chunks_max = 8; }};
  std::unique_ptr<Session> session_ = engine_->NewSession();
};

TEST_P(ReaderTest, ItReadsEveryRowAndStaysAtItsEnd) {
  auto scan = Open();
  EXPECT_GT(InUse(), 0u);
  EXPECT_EQ(Count(*scan), kReaderRows);
  EXPECT_EQ(*Next(*scan), nullptr);
}

TEST_P(ReaderTest, AnEmptyPoolIsResourceExhaustedUntilChunksComeBack) {
  std::vector<std::unique_ptr<Scan>> scans;
  absl::Status status;
  while (status.ok() && scans.size() < 100) {
    auto scan = TryOpen();
    status = scan.status();
    if (scan.ok()) scans.push_back(*std::move(scan));
  }
  EXPECT_GE(scans.size(), 2u);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(Count(*scans.back()), kReaderRows);
  scans.clear();
  ExpectNothingLeft();
  EXPECT_EQ(Count(*Open()), kReaderRows);
}

TEST_P(ReaderTest, AReaderThatKeepsAllChunksIsToldSo) {
  auto scan = Open();
  std::vector<std::shared_ptr<const Chunk>> kept;
  uint64_t rows = 0;
  Scan::NextResult chunk = Next(*scan);
  while (chunk.ok() && *chunk != nullptr) {
    rows += (*chunk)->rows();
    kept.push_back(*chunk);
    chunk = Next(*scan);
  }
  EXPECT_EQ(chunk.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_LT(rows, kReaderRows);
  kept.clear();
  EXPECT_EQ(rows + Count(*scan), kReaderRows);
}

TEST_P(ReaderTest, AChunkOutlivesItsScan) {
  auto scan = Open();
  const Scan::NextResult chunk = Next(*scan);
  ASSERT_TRUE(chunk.ok());
  scan.reset();
  while (engine_.StepAll()) {
  }
  ExpectRight(**chunk);
  EXPECT_GT((*chunk)->rows(), 0u);
  EXPECT_GT(InUse(), 0u);
}

TEST_P(ReaderTest, ADeadlineEndsTheWaitAndTheScanGoesOn) {
  auto scan = Open();
  EXPECT_EQ(scan->Next(absl::Now() + absl::Milliseconds(10)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Count(*scan), kReaderRows);
}

TEST_P(ReaderTest, CancelFromAnotherThreadEndsAWaitingNext) {
  auto scan = Open();
  std::optional<Scan::NextResult> got;
  std::thread reader([&] { got.emplace(scan->Next()); });
  scan->Cancel();  // no AEU has moved
  reader.join();
  EXPECT_EQ(got->status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(scan->Next().status().code(), absl::StatusCode::kCancelled);
}

// After every number of turns that one takes, one AEU ahead of the other.
TEST_P(ReaderTest, ItMayBeDestroyedAtAnyMoment) {
  for (uint32_t first = 0; first < 2; ++first) {
    for (int turns = 0; turns < 12; ++turns) {
      auto scan = Open();
      for (int turn = 0; turn < turns; ++turn) {
        engine_->aeu({first}).Step({.scan_ns = 0});
        if (turn % 3 == 2) engine_->aeu({1 - first}).Step({.scan_ns = 0});
      }
      if (turns == 0) {
        EXPECT_GT(InUse(), 0u);  // AEUs may still be writing
      }
      scan.reset();
      ExpectNothingLeft();
    }
  }
}

TEST_P(ReaderTest, AnObjectDroppedMidWayIsNotFound) {
  for (const char* dropped : {"a", "b"}) {
    auto scan = TryOpen("a", "b");
    if (!scan.ok()) {  // of the second round: the name is gone
      EXPECT_EQ(scan.status().code(), absl::StatusCode::kNotFound);
      scan = TryOpen("b", "b");
    }
    ASSERT_TRUE(Next(**scan).ok());
    EXPECT_TRUE(engine_.While([&] { return engine_->Drop(dropped); }).ok());
    // What was already answered may still come.
    Scan::NextResult chunk = Next(**scan);
    for (int i = 0; i < 16 && chunk.ok(); ++i) chunk = Next(**scan);
    EXPECT_EQ(chunk.status().code(), absl::StatusCode::kNotFound) << chunk.status();
  }
}

TEST_P(ReaderTest, AnEngineClosedMidWayIsUnavailable) {
  auto scan = Open();
  const Scan::NextResult chunk = Next(*scan);
  ASSERT_TRUE(chunk.ok());
  engine_.Close();
  EXPECT_EQ(scan->Next().status().code(), absl::StatusCode::kUnavailable);
  scan->Cancel();  // the first reason stays
  EXPECT_EQ(scan->Next().status().code(), absl::StatusCode::kUnavailable);
  ExpectRight(**chunk);
  int calls = 0;
  scan->NextAsync([&](Scan::NextResult next) {
    ++calls;
    EXPECT_EQ(next.status().code(), absl::StatusCode::kUnavailable);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(TryOpen().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ErrorDetailsOf(scan->Next().status()).reason, "ENGINE_CLOSING");
  EXPECT_EQ(ErrorDetailsOf(TryOpen().status()).reason, "ENGINE_CLOSING");
  // The destructor sees that chunk and scan give everything back after Close, too.
}

TEST_P(ReaderTest, CloseCallsANextAsyncThatWaits) {
  auto scan = Open();
  std::atomic<int> calls{0};
  scan->NextAsync([&](Scan::NextResult next) {
    // An AEU that is stepped while Close is on its way may have answered first.
    EXPECT_TRUE(next.ok() || absl::IsUnavailable(next.status())) << next.status();
    calls.fetch_add(1);
  });
  engine_.Close();
  EXPECT_EQ(calls.load(), 1);
  EXPECT_TRUE(absl::IsUnavailable(scan->Next().status()));
}

TEST_P(ReaderTest, DestroyingItCompletesANextAsyncThatWaits) {
  auto scan = Open();
  std::atomic<int> calls{0};
  scan->NextAsync([&](Scan::NextResult next) {
    EXPECT_EQ(next.status().code(), absl::StatusCode::kCancelled);
    calls.fetch_add(1);
  });
  scan.reset();
  test::HandEngine::Await([&] { return calls.load() > 0; });
  ExpectNothingLeft();
  EXPECT_EQ(calls.load(), 1);
}

// Each callback asks for the next chunk.
class Chain {
 public:
  explicit Chain(Scan& scan) : scan_(scan) {}
  void Ask() {
    scan_.NextAsync([this](Scan::NextResult chunk) {
      if (!chunk.ok() || *chunk == nullptr) {
        status_ = chunk.status();
        done_.store(true);
        return;
      }
      rows_ += (*chunk)->rows();
      chunk->reset();
      Ask();
    });
  }
  bool done() const { return done_.load(); }
  uint64_t rows() const { return rows_; }
  const absl::Status& status() const { return status_; }

 private:
  Scan& scan_;
  uint64_t rows_ = 0;
  absl::Status status_;
  std::atomic<bool> done_{false};
};

TEST_P(ReaderTest, AChainOfNextAsyncReadsEverything) {
  auto scan = Open();
  Chain chain(*scan);
  chain.Ask();
  engine_.StepUntil([&] { return chain.done(); });
  EXPECT_TRUE(chain.status().ok()) << chain.status();
  EXPECT_EQ(chain.rows(), kReaderRows);
}

TEST_P(ReaderTest, CancelInTheMiddleOfAChainEndsItOnce) {
  for (int round = 0; round < 20; ++round) {
    auto scan = Open();
    Chain chain(*scan);
    chain.Ask();
    for (int step = 0; step < round; ++step) engine_.StepAll();
    std::thread canceller([&] { scan->Cancel(); });
    engine_.StepUntil([&] { return chain.done(); });
    canceller.join();
    EXPECT_TRUE(chain.status().code() == absl::StatusCode::kCancelled ||
                chain.rows() == kReaderRows);
    scan.reset();
    ExpectNothingLeft();
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReaderTest,
                         testing::Values(Reads::kIndex, Reads::kTable, Reads::kJoin),
                         [](const auto& one) {
                           return one.param == Reads::kIndex   ? "Index"
                                  : one.param == Reads::kTable ? "Table"
                                                               : "Join";
                         });

}  // namespace
}  // namespace eris
