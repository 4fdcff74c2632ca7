// Ranges of one object that change hands between the turns of an engine's AEUs, which the test
// steps: at once, behind the back of the partition table, which follows later. So keys are sent
// back and sent again. Over the simulation's AeuTestPeer (tests/sim/).
#ifndef ERIS_TESTS_SUPPORT_MOVING_RANGES_H_
#define ERIS_TESTS_SUPPORT_MOVING_RANGES_H_

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "engine/engine_impl.h"
#include "storage/table/table_partition.h"
#include "tests/sim/aeu_peer.h"
#include "tests/support/hand_engine.h"

namespace eris::test {

// Puts the table in force that says who owns what now; `slot_of(i)` is that of AEU i < aeus.
template <class SlotOf>
void PublishOwners(routing::ObjectRoute& route, uint32_t aeus, SlotOf slot_of,
                   routing::TableReaders& readers) {
  std::map<uint64_t, AeuId> owners;
  for (uint32_t i = 0; i < aeus; ++i) {
    for (const aeu::OwnedRange& owned : slot_of(i).ranges()) {
      if (!owned.partition->range().Empty()) owners[owned.partition->range().lo.head] = AeuId{i};
    }
  }
  std::vector<uint64_t> starts;
  std::vector<AeuId> by_start;
  for (const auto& [start, owner] : owners) starts.push_back(start), by_start.push_back(owner);
  route.Publish(std::make_unique<routing::RangeTable>(route.Pin()->version() + 1, starts, by_start),
                readers);
}

class MovingRanges {
 public:
  struct Options {
    uint64_t keys = 0;  // ranges are cut below it
    // An empty partition of the object's kind; nullptr: of an index, whose adjacent ranges join.
    std::function<std::unique_ptr<storage::Partition>(const storage::Range&, memory::LocalCache&)>
        make = nullptr;
    uint64_t move_one_in = 8;  // of StepOne's
    uint64_t publish_one_in = 24;
    aeu::StepBudget budget{};
  };

  // `random` is the stepping thread's.
  MovingRanges(HandEngine& engine, std::mt19937_64& random, absl::string_view object,
               Options options)
      : engine_(engine),
        random_(random),
        options_(std::move(options)),
        object_(*engine->core().catalogue.Find(object)) {
    // Scans of a table ask them all, wherever its rows go.
    for (uint32_t i = 0; object_->is_table() && i < engine->aeu_count(); ++i) {
      object_->AddMember(AeuId{i});
    }
  }

  // A piece of a range changes hands; no table says so before Publish.
  void MoveSome() {
    const auto aeus = engine_->aeu_count();
    const auto from = static_cast<uint32_t>(random_() % aeus);
    if (Slot(from).ranges().empty()) return;
    storage::Partition& partition =
        *Slot(from).ranges()[random_() % Slot(from).ranges().size()].partition;
    storage::Range range = partition.range();
    const auto lo = storage::Key::FromU64(random_() % options_.keys);
    const auto hi = storage::Key::FromU64(random_() % options_.keys);
    if (range.Contains(lo)) range.lo = lo;
    if (range.Contains(hi) && range.lo < hi) range.hi = hi;
    if (range.Empty()) return;
    const auto to = static_cast<uint32_t>((from + 1 + random_() % (aeus - 1)) % aeus);
    storage::ExchangeChunk rows;
    if (object_->is_table()) return MoveRows(from, to, partition, range);
    if (!aeu::AeuTestPeer::TakeRange(Slot(from), range, false, false, rows)) return;
    Give(Slot(to), rows);
    ++moves_;
  }
  void Publish() {
    PublishOwners(
        object_->route, static_cast<uint32_t>(engine_->aeu_count()),
        [this](uint32_t aeu) -> aeu::ObjectSlot& { return Slot(aeu); },
        engine_->core().directory.table_readers());
  }
  // One AEU's turn, and now and then a move or a new table.
  void StepOne() {
    if (random_() % options_.move_one_in == 0) MoveSome();
    if (random_() % options_.publish_one_in == 0) Publish();
    const auto aeu = static_cast<uint32_t>(random_() % engine_->aeu_count());
    if (!engine_->aeu({aeu}).Step(options_.budget)) sched_yield();
  }
  // Until nothing is under way; the table is right then.
  void Settle() {
    Publish();
    engine_.StepUntil([&] { return engine_->core().in_flight.count() == 0; });
  }
  // `call` runs on a thread of its own beside AEUs whose ranges move.
  template <class Call>
  void While(Call call) {
    std::atomic<bool> done{false};
    std::thread caller([&] {
      call();
      done.store(true);
    });
    while (!done.load()) StepOne();
    caller.join();
  }

  uint64_t moves() const { return moves_; }
  uint64_t Sum(uint64_t RoutingStats::*counter) const {
    uint64_t sum = 0;
    for (const AeuStats& aeu : engine_->Stats().aeus) sum += aeu.routing.*counter;
    return sum;
  }

 private:
  aeu::ObjectSlot& Slot(uint32_t aeu) {
    return *aeu::AeuTestPeer::SlotOf(engine_->aeu({aeu}), object_->route);
  }
  // For tables: moves an end, from `range` on. Old rows stay, in a partition without a range if
  // needed.
  void MoveRows(uint32_t from, uint32_t to, storage::Partition& partition, storage::Range range) {
    // Both sides at one epoch, the present one.
    auto& registry = engine_->core().directory.snapshots();
    registry.Read(registry.Now(), view_);
    using End = storage::Partition::End;
    const End end = range.lo == partition.range().lo ? End::kLow : End::kHigh;
    if (end == End::kHigh) range.hi = partition.range().hi;
    storage::ExchangeChunk rows;
    ERIS_CHECK(partition.Lend(range, end, ~uint32_t{0}, rows).ok());
    Give(Slot(to), rows);
    partition.Forget(view_, ~uint32_t{0});
    std::erase_if(Slot(from).ranges(), [&](const aeu::OwnedRange& owned) {
      return owned.version_bytes == 0 &&
             static_cast<const storage::TablePartition&>(*owned.partition).CanGo(view_);
    });
    ++moves_;
  }
  void Give(aeu::ObjectSlot& slot, const storage::ExchangeChunk& rows) {
    slot.history().Reserve();
    slot.history().TookIn(rows.covers, object_->route.version() + 1);
    if (!options_.make) return aeu::AeuTestPeer::GiveRange(slot, rows, /*join=*/true);
    auto partition = options_.make({rows.covers.lo, rows.covers.lo}, slot.cache());
    ERIS_CHECK(partition != nullptr);
    if (object_->is_table()) {
      static_cast<storage::TablePartition&>(*partition).SetSnapshots(&view_);
    }
    ERIS_CHECK(partition->Ingest(rows).ok());
    auto& ranges = slot.ranges();
    const auto after = std::find_if(ranges.begin(), ranges.end(), [&](const aeu::OwnedRange& one) {
      return rows.covers.lo < one.partition->range().lo;
    });
    ranges.insert(after, {std::move(partition), std::make_shared<aeu::PartitionLoad>(rows.covers)});
  }

  HandEngine& engine_;
  std::mt19937_64& random_;
  const Options options_;
  const engine::ObjectRef object_;
  storage::SnapshotView view_;  // of moves
  uint64_t moves_ = 0;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_MOVING_RANGES_H_
