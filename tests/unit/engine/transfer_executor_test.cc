// Transfers whose AEUs are played by the test: what is sent and published in which order, how large
// chunks get, what stops them and where.
#include "engine/moving/transfer_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aeu/state/clock.h"
#include "engine/objects/object_kinds.h"

namespace eris::engine {
namespace {

using routing::StepOutcome;
using routing::TransferStep;
using End = storage::Partition::End;

constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kAeus = 4;

KeyRange Keys(uint64_t lo, std::optional<uint64_t> hi = std::nullopt) {
  return {.lo = lo, .hi = hi};
}

// AEUs that hand rows over at once, and see to it that the executor keeps to the order.
class PlayedAeus final : public StepSender {
 public:
  explicit PlayedAeus(Core& core) : core_(core) {}

  absl::Status Reserve(ObjectEntry& object, AeuId target) override {
    if (!reserve_status.ok()) return reserve_status;
    object.AddMember(target);
    return absl::OkStatus();
  }

  void PrepareMemory(AeuId target, uint64_t bytes) override {
    EXPECT_EQ(under_way_, nullptr) << "waits for pages while rows are on their way";
    prepared_bytes[target.value] = bytes;
  }

  absl::Status Give(ObjectEntry& object, TransferStep& step,
                    absl::FunctionRef<bool()> goes_on) override {
    EXPECT_GT(prepared_bytes[step.target.value], 0U) << "a chunk without memory made ready";
    EXPECT_TRUE(object.IsMember(step.target));
    EXPECT_EQ(under_way_, nullptr) << "a step before the last one's conclusion";
    EXPECT_TRUE(step.chunk.keys.empty());
    if (step.kind == TransferKind::kCopy) ExpectRoom(object, step);
    EXPECT_EQ(step.outcome, StepOutcome::kUnderWay);
    if (step.release) {
      ++releases;
      step.outcome = StepOutcome::kRefused;
      return absl::OkStatus();
    }
    ++gives;
    rows_max.push_back(step.rows_max);
    if (on_give) on_give(step);
    if (!give_status.ok()) return give_status;
    if (makes_no_progress) {
      while (goes_on()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      step.outcome = StepOutcome::kRefused;
      step.status = absl::CancelledError("the transfer was given up");
      return absl::OkStatus();
    }
    version_before_ = VersionOf(object);
    step.outcome = outcome(gives);
    if (step.outcome == StepOutcome::kRefused) {
      step.status = absl::FailedPreconditionError("not an end of the range");
      return absl::OkStatus();
    }
    under_way_ = &step;
    Take(object, step);
    if (object.is_table()) {
      // A scan at a snapshot that begins now has to wait for the conclusion, one at an older one
      // not.
      StepGate& gate = object.step_gate();
      const uint64_t now = core_.directory.snapshots().Now().epoch;
      gate.Pass(now - 1);
      std::thread([this, &gate, now] {
        gate.Pass(now);
        ++scans_begun;
      }).swap(beginner_);
      while (gate.waiting() == 0) std::this_thread::yield();
    }
    if (step.outcome == StepOutcome::kReturned) {
      step.status = absl::ResourceExhaustedError("AEU 1 has no memory left");
    } else {
      for (const uint64_t key : step.chunk.keys) moved.insert(key);
    }
    return absl::OkStatus();
  }

  void Conclude(ObjectEntry& object, TransferStep& step) override {
    EXPECT_EQ(under_way_, &step);
    ++concludes;
    if (on_conclude) on_conclude();
    const bool heap = object.kind == ObjectKind::kHeapTable;
    if (step.outcome == StepOutcome::kInstalled) {
      if (heap) {
        EXPECT_TRUE(object.holders.Pin()->Holds(step.target));
      } else {
        EXPECT_EQ(VersionOf(object), version_before_ + 1);
        EXPECT_EQ(object.route.Pin()->OwnerOf(step.covers.lo.head), step.target);
      }
    } else {
      EXPECT_EQ(VersionOf(object), version_before_);
      rows.insert(step.chunk.keys.begin(), step.chunk.keys.end());
    }
    EXPECT_EQ(scans_begun.load(), scans_ended_);
    under_way_ = nullptr;
  }
  // The AEU need not ask for memory.
  static void ExpectRoom(const ObjectEntry& object, const TransferStep& step) {
    if (step.rows_max > 4096) return;  // beyond a bound there is less
    EXPECT_GT(step.chunk.keys.capacity(), step.rows_max);
    EXPECT_GT(step.chunk.values.capacity(), step.rows_max);
    if (object.kind == ObjectKind::kIndex) {
      EXPECT_GT(step.chunk.versions.keys.capacity(), step.rows_max / storage::kRowsPerVersion);
      EXPECT_GT(step.chunk.versions.values.capacity(), step.rows_max / storage::kRowsPerVersion);
    }
    if (!object.is_table()) return;
    ASSERT_EQ(step.chunk.rows.columns.size(), object.layout->columns());
    for (uint32_t i = 0; i < object.layout->columns(); ++i) {
      const ColumnBuffers& column = step.chunk.rows.columns[i];
      const uint32_t width = ColumnValueBytes(object.layout->column(i).type);
      EXPECT_GE(column.values.capacity(), uint64_t{step.rows_max} * width);
    }
  }
  // After each step of a table.
  void JoinBeginner() {
    if (!beginner_.joinable()) return;
    beginner_.join();
    ++scans_ended_;
  }
  ~PlayedAeus() override { JoinBeginner(); }

  std::set<uint64_t> rows{};                      // of the source
  std::set<uint64_t> moved{};                     // to the target
  std::map<uint32_t, uint64_t> prepared_bytes{};  // by target
  uint64_t row_ns = 100;
  std::function<StepOutcome(int)> outcome = [](int) { return StepOutcome::kInstalled; };
  std::function<void(TransferStep&)> on_give = nullptr;
  std::function<void()> on_conclude;
  absl::Status reserve_status, give_status;
  int gives = 0, concludes = 0, releases = 0;
  bool makes_no_progress = false;  // a step ends when it is given up
  std::vector<uint32_t> rows_max{};
  std::atomic<int> scans_begun{0};

 private:
  static uint64_t VersionOf(const ObjectEntry& object) { return object.route.Pin()->version(); }

  void Take(const ObjectEntry& object, TransferStep& step) {
    JoinBeginner();
    storage::Range covers = step.leaving;
    std::vector<uint64_t> leaving;
    for (const uint64_t key : rows) {
      if (object.kind == ObjectKind::kHeapTable || step.leaving.ContainsU64(key)) {
        leaving.push_back(key);
      }
    }
    if (step.kind == TransferKind::kCopy && leaving.size() > step.rows_max) {
      if (step.from == End::kLow) {
        covers.hi = storage::Key{leaving[step.rows_max], 0};
        leaving.resize(step.rows_max);
      } else {
        leaving.erase(leaving.begin(), leaving.end() - step.rows_max);
        covers.lo = {leaving.front(), 0};
      }
    }
    for (const uint64_t key : leaving) rows.erase(key);
    step.covers = covers;
    step.rows = leaving.size();
    step.bytes = 16 * leaving.size();
    step.source_cpu_ns = 1'000 + row_ns * leaving.size();
    step.target_cpu_ns = step.source_cpu_ns / 2;
    step.source_wall_ns = step.target_wall_ns = 2 * step.source_cpu_ns;
    step.chunk.keys = std::move(leaving);
  }

  Core& core_;
  const TransferStep* under_way_ = nullptr;
  uint64_t version_before_ = 0;
  std::thread beginner_;
  int scans_ended_ = 0;
};

class TransferExecutorTest : public testing::Test {
 protected:
  TransferExecutorTest() {
    // Sparse, clustered, and both ends of the key space.
    for (uint64_t i = 0; i < 3'000; ++i) aeus_.rows.insert(i * 1'000'003);
    for (uint64_t i = 0; i < 3'000; ++i) aeus_.rows.insert(uint64_t{1} << 40 | i);
    for (uint64_t i = 0; i < 3'000; ++i) aeus_.rows.insert(kLast - i * i);
    all_ = aeus_.rows;
  }

  static std::unique_ptr<ObjectEntry> Index(ObjectKind kind = ObjectKind::kIndex) {
    auto entry = std::make_unique<ObjectEntry>(
        "o", kind, 0, ObjectId{1},
        std::make_unique<routing::RangeTable>(1, std::vector<uint64_t>{0, 1'000},
                                              std::vector<AeuId>{AeuId{0}, AeuId{0}}),
        *LayoutOf(kind, KeyValueSchema()));
    entry->AddMember({0});
    return entry;
  }
  static PlannedTransfer Copy(const KeyRange& range) {
    return {.range = range, .from = {0}, .to = {1}, .kind = TransferKind::kCopy};
  }
  TransferExecutor::Result Run(const PlannedTransfer& transfer,
                               absl::Time deadline = absl::InfiniteFuture(),
                               MoveStop* stop = nullptr) {
    const TransferStop::Call call(core_.transfer_stop, {deadline, stop});
    TransferExecutor::Result result = executor_.Run(*object_, transfer, call.ticket());
    aeus_.JoinBeginner();  // which waits at the object's gate
    return result;
  }
  // Whoever owns the keys by the table has the rows; none is lost, none is there twice.
  void ExpectTableAndRowsAgree() {
    const auto table = object_->route.Pin();
    EXPECT_EQ(aeus_.rows.size() + aeus_.moved.size(), all_.size());
    for (const uint64_t key : aeus_.rows) ASSERT_EQ(table->OwnerOf(key), AeuId{0}) << key;
    for (const uint64_t key : aeus_.moved) ASSERT_EQ(table->OwnerOf(key), AeuId{1}) << key;
  }

  Core core_;
  PlayedAeus aeus_{core_};
  TransferExecutor executor_{core_, aeus_};
  std::unique_ptr<ObjectEntry> object_ = Index();
  std::set<uint64_t> all_;
};

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
      {[&] { core_.transfer_stop.Close(); }, absl::UnavailableError("the engine is closing")}};
  for (const auto& [event, status] : events) {
    object_ = Index();
    stop.emplace();
    aeus_.on_give = [&happens = event](TransferStep&) { happens(); };
    const absl::Time deadline = absl::IsDeadlineExceeded(status)
                                    ? absl::Now() + absl::Milliseconds(30)
                                    : absl::InfiniteFuture();
    const TransferExecutor::Result result = Run(Copy(Keys(0)), deadline, &*stop);
    EXPECT_EQ(result.status, status);
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

TEST_F(TransferExecutorTest, OfATableNoScanOfALaterSnapshotBeginsWithinAStep) {
  const auto layout = storage::TableLayout::Create(
      {.columns = {{.name = "k", .type = ColumnType::kUint64}}, .key = {0}});
  ASSERT_TRUE(layout.ok()) << layout.status();
  object_ =
      std::make_unique<ObjectEntry>("t", ObjectKind::kTable, 0, ObjectId{1},
                                    std::make_unique<routing::RangeTable>(
                                        1, std::vector<uint64_t>{0}, std::vector<AeuId>{AeuId{0}}),
                                    *layout);
  const TransferExecutor::Result result = Run(Copy(Keys(0)));
  ASSERT_TRUE(result.status.ok()) << result.status;
  aeus_.JoinBeginner();
  // One in each step, and each was let in at its end.
  EXPECT_EQ(aeus_.scans_begun.load(), aeus_.gives);
  ExpectTableAndRowsAgree();
}

// However long a pause may be, and however many columns may have the long strings.
TEST_F(TransferExecutorTest, OfATablesFirstChunkSoMuchIsMadeReadyAndNoMore) {
  const auto layout =
      storage::TableLayout::Create({.columns = {{.name = "k", .type = ColumnType::kUint64},
                                                {.name = "s", .type = ColumnType::kString},
                                                {.name = "t", .type = ColumnType::kString}},
                                    .key = {0}});
  ASSERT_TRUE(layout.ok()) << layout.status();
  object_ =
      std::make_unique<ObjectEntry>("t", ObjectKind::kTable, 0, ObjectId{1},
                                    std::make_unique<routing::RangeTable>(
                                        1, std::vector<uint64_t>{0}, std::vector<AeuId>{AeuId{0}}),
                                    *layout);
  executor_.SetBudget(1'000'000, 0);
  {
    base::MutexLock lock(&object_->publisher_mu());
    ChunkSize& size = object_->chunk_size();
    while (size.rows() < 1 << 16) size.Learn(size.rows(), 2'000 * size.rows(), 1, 1'000'000);
  }
  uint64_t made_ready = 0;
  aeus_.on_give = [&](const TransferStep& step) {
    if (aeus_.gives > 1) return;
    for (const ColumnBuffers& column : step.chunk.rows.columns) {
      made_ready += column.values.capacity() + column.offsets.capacity();
    }
  };
  EXPECT_TRUE(Run(Copy(Keys(0))).status.ok());
  EXPECT_GT(made_ready, 1u << 20);
  EXPECT_LT(made_ready, 64u << 20);
}

// Columns of numbers are as wide as they are, however long a row may be.
TEST_F(TransferExecutorTest, OfATableOfManyColumnsAllOfAChunkIsMadeReady) {
  Schema schema{.key = {0}};
  for (int i = 0; i < 200; ++i) {
    schema.columns.push_back({.name = absl::StrCat("c", i), .type = ColumnType::kUint64});
  }
  const auto layout = storage::TableLayout::Create(schema);
  ASSERT_TRUE(layout.ok()) << layout.status();
  object_ =
      std::make_unique<ObjectEntry>("t", ObjectKind::kTable, 0, ObjectId{1},
                                    std::make_unique<routing::RangeTable>(
                                        1, std::vector<uint64_t>{0}, std::vector<AeuId>{AeuId{0}}),
                                    *layout);
  {
    base::MutexLock lock(&object_->publisher_mu());
    ChunkSize& size = object_->chunk_size();
    while (size.rows() < 1'000) size.Learn(size.rows(), 1'600 * size.rows(), 1, 1'000'000);
  }
  // What is ready, PlayedAeus looks at.
  EXPECT_TRUE(Run(Copy(Keys(0))).status.ok());
  EXPECT_GE(aeus_.rows_max.front(), 1'000u);
  ExpectTableAndRowsAgree();
}

TEST_F(TransferExecutorTest, OfAHeapTableSoManyRowsMoveAndTheTargetBecomesAHolder) {
  const auto layout =
      storage::TableLayout::Create({.columns = {{.name = "v", .type = ColumnType::kUint64}}});
  ASSERT_TRUE(layout.ok()) << layout.status();
  const std::vector<AeuId> holders{AeuId{0}};
  object_ = std::make_unique<ObjectEntry>(
      "h", ObjectKind::kHeapTable, 0, ObjectId{1},
      std::make_unique<routing::RangeTable>(1, std::vector<uint64_t>{0},
                                            std::vector<AeuId>{AeuId{0}}),
      *layout, std::make_unique<routing::BitmapTable>(1, kAeus, holders));
  PlannedTransfer transfer = Copy({});
  transfer.rows = 1'000;
  EXPECT_TRUE(Run(transfer).status.ok());
  EXPECT_EQ(aeus_.moved.size(), 1'000u);
  EXPECT_EQ(object_->holders.Pin()->Owners(), (std::vector<AeuId>{AeuId{0}, AeuId{1}}));
  EXPECT_EQ(object_->holders.Pin()->version(), 2u);  // once
  // More than there are.
  transfer.rows = 1'000'000;
  EXPECT_TRUE(Run(transfer).status.ok());
  EXPECT_EQ(aeus_.moved, all_);
}

TEST_F(TransferExecutorTest, TheHistoryHasTheNewestFirstAndABound) {
  PlannedTransfer link = Copy(Keys(0, 1));
  link.kind = TransferKind::kLink;
  for (size_t i = 0; i < kTransferHistoryMax + 10; ++i) {
    link.to = AeuId{i % 2 == 0 ? 1u : 0u};
    link.from = AeuId{i % 2 == 0 ? 0u : 1u};
    ASSERT_TRUE(Run(link).status.ok());
  }
  const std::vector<TransferRecord> history = executor_.history().Newest();
  ASSERT_EQ(history.size(), kTransferHistoryMax);
  EXPECT_EQ(history.front().id, kTransferHistoryMax + 10);
  EXPECT_EQ(history.back().id, 11u);
  EXPECT_EQ(executor_.history().totals().transfers[TransferKind::kLink], kTransferHistoryMax + 10);
  EXPECT_TRUE(executor_.history().Running().empty());
}

TEST_F(TransferExecutorTest, TheHistorySaysWhoIsWaitedFor) {
  const auto phase = [&] { return executor_.history().Running().at(0).phase; };
  std::vector<TransferPhase> phases;
  aeus_.on_give = [&](TransferStep&) { phases.push_back(phase()); };
  aeus_.on_conclude = [&] { phases.push_back(phase()); };
  ASSERT_TRUE(Run(Copy(Keys(0, 1))).status.ok());
  EXPECT_EQ(phases, (std::vector{TransferPhase::kSource, TransferPhase::kConclusion}));
  EXPECT_EQ(executor_.history().Newest().at(0).phase, TransferPhase::kBetweenSteps);
}

uint64_t test_now_ns = 0;  // of the clock below

TEST(TransferHistoryTest, AStepThatMakesNoProgressIsAStallOfThatLength) {
  constexpr uint64_t kSecond = 1000 * uint64_t{kTransferStallUs};
  test_now_ns = 1;
  TransferHistory history([] { return test_now_ns; });
  TransferStep step;
  const uint64_t id = history.Begin("o", {.range = Keys(0, 9), .from = AeuId{0}, .to = AeuId{1}});
  const auto idle = [&] { return history.Running().at(0).idle_us; };
  // The rate has it wait: no stall, however long.
  test_now_ns += 5 * kSecond;
  EXPECT_EQ(history.totals().stalls, 0u);
  history.SetPhase(id, TransferPhase::kSource);
  EXPECT_EQ(idle(), 0);
  // A hash that prepares works in each turn.
  for (uint32_t turn = 1; turn < 5; ++turn) {
    test_now_ns += kSecond - 1;
    EXPECT_EQ(idle(), kTransferStallUs - 1);
    step.turns.store(turn);
    history.Look(id, step);
    EXPECT_EQ(idle(), 0);
  }
  EXPECT_EQ(history.totals().stalls, 0u);
  // Nothing moves; another transfer's step is in its way, and it is tried again.
  test_now_ns += kSecond / 2;
  history.Look(id, step);
  history.SetPhase(id, TransferPhase::kOtherTransfer);
  history.SetPhase(id, TransferPhase::kSource);
  test_now_ns += kSecond / 2;
  EXPECT_EQ(idle(), kTransferStallUs);
  EXPECT_EQ(history.totals().stalls, 1u);  // although nobody has looked
  history.Look(id, step);
  history.Look(id, step);
  EXPECT_EQ(history.totals().stalls, 1u);  // the same one
  // The rows leave, which is progress, and then the target takes its time.
  step.left.store(true);
  history.Look(id, step);
  EXPECT_EQ(idle(), 0);
  EXPECT_EQ(history.Running().at(0).phase, TransferPhase::kTarget);
  test_now_ns += 2 * kSecond;
  EXPECT_EQ(history.totals().stalls, 2u);
  history.SetPhase(id, TransferPhase::kConclusion);
  EXPECT_EQ(idle(), 2 * kTransferStallUs);
  step.outcome = StepOutcome::kInstalled;
  history.Add(id, step);
  EXPECT_EQ(idle(), 0);
  EXPECT_EQ(history.End(id, TransferOutcome::kDone, "").idle_us, 0);
  EXPECT_EQ(history.totals().stalls, 2u);
}

}  // namespace
}  // namespace eris::engine
