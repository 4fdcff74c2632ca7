// All values of each group, for aggregates that need them all: a median. A group's values are a
// chain of chunks, of which each new one has twice the size of the one before, up to 8 KiB:
//
//   values, in the order of their rows | where the chunk before ends, and the words of this one
//
// So adding a value costs O(1) and copies nothing, and of the memory of a group with some values
// half is used at least. The chain's cell in the group's record says where the next value goes.
// Belongs to one GroupTable; no latch. Not from the papers.
#ifndef ERIS_STORAGE_TABLE_GROUP_VALUES_H_
#define ERIS_STORAGE_TABLE_GROUP_VALUES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/prefetch.h"
#include "storage/table/groups/group_pages.h"
#include "storage/table/groups/group_places.h"

namespace eris::storage {

class GroupValues {
 public:
  // Values are of one or two words.
  struct Chain {
    uint64_t* next;  // where the next value goes
    uint64_t* end;   // of the last chunk's values. Both nullptr: no value so far
  };
  // Goes through a chain, from its last chunk to its first one.
  class Walk {
   public:
    Walk() = default;
    explicit Walk(const Chain& chain) : end_(chain.end), filled_(chain.next) { Enter(); }
    // Words of the chunk that have not been taken; 0: there is no chunk left.
    uint64_t left() const { return static_cast<uint64_t>(filled_ - at_); }
    // Takes as many of them, at least one and at most left().
    const uint64_t* Take(uint64_t words) {
      const uint64_t* const taken = at_;
      at_ += words;
      if (at_ == filled_) {
        filled_ = end_ = LinkAt(end_).end_before;
        Enter();
      }
      return taken;
    }

   private:
    void Enter() { at_ = end_ == nullptr ? nullptr : end_ - (LinkAt(end_).words - kLinkWords); }

    const uint64_t* end_ = nullptr;     // of the chunk's values, when it is full
    const uint64_t* filled_ = nullptr;  // the end of those that it has
    const uint64_t* at_ = nullptr;
  };

  // Fetches the end of the last chunk that has values, to be called some time before FetchNext.
  static const uint64_t* FetchLast(const Chain& chain) {
    if (chain.end != nullptr) base::Prefetch(chain.end);
    return chain.end;
  }
  // Fetches the chunk that ends there, at most half of a KiB of it, and the end of the one before,
  // which it returns. nullptr: there is none.
  static const uint64_t* FetchNext(const uint64_t* end) {
    if (end == nullptr) return nullptr;
    const Link& link = LinkAt(end);
    const uint64_t* const begin = end - (link.words - kLinkWords);
    for (uint64_t word = 0; word < std::min<uint64_t>(link.words, 64); word += 8) {
      base::Prefetch(begin + word);
    }
    if (link.end_before != nullptr) base::Prefetch(link.end_before);
    return link.end_before;
  }

  // `source` outlives it.
  explicit GroupValues(PageSource& source) : places_(source) {}

  // False: refused; nothing has changed. Throws std::bad_alloc. All values of a chain have one
  // type.
  template <class T>
  [[nodiscard]] bool Add(Chain& chain, T value) {
    static_assert(sizeof(T) % sizeof(uint64_t) == 0 && sizeof(T) <= kLinkWords * sizeof(uint64_t));
    if (chain.next == chain.end && !Extend(chain)) return false;
    std::memcpy(chain.next, &value, sizeof value);
    chain.next += sizeof(T) / sizeof(uint64_t);
    return true;
  }
  // Adds those of another chain, also one of another GroupValues. False: refused; some may have
  // been added.
  template <class T>
  [[nodiscard]] bool AddAll(const Chain& from, Chain& to) {
    for (Walk walk(from); walk.left() > 0;) {
      T value;
      std::memcpy(&value, walk.Take(sizeof(T) / sizeof(uint64_t)), sizeof value);
      if (!Add(to, value)) return false;
    }
    return true;
  }
  // As RecordPages::FreeSome.
  bool FreeSome(uint32_t& pages) { return places_.FreeSome(pages); }

 private:
  struct Link {
    const uint64_t* end_before;  // nullptr: it is the first chunk
    uint64_t words;              // of the chunk with its link
  };
  static constexpr uint64_t kLinkWords = sizeof(Link) / sizeof(uint64_t);
  static constexpr uint64_t kFirstWords = 4;
  static constexpr uint64_t kWordsMax = 1024;
  static constexpr uint64_t kFetchedAhead = 512;  // words

  static const Link& LinkAt(const uint64_t* end) { return *reinterpret_cast<const Link*>(end); }
  bool Extend(Chain& chain) {
    const uint64_t words =
        chain.end == nullptr ? kFirstWords : std::min(2 * LinkAt(chain.end).words, kWordsMax);
    auto* const chunk = reinterpret_cast<uint64_t*>(places_.Place(words * sizeof(uint64_t)));
    if (chunk == nullptr) return false;
    // Chunks lie one after the other, so this fetches what the next ones will be.
    for (uint64_t word = 0; word < std::min<uint64_t>(words, 64); word += 8) {
      base::Prefetch(chunk + kFetchedAhead + word);
    }
    uint64_t* const end = chunk + words - kLinkWords;
    const Link link{.end_before = chain.end, .words = words};
    std::memcpy(end, &link, sizeof link);
    chain = {.next = chunk, .end = end};
    return true;
  }

  GroupPlaces places_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_GROUP_VALUES_H_
