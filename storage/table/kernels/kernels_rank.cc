// The values in the middle of a few. Half of the branches that depend on a value are mispredicted,
// which costs std::nth_element most of its time, so here are none.
// This file is compiled once per target (foreach_target.h includes it repeatedly); code under
// HWY_ONCE is compiled once.
#include "storage/table/kernels/kernels.h"

#include <algorithm>
#include <bit>

#include "storage/table/kernels/rank_pick.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "storage/table/kernels/kernels_rank.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace eris::storage::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using RankTag = hn::ScalableTag<int64_t>;
constexpr size_t kRankLanes = hn::MaxLanes(RankTag());
static_assert(kRankLanes <= kRankSpare);

// Copies the values below the pivot, or with `equal` those that are the pivot, to `first`, the
// others to `second`. Returns the number of the former.
#if HWY_TARGET == HWY_AVX3
// Not hn::Compress, for which g++ 12 copies a table of 2 KiB to the stack each time.
HWY_INLINE uint32_t Divide(const int64_t* values, uint32_t count, int64_t pivot, bool equal,
                           int64_t* first, int64_t* second) {
  const __m512i p = _mm512_set1_epi64(pivot);
  uint32_t firsts = 0;
  for (uint32_t i = 0; i < count; i += kRankLanes) {
    const __m512i v = _mm512_loadu_si512(values + i);
    const uint32_t rest = count - i;
    const uint32_t counts = rest < kRankLanes ? (1u << rest) - 1 : 0xff;
    const uint32_t found = equal ? _mm512_cmpeq_epi64_mask(v, p) : _mm512_cmplt_epi64_mask(v, p);
    const auto goes = static_cast<__mmask8>(found & counts);
    const auto stays = static_cast<__mmask8>(counts & ~found);
    _mm512_storeu_si512(first + firsts, _mm512_maskz_compress_epi64(goes, v));
    _mm512_storeu_si512(second + (i - firsts), _mm512_maskz_compress_epi64(stays, v));
    firsts += static_cast<uint32_t>(std::popcount(uint32_t{goes}));
  }
  return firsts;
}
#else
HWY_INLINE uint32_t Divide(const int64_t* values, uint32_t count, int64_t pivot, bool equal,
                           int64_t* first, int64_t* second) {
  uint32_t firsts = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t value = values[i];
    first[firsts] = value;
    second[i - firsts] = value;
    firsts += equal ? value == pivot : value < pivot;
  }
  return firsts;
}
#endif

HWY_INLINE int64_t RankOfFew(const int64_t* values, uint32_t count, uint32_t rank) {
  const RankTag d;
  for (uint32_t i = 0;; ++i) {
    const auto value = hn::Set(d, values[i]);
    size_t below = 0, up_to = 0;
    for (uint32_t k = 0; k < count; k += kRankLanes) {
      const auto v = hn::LoadU(d, values + k);
      const auto counts = hn::FirstN(d, std::min<size_t>(count - k, kRankLanes));
      below += hn::CountTrue(d, hn::And(counts, hn::Lt(v, value)));
      up_to += hn::CountTrue(d, hn::AndNot(hn::Gt(v, value), counts));
    }
    if (below <= rank && rank < up_to) return values[i];
  }
}

HWY_INLINE int64_t RankOf(const int64_t* values, uint32_t count, uint32_t rank, int64_t* room) {
  constexpr uint32_t kFew = 16;
  const uint32_t stride = count + kRankSpare;
  // Pivots that are far from the middle, time after time, are no chance.
  int passes = 2 * std::bit_width(count);
  for (uint32_t pass = 0; count > kFew; ++pass) {
    int64_t* const first = room + pass % 2 * 2 * stride;
    int64_t* const second = first + stride;
    if (--passes < 0) {
      std::copy_n(values, count, first);
      std::nth_element(first, first + rank, first + count);
      return first[rank];
    }
    const int64_t pivot = PivotOf(values, count);
    uint32_t firsts = Divide(values, count, pivot, /*equal=*/false, first, second);
    if (firsts == 0) {
      firsts = Divide(values, count, pivot, /*equal=*/true, first, second);
      if (rank < firsts) return pivot;
    }
    if (rank < firsts) {
      values = first;
      count = firsts;
    } else {
      values = second;
      count -= firsts;
      rank -= firsts;
    }
  }
  return RankOfFew(values, count, rank);
}

// The value behind the one at `rank`, which is `value`.
HWY_INLINE int64_t Behind(const int64_t* values, uint32_t count, uint32_t rank, int64_t value) {
  const RankTag d;
  const auto at = hn::Set(d, value);
  const auto most = hn::Set(d, INT64_MAX);
  auto next = most;
  size_t up_to = 0;
  for (uint32_t i = 0; i < count; i += kRankLanes) {
    const auto v = hn::LoadU(d, values + i);
    const auto counts = hn::FirstN(d, std::min<size_t>(count - i, kRankLanes));
    const auto above = hn::And(counts, hn::Gt(v, at));
    up_to += hn::CountTrue(d, hn::AndNot(above, counts));
    next = hn::Min(next, hn::IfThenElse(above, v, most));
  }
  int64_t lanes[kRankLanes];
  hn::StoreU(next, d, lanes);
  return rank + 1 < up_to ? value : *std::min_element(lanes, lanes + kRankLanes);
}

}  // namespace

void PickRanks(const int64_t* values, uint32_t count, uint32_t rank, int64_t* room, int64_t* at,
               int64_t* behind) {
  *at = RankOf(values, count, rank, room);
  if (behind != nullptr) *behind = Behind(values, count, rank, *at);
}

}  // namespace eris::storage::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace eris::storage::kernels {

HWY_EXPORT(PickRanks);
void ValuesAtRank(const int64_t* values, uint32_t count, uint32_t rank, int64_t* room, int64_t* at,
                  int64_t* behind) {
  HWY_DYNAMIC_DISPATCH(PickRanks)(values, count, rank, room, at, behind);
}

}  // namespace eris::storage::kernels
#endif  // HWY_ONCE
