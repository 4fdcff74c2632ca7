// A partition: one AEU's part of a data object, a single-threaded structure behind one interface
// for indexes, hashes and tables. No thread, no latch, no routing. Versions for snapshots are in a
// side structure of the partition, not in the rows (versioned_partition.h).
//
// This is the common interface of all kinds. All of them can move as copies (exchange.h). Abilities
// of only some kinds are separate interfaces, which the partition returns. Paper: ERIS 3.1, 3.3.2.
#ifndef ERIS_STORAGE_PARTITION_H_
#define ERIS_STORAGE_PARTITION_H_

#include <cstdint>

#include "storage/batch.h"
#include "storage/exchange.h"
#include "storage/home_work.h"
#include "storage/key.h"
#include "storage/snapshot_view.h"

namespace eris::storage {

class OrderedPartition;
class TablePartition;

class Partition : public Exchange {
 public:
  virtual const Range& range() const = 0;
  virtual uint64_t size() const = 0;  // rows

  // Executes every key of the batch; exactly one answer per key. REQUIRES: each key lies in
  // range(). A write without memory answers kNoMemory and changes nothing.
  virtual void Execute(const Batch& batch) = 0;

  // Versions that snapshots need. Frees at most `records_max` of those that no held snapshot needs
  // any more. True: there may be more to free. The default is for structures without versions.
  virtual bool FreeVersions(const SnapshotView&, uint32_t) { return false; }
  virtual uint64_t version_bytes() const { return 0; }
  // True if the partition may be destroyed: the range is empty, it has no live row, and no held
  // snapshot needs old ones.
  virtual bool CanGo(const SnapshotView&) const {
    return range().Empty() && size() == 0 && version_bytes() == 0;
  }
  // Background work on at most `rows_max` rows, for turns with spare time. True: there is more.
  virtual bool Maintain(const SnapshotView& snapshots, uint32_t rows_max) = 0;

  // Moves the memory of rows from work.next_key on to the NumaNode of its AEU, until the work is
  // spent. True: the walk has come to the end, or memory was refused. Old rows of snapshots stay
  // where they are until they are freed, and so may rows that are lent or forgotten. The default is
  // for kinds that move as copies alone.
  virtual bool BringHome(HomeWork&) { return true; }

  // For the end of a whole object: forgets the rows without walking them. Their memory is freed
  // with their cache, which its owner ends next.
  virtual void Abandon() = 0;

  // For indexes; hashes; tables. nullptr: not of this kind.
  virtual OrderedPartition* ordered() { return nullptr; }
  virtual Preparation* preparation() { return nullptr; }
  virtual TablePartition* table() { return nullptr; }
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_PARTITION_H_
