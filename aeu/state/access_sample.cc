#include "aeu/state/access_sample.h"

#include <algorithm>
#include <new>

#include "routing/data_command.h"

namespace eris::aeu {

static_assert(static_cast<uint32_t>(routing::CommandType::kTableScan) == AccessSample::kSpread);

memory::FailurePoint& AccessSample::AllocationFailures() {
  static memory::FailurePoint failures;
  return failures;
}

AccessSample::Ring* AccessSample::NewRing() {
  // After one refusal do not ask again: the commands matter more.
  if (refused_) return nullptr;
  Ring* ring = AllocationFailures().Fires() ? nullptr : new (std::nothrow) Ring;
  refused_ = ring == nullptr;
  // Pairs with the acquire in Read.
  ring_.store(ring, std::memory_order_release);
  return ring;
}

uint64_t AccessSample::Plausible(uint32_t kind, uint64_t keys, uint64_t elapsed_ns) const {
  constexpr uint64_t kKeysMin = 1024;
  constexpr uint64_t kTimesUsual = 4;
  const uint64_t before = keys_[kind].Read();
  if (before < kKeysMin) return elapsed_ns;
  const uint64_t usual_ns = execution_ns_[kind].Read() / before + 1;
  return std::min(elapsed_ns, kLongBatchNs + kTimesUsual * usual_ns * keys);
}

uint64_t AccessSample::Read(uint64_t from, uint32_t count_max, std::vector<Access>& out) const {
  const uint64_t end = noted();
  const Ring* ring = ring_.load(std::memory_order_acquire);
  if (ring == nullptr || count_max == 0) return end;
  const uint64_t begin = std::max(from, end - std::min<uint64_t>(end, kRingKeys));
  const uint64_t count = std::min<uint64_t>(count_max, end - std::min(begin, end));
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = (begin + (end - begin) * i / count) % kRingKeys;
    // relaxed: see the head of this file.
    out.push_back({ring->keys[at].load(std::memory_order_relaxed),
                   ring->kinds[at].load(std::memory_order_relaxed)});
  }
  return end;
}

uint32_t AccessSample::row_keys() const {
  // Pairs with the release in NewRing.
  const Ring* ring = ring_.load(std::memory_order_acquire);
  return ring == nullptr ? 0 : ring->rows.count();
}

uint64_t AccessSample::ReadRows(uint32_t keys_max, std::vector<uint64_t>& out) const {
  // Pairs with the release in NewRing.
  const Ring* ring = ring_.load(std::memory_order_acquire);
  return ring == nullptr ? 0 : ring->rows.Read(keys_max, out);
}

}  // namespace eris::aeu
