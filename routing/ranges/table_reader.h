// How a Port reads a partition table that the publisher may supersede at any moment: it shows the
// version it uses in a slot of its own (a hazard pointer), and the publisher frees no version that
// a slot shows. One TableReader per Port, used by the Port's thread; the publisher reads the slot.
// For long or rare reads there is PublishedTable::Pin. Paper: ERIS 3.2.
#ifndef ERIS_ROUTING_TABLE_READER_H_
#define ERIS_ROUTING_TABLE_READER_H_

#include <algorithm>
#include <atomic>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/check.h"
#include "base/memory_ops.h"
#include "base/mutex.h"

namespace eris::routing {

template <class Memory>
class BasicTableReader {
 public:
  BasicTableReader() = default;
  BasicTableReader(const BasicTableReader&) = delete;
  BasicTableReader& operator=(const BasicTableReader&) = delete;

  // The version in force; readable until the next call of Acquire or Release, whatever is published
  // meanwhile. Never blocks; goes round again only when a version was published in between. One
  // read and no write when the slot shows that version already.
  // `tables`: a PublishedTable (an ObjectRoute is one) whose publishers know this reader.
  template <class Published>
  const typename Published::Table& Acquire(const Published& tables) {
    // The publisher stores `current` and then loads the slots; here the slot is stored and then
    // `current` loaded. All four are seq_cst: if the publisher has not seen this slot, its store
    // came before, and the load below finds another version. acquire is part of it: the version's
    // content pairs with the store in PublishedTable::Publish.
    const auto& current = tables.current();
    const typename Published::Table* table = current.load(std::memory_order_seq_cst);
    // relaxed: this thread's own.
    while (slot_.load(std::memory_order_relaxed) != table) {
      slot_.store(table, std::memory_order_seq_cst);    // pairs with the load in Shows
      table = current.load(std::memory_order_seq_cst);  // pairs with the store in Publish
    }
    return *table;
  }

  // The version may be freed from now on.
  void Release() {
    // release: pairs with the load in Shows; what was read has been read before the version goes.
    slot_.store(nullptr, std::memory_order_release);
  }

  // The publisher, after it has stored `current`. nullptr: nothing. seq_cst: see Acquire.
  const void* Shows() const { return slot_.load(std::memory_order_seq_cst); }

 private:
  // Shared: written by the Port's thread, read by publishers. Not on a line of its own: publishing
  // is rare.
  typename Memory::template Atomic<const void*> slot_{nullptr};
};

// All TableReaders of one engine. Any thread; the mutex is taken when a Port comes or goes and when
// a version is published. O(Ports) memory.
template <class Memory>
class BasicTableReaders {
 public:
  using Reader = BasicTableReader<Memory>;

  BasicTableReaders() = default;
  ~BasicTableReaders() { ERIS_CHECK(readers_.empty()); }
  BasicTableReaders(const BasicTableReaders&) = delete;
  BasicTableReaders& operator=(const BasicTableReaders&) = delete;

  // Before the reader's first Acquire. One that comes while a version is being published finds the
  // new one: the mutex orders it behind the publisher's look at the slots.
  void Add(const Reader* reader) {
    base::MutexLock lock(&mu_);
    readers_.push_back(reader);
  }
  // After its last use of a table. REQUIRES: it was added.
  void Remove(const Reader* reader) {
    base::MutexLock lock(&mu_);
    const auto found = std::find(readers_.begin(), readers_.end(), reader);
    ERIS_CHECK(found != readers_.end());
    *found = readers_.back();
    readers_.pop_back();
  }

  // The versions that slots show, of all objects; sorted. Read once, so it is worth something only
  // for versions that had been superseded before the call: no slot takes up one of those any more.
  std::vector<const void*> Shown() const {
    std::vector<const void*> shown;
    {
      base::MutexLock lock(&mu_);
      for (const Reader* reader : readers_) {
        if (const void* table = reader->Shows()) shown.push_back(table);
      }
    }
    std::sort(shown.begin(), shown.end());
    return shown;
  }

 private:
  mutable base::Mutex mu_;
  std::vector<const Reader*> readers_ ABSL_GUARDED_BY(mu_);
};

using TableReader = BasicTableReader<base::RealMemory>;
using TableReaders = BasicTableReaders<base::RealMemory>;

}  // namespace eris::routing

#endif  // ERIS_ROUTING_TABLE_READER_H_
