// Which AEUs hold a part of a data object: one version of the partition table of data that is
// partitioned by size, where any holder may have any row. Immutable; the next version is a new
// table (published_table.h). Any thread may read. Paper: ERIS 3.2 (bitmap).
//
// Memory: a bit per AEU of the engine.
#ifndef ERIS_ROUTING_BITMAP_TABLE_H_
#define ERIS_ROUTING_BITMAP_TABLE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "eris/types.h"

namespace eris::routing {

class BitmapTable {
 public:
  // aeus: number of AEUs of the engine. holders: in any order, duplicates allowed.
  // REQUIRES: every holder below `aeus`.
  BitmapTable(uint64_t version, uint32_t aeus, std::span<const AeuId> holders)
      : version_(version), aeus_(aeus), words_((size_t{aeus} + 63) / 64) {
    for (const AeuId holder : holders) {
      ERIS_CHECK(holder.value < aeus);
      words_[holder.value / 64] |= Bit(holder);
    }
    for (const uint64_t word : words_) count_ += static_cast<uint32_t>(std::popcount(word));
  }

  uint64_t version() const { return version_; }
  uint32_t aeus() const { return aeus_; }
  // Number of holders. 0: no AEU has a part of the object.
  uint32_t count() const { return count_; }

  // False for an AEU that does not exist.
  bool Holds(AeuId aeu) const {
    return aeu.value < aeus_ && (words_[aeu.value / 64] & Bit(aeu)) != 0;
  }

  // Calls fn(AeuId) for each holder, ascending. O(AEUs / 64 + holders).
  template <class Fn>
  void ForEach(Fn&& fn) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
        fn(AeuId{static_cast<uint32_t>(i * 64 + static_cast<size_t>(std::countr_zero(word)))});
      }
    }
  }
  // As ForEach, for the targets of a multicast.
  std::vector<AeuId> Owners() const {
    std::vector<AeuId> owners;
    owners.reserve(count_);
    ForEach([&](AeuId aeu) { owners.push_back(aeu); });
    return owners;
  }

  // The next version, in which `aeu` gets a part, or no longer has one. REQUIRES: that is a change.
  std::unique_ptr<const BitmapTable> With(AeuId aeu) const {
    ERIS_CHECK(aeu.value < aeus_);
    ERIS_CHECK(!Holds(aeu));
    return Flipped(aeu);
  }
  std::unique_ptr<const BitmapTable> Without(AeuId aeu) const {
    ERIS_CHECK(Holds(aeu));
    return Flipped(aeu);
  }

 private:
  static uint64_t Bit(AeuId aeu) { return uint64_t{1} << (aeu.value % 64); }

  std::unique_ptr<const BitmapTable> Flipped(AeuId aeu) const {
    auto next = std::make_unique<BitmapTable>(*this);
    ++next->version_;
    next->words_[aeu.value / 64] ^= Bit(aeu);
    if (Holds(aeu)) {
      --next->count_;
    } else {
      ++next->count_;
    }
    return next;
  }

  // Immutable after construction.
  uint64_t version_;
  uint32_t aeus_;
  uint32_t count_ = 0;
  std::vector<uint64_t> words_;  // AEU i: bit i % 64 of word i / 64
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_BITMAP_TABLE_H_
