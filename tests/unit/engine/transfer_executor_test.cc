// Transfers of indexes and hashes: what is sent and published in which order, how large chunks get,
// what stops them and where. transfer_tables_test.cc moves tables.
#include "engine/moving/transfer_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aeu/state/clock.h"
#include "engine/core/closing.h"
#include "tests/unit/engine/played_aeus.h"

namespace eris::engine {
namespace {

TEST_F(TransferExecutorTest, ACopyMovesTheRangeChunkByChunk) {
  const TransferExecutor::Result result = Run(Copy(Keys(0)));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_TRUE(aeus_.rows.empty());
  EXPECT_EQ(aeus_.moved, all_);
  ExpectTableAndRowsAgree();
  EXPECT_EQ(object_->route.Pin()->size(), 1u);
  EXPECT_EQ(aeus_.concludes, aeus_.gives);
  const TransferRecord& record = result.record;
  EXPECT_EQ(record.outcome, TransferOutcome::kDone);
  EXPECT_EQ(record.object, "o");
  EXPECT_EQ(record.rows, all_.size());
  EXPECT_EQ(record.bytes, 16 * all_.size());
  EXPECT_EQ(record.chunks, static_cast<uint64_t>(aeus_.gives));
  EXPECT_GT(record.chunks, 5u);
}

TEST_F(TransferExecutorTest, ChunksGrowUntilTheSlowerAeuComesNearThePause) {
  executor_.SetBudget(50, 0);
  const TransferExecutor::Result result = Run(Copy(Keys(0)));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(aeus_.rows_max.front(), ChunkSize::kRowsMin);
  // 50 us, 55 % of it, 100 ns a row.
  EXPECT_GE(*std::max_element(aeus_.rows_max.begin(), aeus_.rows_max.end()), 240u);
  EXPECT_LE(*std::max_element(aeus_.rows_max.begin(), aeus_.rows_max.end()), 275u);
  EXPECT_LE(result.record.longest_pause_us, 50u);
  EXPECT_GT(result.record.longest_pause_us, 20u);
  EXPECT_GE(result.record.longest_pause_wall_us, 2 * result.record.longest_pause_us - 2);
}

TEST_F(TransferExecutorTest, TheNextTransferOfAnObjectBeginsWithWhatTheLastOneFound) {
  executor_.SetBudget(50, 0);
  ASSERT_TRUE(Run(Copy(Keys(0, uint64_t{1} << 40))).status.ok());
  const uint32_t found = aeus_.rows_max.back();
  EXPECT_GT(found, 2 * ChunkSize::kRowsMin);
  aeus_.rows_max.clear();
  const TransferExecutor::Result next = Run(Copy(Keys(uint64_t{1} << 40)));
  ASSERT_TRUE(next.status.ok()) << next.status;
  EXPECT_GE(aeus_.rows_max.front(), found);
  EXPECT_LE(next.record.longest_pause_us, 50u);
}

TEST_F(TransferExecutorTest, ALinkIsOneStepForEachPieceOfTheSource) {
  object_->route.Publish(object_->route.Pin()->With({{5'000, 0}, storage::Key{6'000, 0}}, {2}),
                         core_.directory.table_readers());
  PlannedTransfer link = Copy(Keys(500));
  link.kind = TransferKind::kLink;
  const TransferExecutor::Result result = Run(link);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.record.chunks, 2u);
  EXPECT_EQ(result.record.bytes, 0u);
  EXPECT_EQ(object_->route.Pin()->OwnerOf(499), AeuId{0});
  EXPECT_EQ(object_->route.Pin()->OwnerOf(5'500), AeuId{2});
  EXPECT_EQ(object_->route.Pin()->OwnerOf(kLast), AeuId{1});
  EXPECT_EQ(executor_.history().totals().transfers[TransferKind::kLink], 1u);
}

TEST_F(TransferExecutorTest, WithoutAPlaceAtTheTargetNothingHappens) {
  aeus_.reserve_status = absl::ResourceExhaustedError("no memory");
  const TransferExecutor::Result result = Run(Copy(Keys(0)));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(result.record.outcome, TransferOutcome::kRefused);
  EXPECT_EQ(aeus_.gives, 0);
  EXPECT_EQ(object_->route.Pin()->version(), 1u);
}

TEST_F(TransferExecutorTest, ARefusedStepEndsTheTransferWithItsReason) {
  aeus_.outcome = [](int step) {
    return step < 3 ? StepOutcome::kInstalled : StepOutcome::kRefused;
  };
  const TransferExecutor::Result result = Run(Copy(Keys(0)));
  EXPECT_EQ(result.record.outcome, TransferOutcome::kRefused);
  EXPECT_EQ(result.record.reason, "not an end of the range");
  EXPECT_EQ(result.record.chunks, 2u);
  EXPECT_EQ(aeus_.concludes, 2);  // there is nothing to conclude
  ExpectTableAndRowsAgree();
}

TEST_F(TransferExecutorTest, AReturnedStepIsConcludedAndNotPublished) {
  aeus_.outcome = [](int step) {
    return step < 4 ? StepOutcome::kInstalled : StepOutcome::kReturned;
  };
  const TransferExecutor::Result result = Run(Copy(Keys(0)));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(result.record.outcome, TransferOutcome::kRefused);
  EXPECT_EQ(result.record.chunks, 3u);
  EXPECT_EQ(result.record.rows, aeus_.moved.size());
  EXPECT_EQ(aeus_.concludes, 4);
  ExpectTableAndRowsAgree();
}

TEST_F(TransferExecutorTest, ASourceThatTakesNoCommandEndsIt) {
  aeus_.on_give = [&](TransferStep&) {
    if (aeus_.gives == 3) aeus_.give_status = absl::ResourceExhaustedError("no command");
  };
  const TransferExecutor::Result result = Run(Copy(Keys(0)));
  EXPECT_EQ(result.record.outcome, TransferOutcome::kRefused);
  EXPECT_EQ(aeus_.concludes, 2);
  ExpectTableAndRowsAgree();
}

TEST_F(TransferExecutorTest, APauseStopsAtTheBorderOfTheChunk) {
  aeus_.on_give = [&](TransferStep&) {
    if (aeus_.gives == 2) core_.transfer_stop.Pause();
  };
  const TransferExecutor::Result result = Run(Copy(Keys(0)));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(result.record.outcome, TransferOutcome::kStopped);
  EXPECT_EQ(result.record.chunks, 2u);
  ExpectTableAndRowsAgree();
  EXPECT_EQ(Run(Copy(Keys(0))).record.chunks, 0u);
  core_.transfer_stop.Resume();
  aeus_.on_give = nullptr;
  EXPECT_TRUE(Run(Copy(Keys(0))).status.ok());
  EXPECT_EQ(aeus_.moved, all_);
}

// Which may take as long as there are rows: nobody who drops it, or closes, waits for that.
TEST_F(TransferExecutorTest, AStoppedCopyReleasesAHashThatStays) {
  aeus_.on_give = [&](TransferStep&) { core_.transfer_stop.Pause(); };
  EXPECT_EQ(Run(Copy(Keys(0))).record.chunks, 1u);
  EXPECT_EQ(aeus_.releases, 0);  // an index makes nothing ready
  core_.transfer_stop.Resume();
  object_ = Index(ObjectKind::kHash);
  EXPECT_EQ(Run(Copy(Keys(0))).record.chunks, 1u);
  EXPECT_EQ(aeus_.releases, 1);
  EXPECT_EQ(Run(Copy(Keys(0))).record.chunks, 0u);
  EXPECT_EQ(aeus_.releases, 1);  // nor does what has not begun
  core_.transfer_stop.Resume();
  aeus_.on_give = [&](TransferStep&) { object_->MarkDropped(); };
  EXPECT_EQ(Run(Copy(Keys(0))).record.chunks, 1u);
  EXPECT_EQ(aeus_.releases, 1);
  object_ = Index(ObjectKind::kHash);
  aeus_.on_give = [&](TransferStep&) { core_.transfer_stop.Close(); };
  EXPECT_EQ(Run(Copy(Keys(0))).record.chunks, 1u);
  EXPECT_EQ(aeus_.releases, 1);
}

TEST_F(TransferExecutorTest, APauseThatIsOverHasStoppedItToo) {
  aeus_.on_give = [&](TransferStep&) {
    core_.transfer_stop.Pause();
    core_.transfer_stop.Resume();
  };
  EXPECT_EQ(Run(Copy(Keys(0))).record.chunks, 1u);
}

TEST_F(TransferExecutorTest, TheEndOfTheEngineADropAndADeadlineStopIt) {
  aeus_.on_give = [&](TransferStep&) { object_->MarkDropped(); };
  TransferExecutor::Result result = Run(Copy(Keys(0)));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(result.record.outcome, TransferOutcome::kStopped);
  EXPECT_EQ(result.record.chunks, 1u);

  object_ = Index();
  aeus_.moved.clear();
  aeus_.rows = all_;
  aeus_.on_give = nullptr;
  result = Run(Copy(Keys(0)), absl::InfinitePast());
  EXPECT_EQ(result.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(result.record.chunks, 0u);

  aeus_.on_give = [&](TransferStep&) { core_.transfer_stop.Close(); };
  result = Run(Copy(Keys(0)));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(result.record.outcome, TransferOutcome::kStopped);
  EXPECT_EQ(result.record.chunks, 1u);
  ExpectTableAndRowsAgree();
}

TEST_F(TransferExecutorTest, WhoGivesUpStopsHisOwnTransferAndSaysWhy) {
  MoveStop stop;
  aeus_.on_give = [&](TransferStep&) {
    if (aeus_.gives < 2) return;
    stop.Stop(absl::CancelledError("the caller gave up"));
    stop.Stop(absl::InternalError("he says so again"));
  };
  const TransferExecutor::Result result = Run(Copy(Keys(0)), absl::InfiniteFuture(), &stop);
  EXPECT_EQ(result.status, absl::CancelledError("the caller gave up"));
  EXPECT_EQ(result.record.outcome, TransferOutcome::kStopped);
  EXPECT_EQ(result.record.reason, "the caller gave up");
  EXPECT_EQ(result.record.chunks, 2u);
  ExpectTableAndRowsAgree();
  EXPECT_FALSE(core_.transfer_stop.paused());
  aeus_.on_give = nullptr;
  EXPECT_EQ(Run(Copy(Keys(0)), absl::InfiniteFuture(), &stop).record.chunks, 0u);
  EXPECT_TRUE(Run(Copy(Keys(0))).status.ok());
  EXPECT_EQ(aeus_.moved, all_);
}

TEST_F(TransferExecutorTest, AStepThatMakesNoProgressIsGivenUpForWhateverStopsTransfers) {
  aeus_.makes_no_progress = true;
  std::optional<MoveStop> stop;
  const std::vector<std::pair<std::function<void()>, absl::Status>> events = {
      {[&] { stop->Stop(absl::CancelledError("the caller gave up")); },
       absl::CancelledError("the caller gave up")},
      {[&] { core_.transfer_stop.Pause(); },
       absl::FailedPreconditionError("the balancer is paused")},
      {[&] { object_->MarkDropped(); },
       absl::NotFoundError(absl::StrCat("object \"", object_->name, "\" has been dropped"))},
      {[] {}, absl::DeadlineExceededError("the caller gave up: its deadline has passed")},
      {[&] { core_.transfer_stop.Close(); }, EngineClosing()}};
  for (const auto& [event, status] : events) {
    object_ = Index();
    stop.emplace();
    aeus_.on_give = [&happens = event](TransferStep&) { happens(); };
    const absl::Time deadline = absl::IsDeadlineExceeded(status)
                                    ? absl::Now() + absl::Milliseconds(30)
                                    : absl::InfiniteFuture();
    const TransferExecutor::Result result = Run(Copy(Keys(0)), deadline, &*stop);
    EXPECT_EQ(result.status.code(), status.code());
    EXPECT_EQ(result.status.message(), status.message());
    EXPECT_EQ(result.record.outcome, TransferOutcome::kStopped);
    EXPECT_EQ(result.record.chunks, 0u);
    core_.transfer_stop.Resume();
  }
}

TEST_F(TransferExecutorTest, CopiesKeepToTheirRate) {
  constexpr uint64_t kBytesPerS = 2'000'000;
  executor_.SetBudget(200, kBytesPerS);
  const uint64_t begin_ns = aeu::NowNs();
  uint64_t bytes_before_last = 0;
  aeus_.on_give = [&](TransferStep&) { bytes_before_last = 16 * aeus_.moved.size(); };
  EXPECT_TRUE(Run(Copy(Keys(0))).status.ok());
  // The last chunk need not be paid for.
  EXPECT_GE(aeu::NowNs() - begin_ns, bytes_before_last * 1'000 / (kBytesPerS / 1'000'000));
}

// Who waits for the rate, for a year, ends at once when anything happens.
TEST_F(TransferExecutorTest, WaitingForTheRateEndsWhenAnythingHappens) {
  executor_.SetBudget(200, 1);
  std::optional<MoveStop> stop;
  const std::vector<std::pair<std::function<void()>, absl::StatusCode>> events = {
      {[&] { stop->Stop(absl::CancelledError("the caller gave up")); },
       absl::StatusCode::kCancelled},
      {[&] { core_.transfer_stop.Pause(); }, absl::StatusCode::kFailedPrecondition},
      {[&] { executor_.SetBudget(200, 0); }, absl::StatusCode::kOk},
      {[&] {
         object_->MarkDropped();
         core_.transfer_stop.Look();
       },
       absl::StatusCode::kNotFound},
      {[&] { core_.transfer_stop.Close(); }, absl::StatusCode::kUnavailable}};
  for (const auto& [event, code] : events) {
    object_ = Index();
    aeus_.moved.clear();
    aeus_.rows = all_;
    core_.transfer_stop.Resume();
    executor_.SetBudget(200, 1);
    stop.emplace();
    std::atomic<bool> given{false};
    aeus_.on_give = [&](TransferStep&) { given.store(true); };
    absl::Status status;
    std::thread thread([&] { status = Run(Copy(Keys(0)), absl::InfiniteFuture(), &*stop).status; });
    while (executor_.history().Running().empty() ||
           (!given.load() && executor_.history().totals().bytes_copied == 0)) {
      std::this_thread::yield();
    }
    event();
    thread.join();
    EXPECT_EQ(status.code(), code) << status;
  }
}

TEST_F(TransferExecutorTest, ADeadlineEndsWaitingForTheRate) {
  executor_.SetBudget(200, 1);
  const TransferExecutor::Result result = Run(Copy(Keys(0)), absl::Now() + absl::Milliseconds(20));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(result.record.chunks, 1u);
  ExpectTableAndRowsAgree();
}

}  // namespace
}  // namespace eris::engine
