#include "tests/linearizability/mover.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/time/clock.h"

namespace eris {

Mover::Mover(client::Client& client, MoverOptions options)
    : options_(std::move(options)), balancer_(client), thread_([this] { Run(); }) {}

absl::Status Mover::Stop() {
  // relaxed: it ends the loop; what the thread has written is seen after the join.
  stop_.store(true, std::memory_order_relaxed);
  thread_.join();
  return status_;
}

void Mover::Run() {
  for (size_t i = 0; i < options_.keys.size(); ++i) {
    owners_[options_.keys[i]] = static_cast<uint32_t>(i) % options_.aeus;
  }
  for (size_t i = 0; !stop_.load(std::memory_order_relaxed); ++i) {
    status_ =
        MoveOne(options_.links ? kTransferKinds[i % kTransferKindCount] : TransferKind::kCopy);
    if (!status_.ok()) return;
    absl::SleepFor(options_.pause);
  }
}

uint64_t Mover::DrawBorder(size_t key) {
  const uint64_t at = options_.keys[key];
  // As far as the next key, which is included; behind the last one there is nothing.
  const uint64_t gap = key + 1 < options_.keys.size() ? options_.keys[key + 1] - at : 0;
  const uint64_t reaches[] = {0, 1, options_.rows_behind + 1, gap};
  const uint64_t reach = std::min(reaches[random_() % std::size(reaches)], gap);
  return reach < 2 ? at + reach : at + random_() % reach;
}

uint32_t Mover::DrawOtherThan(uint32_t owner, uint32_t first, uint32_t count) {
  return first + (owner - first + 1 + static_cast<uint32_t>(random_() % (count - 1))) % count;
}

absl::Status Mover::MoveOne(TransferKind kind) {
  // Around one key or a few beside each other, with one owner or with several.
  const size_t last = options_.keys.size() - 1;
  const size_t key = random_() % options_.keys.size();
  uint64_t lo = DrawBorder(key), border = DrawBorder(std::min(key + random_() % 3, last));
  if (border < lo) std::swap(lo, border);
  std::optional<uint64_t> hi = border;
  if (border == lo) hi = lo == options_.keys[last] ? std::nullopt : std::optional(lo + 1);
  if (key + 3 > last && random_() % 2 == 0) hi = std::nullopt;

  auto range = std::prev(owners_.upper_bound(lo));
  const uint32_t owner = range->second;
  if (!options_.links) {
    while (range != owners_.begin() && std::prev(range)->second == owner) --range;
    lo = range->first;
  }
  uint32_t to = 0;
  if (kind == TransferKind::kLink) {
    const uint32_t side = options_.aeus_per_numa_node;
    to = DrawOtherThan(owner, owner / side * side, side);
    // As far as the NumaNode's ranges go.
    const auto far = std::find_if(owners_.upper_bound(lo), owners_.end(), [&](const auto& one) {
      return one.second / side != owner / side;
    });
    if (far != owners_.end() && (!hi || far->first < *hi)) hi = far->first;
  } else {
    to = DrawOtherThan(owner, 0, options_.aeus);
  }
  absl::Status moved =
      balancer_.Move(options_.object, {.lo = lo, .hi = hi}, AeuId{to}, kind, options_.key_type);
  if (!moved.ok()) return moved;
  if (hi) owners_.emplace(*hi, std::prev(owners_.upper_bound(*hi))->second);
  owners_.erase(owners_.lower_bound(lo), hi ? owners_.find(*hi) : owners_.end());
  owners_[lo] = to;
  return absl::OkStatus();
}

}  // namespace eris
