// The versions of one partition table: the current one, and superseded ones until no reader can use
// them any more. Readers: Ports through a TableReader (latch-free, table_reader.h), all others
// through a pin. Publishers take a mutex that no Port takes. Paper: ERIS 3.2.
//
// Versions alive after a Publish: the current one, and at most one per TableReader and pin.
#ifndef ERIS_ROUTING_PUBLISHED_TABLE_H_
#define ERIS_ROUTING_PUBLISHED_TABLE_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/check.h"
#include "base/memory_ops.h"
#include "base/mutex.h"
#include "routing/ranges/table_reader.h"

namespace eris::routing {

// TableType: RangeTable, BitmapTable, or anything immutable with version().
template <class TableType, class Memory>
class BasicPublishedTable {
 public:
  using Table = TableType;
  using Current = typename Memory::template Atomic<const Table*>;

  explicit BasicPublishedTable(std::unique_ptr<const Table> first)
      : newest_(std::move(first)),
        current_(newest_.get()),
        version_(newest_ == nullptr ? 0 : newest_->version()) {}
  // REQUIRES: no Port reads it any more. A slot may still show its last version: the address is
  // only compared, and a new table at the same address is protected by it. Pins may outlive it.
  ~BasicPublishedTable() = default;
  BasicPublishedTable(const BasicPublishedTable&) = delete;
  BasicPublishedTable& operator=(const BasicPublishedTable&) = delete;

  // The current version, or the one before it. Any thread, without the mutex.
  uint64_t version() const {
    // relaxed: a figure. A caller that needs the table pins it.
    return version_.load(std::memory_order_relaxed);
  }

  // For TableReader::Acquire.
  const Current& current() const { return current_; }

  // The current version, kept for as long as the caller holds the result. Takes the mutex: for
  // scans, joins, the balancer and the control plane.
  std::shared_ptr<const Table> Pin() const {
    base::MutexLock lock(&mu_);
    return newest_;
  }

  // Makes `next` the current version and frees the superseded versions that no reader shows; a
  // pinned one is freed with its last pin. Throws std::bad_alloc, with the current version
  // unchanged. `readers`: all that may call Acquire here.
  // REQUIRES: a version above the current one's. Any thread; one at a time.
  void Publish(std::unique_ptr<const Table> next, const BasicTableReaders<Memory>& readers) {
    base::MutexLock lock(&mu_);
    ERIS_CHECK(next->version() > newest_->version());
    std::shared_ptr<const Table> newest = std::move(next);
    superseded_.push_back(newest_);
    newest_ = std::move(newest);
    // seq_cst: pairs with the loads in TableReader::Acquire, and comes before reading the slots.
    current_.store(newest_.get(), std::memory_order_seq_cst);
    version_.store(newest_->version(), std::memory_order_relaxed);
    try {
      const std::vector<const void*> shown = readers.Shown();
      std::erase_if(superseded_, [&](const std::shared_ptr<const Table>& table) {
        return !std::binary_search(shown.begin(), shown.end(),
                                   static_cast<const void*>(table.get()));
      });
    } catch (const std::bad_alloc&) {  // the next call frees them
    }
  }

  // Versions that this table keeps for readers, including the current one. For tests and
  // statistics.
  size_t versions() const {
    base::MutexLock lock(&mu_);
    return 1 + superseded_.size();
  }

 private:
  // Guarded by mu_; no Port takes it.
  mutable base::Mutex mu_;
  std::shared_ptr<const Table> newest_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<const Table>> superseded_ ABSL_GUARDED_BY(mu_);

  // Shared: written by publishers, read by Ports.
  Current current_;
  typename Memory::template Atomic<uint64_t> version_;
};

template <class Table>
using PublishedTable = BasicPublishedTable<Table, base::RealMemory>;

}  // namespace eris::routing

#endif  // ERIS_ROUTING_PUBLISHED_TABLE_H_
