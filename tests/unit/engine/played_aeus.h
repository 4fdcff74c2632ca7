// Transfers whose AEUs are played by the test.
#ifndef ERIS_TESTS_UNIT_ENGINE_PLAYED_AEUS_H_
#define ERIS_TESTS_UNIT_ENGINE_PLAYED_AEUS_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "engine/moving/transfer_executor.h"
#include "engine/objects/object_kinds.h"
#include "tests/support/one_numa_node.h"

namespace eris::engine {

using routing::StepOutcome;
using routing::TransferStep;

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
    if (step.kind != TransferKind::kCopy && step.rows_max < segment_rows) {
      step.outcome = StepOutcome::kRefused;
      step.status = absl::FailedPreconditionError("no segment has as few rows");
      return absl::OkStatus();
    }
    if (step.outcome == StepOutcome::kRefused) {
      step.status = refusal;
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
  uint64_t segment_rows = 0;  // of a heap table, each
  std::function<StepOutcome(int)> outcome = [](int) { return StepOutcome::kInstalled; };
  std::function<void(TransferStep&)> on_give = nullptr;
  std::function<void()> on_conclude;
  absl::Status reserve_status, give_status;
  absl::Status refusal = absl::FailedPreconditionError("not an end of the range");  // kRefused
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
    if (step.kind != TransferKind::kCopy && object.kind == ObjectKind::kHeapTable) {
      leaving.erase(leaving.begin(), leaving.end() - static_cast<ptrdiff_t>(segment_rows));
    }
    if (step.kind == TransferKind::kCopy && leaving.size() > step.rows_max) {
      if (step.from == storage::Partition::End::kLow) {
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
  static constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();

  TransferExecutorTest() {
    // Sparse, clustered, and both ends of the key space.
    for (uint64_t i = 0; i < 3'000; ++i) aeus_.rows.insert(i * 1'000'003);
    for (uint64_t i = 0; i < 3'000; ++i) aeus_.rows.insert(uint64_t{1} << 40 | i);
    for (uint64_t i = 0; i < 3'000; ++i) aeus_.rows.insert(kLast - i * i);
    all_ = aeus_.rows;
  }

  static std::unique_ptr<ObjectEntry> Index(ObjectKind kind = ObjectKind::kIndex) {
    auto entry = NewEntry(kind, KeyValueSchema(), {0, 1'000});
    entry->AddMember({0});
    return entry;
  }
  // AEU 0 has all of it.
  static std::unique_ptr<ObjectEntry> NewEntry(
      ObjectKind kind, const Schema& schema, const std::vector<uint64_t>& starts = {0},
      std::unique_ptr<routing::BitmapTable> holders = nullptr) {
    return std::make_unique<ObjectEntry>(
        "o", kind, 0, ObjectId{1},
        std::make_unique<routing::RangeTable>(1, starts, std::vector(starts.size(), AeuId{0})),
        *LayoutOf(kind, schema), std::move(holders));
  }
  static KeyRange Keys(uint64_t lo, std::optional<uint64_t> hi = std::nullopt) {
    return {.lo = lo, .hi = hi};
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

  Core core_{test::OneNumaNode()};
  PlayedAeus aeus_{core_};
  TransferExecutor executor_{core_, aeus_};
  std::unique_ptr<ObjectEntry> object_ = Index();
  std::set<uint64_t> all_;
};

}  // namespace eris::engine

#endif  // ERIS_TESTS_UNIT_ENGINE_PLAYED_AEUS_H_
