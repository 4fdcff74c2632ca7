// Finds groups by keys of one word that lie close together, such as numbers that count up: an array
// with a place for each key, in pages that need not follow each other. A search reads one place,
// and neither hashes nor compares. Belongs to one GroupTable, which finds all other keys by
// GroupSlots; no latch. Not from the paper.
#ifndef ERIS_STORAGE_TABLE_NEAR_KEYS_H_
#define ERIS_STORAGE_TABLE_NEAR_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/table/groups/group_pages.h"

namespace eris::storage {

class NearKeys {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr uint64_t kPageKeys = kGroupPageBytes / sizeof(uint32_t);

  // `source` outlives it.
  explicit NearKeys(PageSource& source) : source_(source) {}
  ~NearKeys();
  NearKeys(const NearKeys&) = delete;
  NearKeys& operator=(const NearKeys&) = delete;

  // Some keys have places. A key with a place is found by it and nowhere else.
  bool used() const { return !pages_.empty(); }
  // Where the group's number of a key is, kNone so far. nullptr: the key has no place.
  uint32_t* Place(uint64_t key) const {
    const uint64_t at = key - base_;
    const uint64_t page = at / kPageKeys;
    if (page >= pages_.size() || pages_[page] == nullptr) return nullptr;
    return pages_[page] + at % kPageKeys;
  }
  // Whether a key has no place, and gets none any more.
  bool IsOutside(uint64_t key) const { return !extends_ && Place(key) == nullptr; }
  // The groups of so many keys; kNone: none, or the key has no place.
  void Find(const uint64_t* keys, uint32_t count, uint32_t* groups) const {
    // Copies: the compiler cannot know that `groups` are no part of this.
    const uint64_t base = base_;
    const uint64_t size = pages_.size();
    uint32_t* const* const pages = pages_.data();
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t at = keys[i] - base;
      const uint64_t page = at / kPageKeys;
      const uint32_t* const places = page < size ? pages[page] : nullptr;
      groups[i] = places != nullptr ? places[at % kPageKeys] : kNone;
    }
  }
  // Gives places to all keys from `low` on, `span` of them, at most 2^32. False: refused; there are
  // none then. REQUIRES: !used(). Throws std::bad_alloc; then, too, there are none.
  [[nodiscard]] bool Begin(uint64_t low, uint64_t span);
  // Gives a place to a key that has none, if so many groups, with it, fill places well enough, and
  // the source has a page. nullptr: no, and there are no new places from now on. REQUIRES: used().
  // Throws std::bad_alloc.
  uint32_t* Extend(uint64_t key, uint64_t groups);
  // As RecordPages::FreeSome.
  bool FreeSome(uint32_t& pages);

 private:
  // Places for a group, on average, at most, when there are many; what they take is then less than
  // twice what slots do.
  static constexpr uint64_t kPlacesPerGroup = 8;
  static constexpr uint64_t kPagesMax = uint64_t{1} << 14;

  // A page, all of whose places are kNone. nullptr: refused.
  uint32_t* NewPage();

  PageSource& source_;
  uint64_t base_ = 0;             // the first key of the first page; modulo 2^64
  std::vector<uint32_t*> pages_;  // by (key - base_) / kPageKeys; nullptr: no places
  uint64_t page_count_ = 0;       // of them: not nullptr
  bool extends_ = true;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_NEAR_KEYS_H_
