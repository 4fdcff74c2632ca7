// The outgoing side of the peers: commands are collected in an array per target, like ours, and
// copied when it is full.
#ifndef ERIS_BENCH_ROUTING_COLLECTOR_H_
#define ERIS_BENCH_ROUTING_COLLECTOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "bench/routing/shape.h"
#include "routing/ranges/range_table.h"

namespace eris::bench {

// Copy: bool(target, const Element*, count), false: no room, nothing was copied.
template <class Element, class Copy>
class Collector {
 public:
  Collector(const Shape& shape, uint32_t self, const routing::RangeTable& table, Copy copy)
      : self_(self),
        batch_(shape.batch),
        table_(table),
        copy_(std::move(copy)),
        used_(shape.aeus, 0),
        collected_(shape.aeus, std::vector<Element>(shape.batch)) {}

  uint32_t Send(uint32_t target, std::span<const uint64_t> keys, const uint64_t* values) {
    Element* const collected = collected_[target].data();
    uint32_t used = used_[target];
    uint32_t i = 0;
    while (i < keys.size()) {
      if (used == batch_) {
        if (!copy_(target, collected, used)) break;
        used = 0;
      }
      for (; i < keys.size() && used < batch_; ++i) {
        collected[used++].Fill(keys[i], values[i], self_);
      }
    }
    used_[target] = used;
    return i;
  }
  void SendMixed(std::span<const uint64_t> keys, const uint64_t* values,
                 std::vector<uint32_t>& refused) {
    owners_.resize(keys.size());
    table_.OwnersOf(keys, owners_);
    for (uint32_t i = 0; i < keys.size(); ++i) {
      const uint32_t target = owners_[i].value;
      if (used_[target] == batch_) {
        if (!copy_(target, collected_[target].data(), batch_)) {
          refused.push_back(i);
          continue;
        }
        used_[target] = 0;
      }
      collected_[target][used_[target]++].Fill(keys[i], values[i], self_);
    }
  }
  bool Flush() {
    bool all = true;
    for (uint32_t target = 0; target < used_.size(); ++target) {
      if (used_[target] == 0) continue;
      if (copy_(target, collected_[target].data(), used_[target])) {
        used_[target] = 0;
      } else {
        all = false;
      }
    }
    return all;
  }

 private:
  const uint32_t self_;
  const uint32_t batch_;
  const routing::RangeTable& table_;
  Copy copy_;
  std::vector<uint32_t> used_;
  std::vector<std::vector<Element>> collected_;
  std::vector<AeuId> owners_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_COLLECTOR_H_
