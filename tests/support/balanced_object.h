// A data object under a balancer, without an engine: accesses, new rows and scans are made up and
// noted as AEUs note them; periods are sampled, planned and applied as the engine does it. Whoever
// asks it knows the exact loads and rows.
#ifndef ERIS_TESTS_SUPPORT_BALANCED_OBJECT_H_
#define ERIS_TESTS_SUPPORT_BALANCED_OBJECT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "balancer/load/idle_rows.h"
#include "balancer/load/load_curve.h"
#include "balancer/load/load_sampler.h"
#include "balancer/make_plan.h"
#include "balancer/trigger.h"
#include "tests/support/load_samples.h"

namespace eris::test {

class BalancedObject {
 public:
  static constexpr uint64_t kPeriodNs = 1'000'000'000;
  static constexpr double kThreshold = 0.25;
  // A row that is put in stands for so many, and an access for those that are not noted.
  static constexpr uint64_t kRowsEach = 1000;
  static constexpr uint64_t kAccessNs = 50'000;

  // `end`: the AEUs begin with equal parts of the keys below it. If it is given, the creator has
  // said so.
  explicit BalancedObject(uint32_t aeus, balancer::Position end = balancer::kEndOfKeys) {
    if (end != balancer::kEndOfKeys) placed_ = balancer::PlacedBy::kCreator;
    for (uint32_t i = 0; i < aeus; ++i) {
      owners_[end / aeus * i] = AeuId{i};
      samples_.push_back(std::make_shared<aeu::AccessSample>());
      world_.numa_nodes.push_back(NumaNodeId{i / 4});
    }
  }

  void Access(uint64_t key) { samples_[OwnerOf(key).value]->RecordSlice(kLookup, key, kAccessNs); }
  void Insert(uint64_t key) {
    if (!rows_.insert(key).second) return;
    aeu::AccessSample& sample = *samples_[OwnerOf(key).value];
    sample.RecordSlice(kUpsert, key, kAccessNs);
    storage::KeyState state = storage::KeyState::kAbsent;
    const uint32_t position = 0;
    const storage::BatchPart part{
        .count = 1, .keys = &key, .positions = &position, .states_out = &state};
    for (uint64_t i = 0; i < kRowsEach; ++i) sample.RecordAdded({&part, 1}, 1);
  }
  // Each AEU takes that long for all of its rows together.
  void ScanAll(uint64_t ns_per_row) {
    const std::vector<double> rows = Rows();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] > 0) samples_[i]->RecordSpread(static_cast<uint64_t>(rows[i]) * ns_per_row);
    }
  }
  // True: something has moved.
  bool EndPeriod(BalanceAlgorithm algorithm = BalanceAlgorithm::kOneShot, uint32_t window = 1) {
    now_ns_ += kPeriodNs;
    uint64_t keys = 0;
    for (const auto& sample : samples_) keys += sample->keys();
    const bool idle = sampler_.StaysQuiet(keys, now_ns_, kPeriodNs);
    const bool rows_due = idle_.Due(idle, 0, placed_);
    BalancePlan plan;
    if (idle) {
      if (!rows_due) return false;
      plan = balancer::MakePlan("o", Sample(), BalanceAlgorithm::kSize, 0, world_);
      if (!idle_.Worth(plan, kThreshold)) return false;
    } else {
      const balancer::LoadSample sample = Sample();
      plan = balancer::MakePlan("o", sample, algorithm, window, world_);
      if (balancer::Decide(sample, plan, kThreshold, world_, trigger_) !=
          balancer::TriggerVerdict::kMove) {
        return false;
      }
      placed_ = balancer::PlacedBy::kLoad;
    }
    for (const PlannedTransfer& transfer : plan.transfers) Move(transfer);
    ++cycles_moved_;
    return true;
  }
  void EndPeriods(int count) {
    for (int i = 0; i < count; ++i) EndPeriod();
  }

  AeuId OwnerOf(balancer::Position key) const {
    return std::prev(owners_.upper_bound(key))->second;
  }
  // By AEU; what is between two borders counts as `in` says.
  std::vector<double> Loads(
      const std::function<double(balancer::Position, balancer::Position)>& in) const {
    std::vector<double> loads(samples_.size());
    for (auto at = owners_.begin(); at != owners_.end(); ++at) {
      const auto next = std::next(at);
      loads[at->second.value] +=
          in(at->first, next == owners_.end() ? balancer::kEndOfKeys : next->first);
    }
    return loads;
  }
  std::vector<double> Rows() const {
    return Loads([&](balancer::Position lo, balancer::Position hi) {
      return static_cast<double>(CountIn(lo, hi) * kRowsEach);
    });
  }
  double RowsMaxOverMean() const { return MaxOverMean(Rows()); }
  int cycles_moved() const { return cycles_moved_; }
  uint64_t rows_moved() const { return rows_moved_; }

 private:
  static constexpr uint32_t kLookup = 1;
  static constexpr uint32_t kUpsert = 2;

  balancer::LoadSample Sample() {
    std::vector<balancer::SampledAeu> aeus;
    for (uint32_t i = 0; i < samples_.size(); ++i) aeus.push_back({AeuId{i}, samples_[i]});
    std::vector<balancer::SampledPartition> partitions;
    for (auto at = owners_.begin(); at != owners_.end(); ++at) {
      const auto next = std::next(at);
      balancer::SampledPartition one;
      one.range.lo = storage::Key::FromU64(static_cast<uint64_t>(at->first));
      const bool last = next == owners_.end();
      if (!last) one.range.hi = storage::Key::FromU64(static_cast<uint64_t>(next->first));
      one.owner = at->second;
      one.rows = CountIn(at->first, last ? balancer::kEndOfKeys : next->first) * kRowsEach;
      partitions.push_back(one);
    }
    return sampler_.Sample(ObjectId{}, partitions, aeus, now_ns_, kPeriodNs);
  }
  uint64_t CountIn(balancer::Position lo, balancer::Position hi) const {
    const auto at = [&](balancer::Position key) {
      return key > ~uint64_t{0} ? rows_.end() : rows_.lower_bound(static_cast<uint64_t>(key));
    };
    return static_cast<uint64_t>(std::distance(at(lo), at(hi)));
  }
  void Move(const PlannedTransfer& t) {
    const balancer::Position hi =
        t.range.hi ? balancer::Position{*t.range.hi} : balancer::kEndOfKeys;
    const AeuId behind = hi == balancer::kEndOfKeys ? t.to : OwnerOf(hi);
    ASSERT_EQ(OwnerOf(t.range.lo), t.from);
    rows_moved_ += CountIn(t.range.lo, hi) * kRowsEach;
    owners_.erase(owners_.lower_bound(t.range.lo), owners_.lower_bound(hi));
    owners_[t.range.lo] = t.to;
    if (hi != balancer::kEndOfKeys) owners_.try_emplace(hi, behind);
  }

  std::map<balancer::Position, AeuId> owners_;
  std::set<uint64_t> rows_;
  std::vector<std::shared_ptr<aeu::AccessSample>> samples_;
  balancer::PlanWorld world_;
  balancer::LoadSampler sampler_;
  balancer::TriggerState trigger_;
  balancer::IdleRows idle_;
  balancer::PlacedBy placed_ = balancer::PlacedBy::kNobody;
  uint64_t now_ns_ = kPeriodNs;
  int cycles_moved_ = 0;
  uint64_t rows_moved_ = 0;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_BALANCED_OBJECT_H_
