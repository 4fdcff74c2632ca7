// What an AEU shows of its objects to the balancer and to readers of statistics. The AEU writes it
// when it gets or gives up an object or a range; any thread reads it. The mutex is held for nothing
// else, so no turn waits for a reader's work.
#ifndef ERIS_AEU_LOAD_BOARD_H_
#define ERIS_AEU_LOAD_BOARD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "aeu/state/object_load.h"
#include "aeu/state/object_slot.h"
#include "base/mutex.h"
#include "eris/types.h"
#include "memory/local_cache.h"

namespace eris::aeu {

class LoadBoard {
 public:
  // For the AEU. The slot's cache outlives its entry.
  void Add(ObjectSlot& slot, const OwnedRange& owned);  // O(1)
  void Remove(ObjectSlot& slot, const OwnedRange& owned);
  // After it, Add needs no memory for `more` ranges. Throws std::bad_alloc.
  void Reserve(ObjectSlot& slot, size_t more);
  void Erase(ObjectId object);

  // Any thread, all below.
  std::vector<ObjectLoad> All() const;  // for tests
  // What this AEU has of each object, by id; of one, nullopt if it has no part of it.
  std::vector<ObjectTotals> Totals() const;
  std::optional<ObjectTotals> TotalsOf(ObjectId object) const;
  // nullopt: this AEU has no part of the object. O(log objects + its ranges here).
  std::optional<ObjectLoad> Of(ObjectId object) const;
  // The rows that this AEU has of the object; 0: no part. O(log objects + its ranges here).
  uint64_t RowsOf(ObjectId object) const;
  // Keys and slices of scans that the AEU has executed for the object. O(log objects).
  uint64_t KeysOf(ObjectId object) const;

 private:
  struct Entry {
    ObjectLoad load;
    const memory::LocalCache* cache;
  };
  static ObjectTotals TotalsOf(const Entry& entry);
  // Adds it if it is missing; throws std::bad_alloc then.
  Entry& EntryOf(const ObjectSlot& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // nullptr: it has none.
  const Entry* Find(ObjectId object) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable base::Mutex mu_;
  // By id, which is the order in which objects are made. Readers of statistics go through all of
  // them at every AEU.
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_LOAD_BOARD_H_
