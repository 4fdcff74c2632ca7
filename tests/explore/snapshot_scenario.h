// Snapshots begin, are given up and end while AEUs take their turns: what a turn knows of them, by
// its mark and its view, is what keeping and freeing of old rows rest on.
#ifndef ERIS_TESTS_EXPLORE_SNAPSHOT_SCENARIO_H_
#define ERIS_TESTS_EXPLORE_SNAPSHOT_SCENARIO_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "routing/snapshot_registry.h"
#include "tests/explore/explorer.h"

namespace eris::explore {

using ModelRegistry = routing::BasicSnapshotRegistry<ModelMemory, 6>;

// Thread 1 is an AEU, 2 a scan that reads at it `scans` times; the others take snapshots and let
// them go, `others` times each.
class SnapshotTurnScenario : public Scenario {
 public:
  SnapshotTurnScenario(uint32_t scans, uint32_t others) : scans_(scans), others_(others) {}

  void Run(uint32_t thread) override {
    if (thread == 1) {
      while (answered_ < scans_) Turn();
      Turn();
    } else if (thread == 2) {
      for (uint32_t i = 1; i <= scans_; ++i) Read(i);
    } else {
      for (uint32_t i = 0; i < others_; ++i) {
        const auto held = registry_.Begin();
        if (!held) return Fail("no slot, but there are enough");
        registry_.End(held->slot);
      }
    }
  }
  void Finish() override {
    // What has ended is known to have ended, or the AEU looks again.
    if (registry_.Now() == mark_ && !view_.active.empty()) Fail("an end was missed");
    storage::SnapshotView view;
    registry_.Read(registry_.Now(), view);
    if (!view.active.empty()) Fail("a snapshot is held by nobody");
  }

 private:
  void Turn() {
    const uint32_t asked = asked_.load(std::memory_order_acquire);  // the cut
    const auto mark = registry_.Now();
    if (mark != mark_) registry_.Read(mark, view_);
    mark_ = mark;
    turns_.emplace_back(view_.epoch, view_.active);
    if (asked == answered_) return GiveWay();
    ModelMemory::WillRead(&snapshot_, sizeof snapshot_);
    const uint64_t snapshot = snapshot_;
    if (view_.epoch <= snapshot) Fail("the turn that has the scan writes into its snapshot");
    if (!registry_.Holds(snapshot)) Fail("the scan's snapshot does not look held");
    for (const auto& [epoch, active] : turns_) {
      const bool known = std::find(active.begin(), active.end(), snapshot) != active.end();
      if (epoch > snapshot && !known) Fail("a turn that writes above a snapshot does not know it");
    }
    answered_ = asked;
    answer_.store(asked, std::memory_order_release);
  }
  void Read(uint32_t i) {
    const auto held = registry_.Begin();
    if (!held) return Fail("no slot, but there are enough");
    ModelMemory::WillWrite(&snapshot_, sizeof snapshot_);
    snapshot_ = held->epoch;
    asked_.store(i, std::memory_order_release);
    while (answer_.load(std::memory_order_acquire) != i) GiveWay();
    registry_.End(held->slot);
  }

  const uint32_t scans_;
  const uint32_t others_;
  ModelRegistry registry_;
  // The scan's part, and its answer.
  uint64_t snapshot_ = 0;
  ModelAtomic<uint32_t> asked_{0};
  ModelAtomic<uint32_t> answer_{0};
  // The AEU's.
  uint32_t answered_ = 0;
  ModelRegistry::Mark mark_;
  storage::SnapshotView view_;
  std::vector<std::pair<uint64_t, std::vector<uint64_t>>> turns_;
};

// Thread 1 takes the first snapshot and gives it up, 2 is an AEU that frees its old rows when it
// learns that and hands its range over, 3 the AEU that gets it and asks whether it may read at the
// snapshot; 4, if there, takes another one meanwhile.
class SnapshotAbortScenario : public Scenario {
 public:
  void Run(uint32_t thread) override {
    if (thread == 1) {
      const auto held = registry_.Begin();
      epoch_.store(held->epoch, std::memory_order_release);
      registry_.Abort(held->slot);
    } else if (thread == 2) {
      uint64_t snapshot;
      while ((snapshot = epoch_.load(std::memory_order_acquire)) == 0) GiveWay();
      storage::SnapshotView view;
      registry_.Read(registry_.Now(), view);
      const bool known =
          std::find(view.active.begin(), view.active.end(), snapshot) != view.active.end();
      handed_over_.store(known ? 1 : 2, std::memory_order_release);
    } else if (thread == 3) {
      const auto mark = registry_.Now();  // of an earlier turn: it does not read again
      uint32_t handed_over;
      while ((handed_over = handed_over_.load(std::memory_order_acquire)) == 0) GiveWay();
      const bool holds = registry_.Holds(epoch_.load(std::memory_order_relaxed));
      if (handed_over == 2 && holds) Fail("rows are freed, and their snapshot is read");
      static_cast<void>(mark);
    } else {
      const auto held = registry_.Begin();
      if (held) registry_.End(held->slot);
    }
  }
  void Finish() override {}

 private:
  ModelRegistry registry_;
  ModelAtomic<uint64_t> epoch_{0};
  ModelAtomic<uint32_t> handed_over_{0};
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_SNAPSHOT_SCENARIO_H_
