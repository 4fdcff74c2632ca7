// Lets a Port read a partition table that the publisher may supersede at any moment: it shows the
// version it uses in its own slot (a hazard pointer), and the publisher frees no version that a
// slot shows. One TableReader per Port, used by the Port's thread; the publisher reads the slot.
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

  // The current version; readable until the next call of Acquire or Release, whatever is published
  // meanwhile. Never blocks; retries only if a version was published in between. One read and no
  // write if the slot shows that version already.
  // `tables`: a PublishedTable (an ObjectRoute is one) whose publishers know this reader.
  template <class Published>
  const typename Published::Table& Acquire(const Published& tables) {
    // The publisher stores `current` and then loads the slots; this thread stores the slot and then
    // loads `current`. All four are seq_cst: if the publisher has not seen this slot, its store
    // came before, and the load below finds another version. This includes acquire: the version's
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

  // The version may be freed after this.
  void Release() {
    // release: pairs with the load in Shows; all reads of the version come before it is freed.
    slot_.store(nullptr, std::memory_order_release);
  }

  // For the publisher, after it has stored `current`. nullptr: nothing. seq_cst: see Acquire.
  const void* Shows() const { return slot_.load(std::memory_order_seq_cst); }

 private:
  // Shared: written by the Port's thread, read by publishers. It shares a cache line, because
  // publishing is rare.
  typename Memory::template Atomic<const void*> slot_{nullptr};
};

// All TableReaders of one engine. Any thread; the mutex is taken when a Port begins or ends and
// when a version is published. O(Ports) memory.
template <class Memory>
class BasicTableReaders {
 public:
  using Reader = BasicTableReader<Memory>;

  BasicTableReaders() = default;
  ~BasicTableReaders() { ERIS_CHECK(readers_.empty()); }
  BasicTableReaders(const BasicTableReaders&) = delete;
  BasicTableReaders& operator=(const BasicTableReaders&) = delete;

  // Before the reader's first Acquire. If a version is being published at that time, the reader
  // finds the new one: the mutex orders this call after the publisher's reading of the slots.
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

  // The versions that slots show, of all objects; sorted. Read once, so it is only valid for
  // versions that were superseded before the call: no slot will show one of those again.
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
