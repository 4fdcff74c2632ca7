#include "routing/split_kernels.h"

#include <algorithm>
#include <cstring>

// Compiled once per instruction set, chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "routing/split_kernels.cc"
#include <hwy/foreach_target.h>  // NOLINT: has to stand before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace eris::routing::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void CountFrom(const uint64_t* keys, size_t n, const uint64_t* starts, size_t ranges,
               uint32_t* counts) {
  const hn::ScalableTag<uint64_t> d;
  const size_t lanes = hn::Lanes(d);
  // At or above each start first; the difference of neighbours is what lies between them.
  counts[0] = static_cast<uint32_t>(n);
  for (size_t range = 1; range < ranges; ++range) {
    const auto below = hn::Set(d, starts[range] - 1);  // ascending from 0: not below it
    size_t above = 0;
    size_t i = 0;
    for (; i + lanes <= n; i += lanes)
      above += hn::CountTrue(d, hn::Gt(hn::LoadU(d, keys + i), below));
    for (; i < n; ++i) above += keys[i] >= starts[range];
    counts[range] = static_cast<uint32_t>(above);
  }
  for (size_t range = 0; range + 1 < ranges; ++range) counts[range] -= counts[range + 1];
}

template <bool kValues, bool kPositions>
void Gather(const KeyColumns& from, uint64_t first, uint64_t last, const KeyColumnsOut& to) {
  const hn::ScalableTag<uint64_t> d;
  const hn::Rebind<uint32_t, decltype(d)> d32;
  constexpr size_t kLanesMax = HWY_MAX_BYTES / sizeof(uint64_t);
  const size_t lanes = hn::Lanes(d);
  const auto low = hn::Set(d, first);
  const auto high = hn::Set(d, last);
  size_t out = 0;
  size_t i = 0;
  for (; i + lanes <= from.count; i += lanes) {
    const auto keys = hn::LoadU(d, from.keys + i);
    const auto inside = hn::Not(hn::Or(hn::Lt(keys, low), hn::Gt(keys, high)));
    const size_t count = hn::CountTrue(d, inside);
    const auto positions = kPositions ? hn::PromoteTo(d, hn::LoadU(d32, from.positions + i))
                                      : hn::Iota(d, uint64_t{from.first_position} + i);
    const auto keys_out = hn::Compress(keys, inside);
    const auto positions_out = hn::TruncateTo(d32, hn::Compress(positions, inside));
    if (out + lanes <= to.count) {
      // Whole vectors: what is too much is overwritten by the next one.
      hn::StoreU(keys_out, d, to.keys + out);
      hn::StoreU(positions_out, d32, to.positions + out);
      if constexpr (kValues) {
        hn::StoreU(hn::Compress(hn::LoadU(d, from.values + i), inside), d, to.values + out);
      }
    } else if (count > 0) {
      alignas(HWY_MAX_BYTES) uint64_t words[kLanesMax];
      alignas(HWY_MAX_BYTES) uint32_t halves[kLanesMax];
      hn::StoreU(keys_out, d, words);
      std::memcpy(to.keys + out, words, count * sizeof(uint64_t));
      hn::StoreU(positions_out, d32, halves);
      std::memcpy(to.positions + out, halves, count * sizeof(uint32_t));
      if constexpr (kValues) {
        hn::StoreU(hn::Compress(hn::LoadU(d, from.values + i), inside), d, words);
        std::memcpy(to.values + out, words, count * sizeof(uint64_t));
      }
    }
    out += count;
  }
  for (; i < from.count; ++i) {
    if (from.keys[i] < first || from.keys[i] > last) continue;
    to.keys[out] = from.keys[i];
    if constexpr (kValues) to.values[out] = from.values[i];
    to.positions[out] =
        kPositions ? from.positions[i] : from.first_position + static_cast<uint32_t>(i);
    ++out;
  }
}

void GatherFrom(const KeyColumns& from, uint64_t first, uint64_t last, const KeyColumnsOut& to) {
  if (from.values != nullptr) {
    from.positions != nullptr ? Gather<true, true>(from, first, last, to)
                              : Gather<true, false>(from, first, last, to);
  } else {
    from.positions != nullptr ? Gather<false, true>(from, first, last, to)
                              : Gather<false, false>(from, first, last, to);
  }
}

}  // namespace eris::routing::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace eris::routing {

HWY_EXPORT(CountFrom);
HWY_EXPORT(GatherFrom);

void CountByRange(std::span<const uint64_t> keys, std::span<const uint64_t> starts,
                  std::span<uint32_t> counts) {
  HWY_DYNAMIC_DISPATCH(CountFrom)
  (keys.data(), keys.size(), starts.data(), starts.size(), counts.data());
}

void GatherRange(const KeyColumns& from, uint64_t first, uint64_t last, const KeyColumnsOut& to) {
  HWY_DYNAMIC_DISPATCH(GatherFrom)(from, first, last, to);
}

}  // namespace eris::routing
#endif  // HWY_ONCE
