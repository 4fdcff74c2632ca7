// Finds the middle of a group's values, or the two in its middle, in pieces of bounded work. Few
// values are copied and partitioned. Many are gone through several times: for their bounds; then to
// count them in equal parts of the range in which the middle is, which becomes that of one part,
// until few values are in it; then to copy those. Used by one thread. Not from the papers.
#ifndef ERIS_STORAGE_TABLE_MIDDLE_PICK_H_
#define ERIS_STORAGE_TABLE_MIDDLE_PICK_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "storage/table/groups/group_values.h"
#include "storage/table/kernels/exact_number.h"
#include "storage/table/kernels/kernels.h"
#include "storage/table/kernels/rank_pick.h"

namespace eris::storage {

// Up to so many values are partitioned at once: some 10 us.
inline constexpr uint32_t kMiddleNear = 2048;

// Memory that it needs, for one group after the other.
struct MiddleScratch {
  static constexpr uint32_t kPartBits = 11;
  static constexpr uint32_t kParts = 1u << kPartBits;
  alignas(64) std::array<Int128, kMiddleNear> values;  // or as many of one word, and more
  std::array<int64_t, size_t{4} * (kMiddleNear + kernels::kRankSpare)> room;
  std::array<uint64_t, kParts> counts;
};

// Value: int64_t or Int128.
template <class Value>
class MiddlePick {
 public:
  explicit MiddlePick(MiddleScratch& scratch) : scratch_(scratch) {}

  // `count`: of the chain's values, at least 1.
  void Begin(const GroupValues::Chain& chain, uint64_t count) {
    ERIS_DCHECK(count > 0);
    chain_ = chain;
    walk_ = GroupValues::Walk(chain);
    count_ = count;
    rank_ = (count - 1) / 2;
    pass_ = Pass::kBounds;
    least_ = ~Bits{0};
    most_ = 0;
  }
  // Looks at about `values` values: at fewer than kMiddleNear more. True: there is more to do.
  bool Advance(uint64_t values) {
    if (count_ <= kMiddleNear) {
      for (const uint64_t* words; walk_.left() > 0;) {
        const uint64_t left = walk_.left();
        words = walk_.Take(left);
        std::memcpy(near() + near_, words, left * sizeof *words);
        near_ += left / kWords;
      }
      ERIS_DCHECK(near_ == count_);
      PickNear();
      return false;
    }
    for (uint64_t rest = values * kWords; rest > 0 && walk_.left() > 0;) {
      const uint64_t words = std::min(walk_.left(), (rest + kWords - 1) / kWords * kWords);
      LookAt(walk_.Take(words), words / kWords);
      rest -= std::min(rest, words);
    }
    return walk_.left() > 0 || NextPass();
  }
  // After it: how many values have been partitioned, at most.
  uint64_t near_values() const { return std::min<uint64_t>(count_, kMiddleNear); }
  // The value in the middle, or the lower and the upper of two.
  Value low() const { return low_; }
  Value high() const { return high_; }

 private:
  using Bits = std::conditional_t<sizeof(Value) == sizeof(uint64_t), uint64_t, Uint128>;
  static constexpr uint64_t kWords = sizeof(Value) / sizeof(uint64_t);
  static constexpr Bits kSign = Bits{1} << (8 * sizeof(Value) - 1);
  enum class Pass : uint8_t { kBounds, kCounts, kTakes };

  // Unsigned numbers in the order of the values.
  static Bits BitsOf(Value value) { return static_cast<Bits>(value) ^ kSign; }
  static Value ValueOf(Bits bits) { return static_cast<Value>(bits ^ kSign); }
  Value* near() const { return reinterpret_cast<Value*>(scratch_.values.data()); }
  bool even() const { return count_ % 2 == 0; }

  void LookAt(const uint64_t* words, uint64_t count) {
    const auto bits = [words](uint64_t i) {
      Value value;
      std::memcpy(&value, words + i * kWords, sizeof value);
      return BitsOf(value);
    };
    switch (pass_) {
      case Pass::kBounds: {
        Bits least = least_, most = most_;
        for (uint64_t i = 0; i < count; ++i) {
          least = std::min(least, bits(i));
          most = std::max(most, bits(i));
        }
        least_ = least;
        most_ = most;
        break;
      }
      case Pass::kCounts:
        for (uint64_t i = 0; i < count; ++i) {
          const Bits from_least = bits(i) - least_;
          if (from_least <= most_ - least_) ++scratch_.counts[from_least >> shift_];
        }
        break;
      case Pass::kTakes: {
        Bits above = above_;
        for (uint64_t i = 0; i < count; ++i) {
          const Bits one = bits(i);
          if (one > most_) above = std::min(above, one);
          // If all in the range are equal none is copied: there may be any number of them.
          if (least_ < most_ && one - least_ <= most_ - least_) near()[near_++] = ValueOf(one);
        }
        above_ = above;
        break;
      }
    }
  }
  // True: another one.
  bool NextPass() {
    if (pass_ == Pass::kTakes) {
      if (least_ < most_) {
        PickNear();
      } else {
        low_ = ValueOf(least_);
        high_ = ValueOf(above_);
      }
      return false;
    }
    if (pass_ == Pass::kBounds) {
      inside_ = count_;
    } else {
      Narrow();
    }
    if (least_ == most_ && (!even() || rank_ + 1 < inside_)) {
      low_ = high_ = ValueOf(least_);
      return false;
    }
    walk_ = GroupValues::Walk(chain_);
    pass_ = least_ == most_ || inside_ <= kMiddleNear ? Pass::kTakes : Pass::kCounts;
    if (pass_ == Pass::kTakes) above_ = ~Bits{0};
    if (pass_ == Pass::kCounts) {
      shift_ = 0;
      while ((most_ - least_) >> shift_ >= MiddleScratch::kParts) ++shift_;
      scratch_.counts.fill(0);
    }
    return true;
  }
  // The range becomes that of the part with the middle, or with the lower of two.
  void Narrow() {
    uint32_t part = 0;
    while (rank_ >= scratch_.counts[part]) rank_ -= scratch_.counts[part++];
    inside_ = scratch_.counts[part];
    least_ += Bits{part} << shift_;
    most_ = std::min(most_, least_ + ((Bits{1} << shift_) - 1));
  }
  void PickNear() {
    const bool both = even() && rank_ + 1 < near_;
    Value* const behind = both ? &high_ : nullptr;
    if constexpr (kWords == 1) {
      kernels::ValuesAtRank(near(), static_cast<uint32_t>(near_), static_cast<uint32_t>(rank_),
                            scratch_.room.data(), &low_, behind);
    } else {
      ValuesAtRank(near(), near_, rank_, &low_, behind);
    }
    if (!both) high_ = even() ? ValueOf(above_) : low_;
    near_ = 0;
  }

  MiddleScratch& scratch_;
  GroupValues::Chain chain_{};
  GroupValues::Walk walk_;
  uint64_t count_ = 0;
  Pass pass_ = Pass::kBounds;
  // The range in which the middle is, how many values are inside, and its rank among them.
  Bits least_ = 0;
  Bits most_ = 0;
  uint64_t inside_ = 0;
  uint64_t rank_ = 0;
  Bits above_ = 0;      // the least value above the range
  uint32_t shift_ = 0;  // two to this power numbers in a part of the range
  uint64_t near_ = 0;   // values that have been copied
  Value low_ = 0;
  Value high_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_MIDDLE_PICK_H_
