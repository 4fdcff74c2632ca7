// A data object in the catalogue: its name and schema, its routing tables and its memory managers,
// one per NumaNode that holds a part of it. Shared by the catalogue, by sessions that have opened
// it (Session::Open) and by running requests.
#ifndef ERIS_ENGINE_OBJECTS_OBJECT_ENTRY_H_
#define ERIS_ENGINE_OBJECTS_OBJECT_ENTRY_H_

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "base/cache_line.h"
#include "base/mutex.h"
#include "engine/objects/step_gate.h"
#include "engine/objects/transfer_pacing.h"
#include "eris/session.h"
#include "eris/types.h"
#include "memory/memory_manager.h"
#include "memory/system/memory_budget.h"
#include "routing/ranges/bitmap_table.h"
#include "routing/ranges/object_route.h"
#include "routing/ranges/published_table.h"
#include "storage/table/rows/table_layout.h"

namespace eris::engine {

class Catalogue;

struct ObjectEntry final : Object::State, std::enable_shared_from_this<ObjectEntry> {
  ObjectEntry(std::string object_name, ObjectKind object_kind, uint32_t slot, ObjectId object_id,
              std::unique_ptr<const routing::RangeTable> table,
              std::shared_ptr<const storage::TableLayout> object_layout,
              std::unique_ptr<const routing::BitmapTable> first_holders = nullptr,
              std::optional<ObjectId> beside = std::nullopt, bool creator_bounds = false)
      : State(std::move(object_name), object_id, object_kind, object_layout->schema()),
        layout(std::move(object_layout)),
        key_types(is_table() ? KeyTypes() : KeyTypesOf(schema)),
        value_type(is_table() ? ColumnType::kUint64 : ValueTypeOf(schema)),
        family(beside.value_or(object_id)),
        bounds_chosen(creator_bounds),
        route(slot, object_id, std::move(table)),
        holders(std::move(first_holders)) {}

  bool is_table() const { return kind == ObjectKind::kTable || kind == ObjectKind::kHeapTable; }
  bool has_two_words() const { return is_table() ? layout->two_words() : key_types.two_parts(); }

  // Immutable after construction.
  const std::shared_ptr<const storage::TableLayout> layout;  // LayoutOf the kind and the schema
  // From the layout, for an index or a hash. Tables: the defaults.
  const KeyTypes key_types;
  const ColumnType value_type;
  // That of the object that it was created beside; its own id if there was none (family.h).
  const ObjectId family;
  const bool bounds_chosen;  // by the creator of the object, or of the one beside it
  // The catalogue that it is in. Written once, by Catalogue::Publish, before the object can be
  // found.
  const Catalogue* catalogue = nullptr;

  routing::ObjectRoute route;
  // For a heap table: which AEUs have a part. AEU i's partition has the range [i, i + 1), and
  // `route`'s table has no more information. Other kinds have no version.
  routing::PublishedTable<routing::BitmapTable> holders;

  // The object's manager on the pool's NumaNode, made if there is none. Exists until DropManagers.
  // Any thread.
  memory::MemoryManager& ManagerOn(memory::NumaNodePool& pool,
                                   const std::vector<memory::NumaNodePool*>& spill) {
    base::MutexLock lock(&mu_);
    std::unique_ptr<memory::MemoryManager>& manager = managers_[pool.id()];
    if (manager == nullptr) {
      manager = std::make_unique<memory::MemoryManager>(route.object(), pool, spill, caches_);
    }
    return *manager;
  }
  bool HasManagerOn(const memory::NumaNodePool& pool) const {
    base::MutexLock lock(&mu_);
    return managers_.contains(pool.id());
  }
  // AEUs that have been given a slot of the object, ascending: those that own ranges, and those
  // that may still have old rows of ranges they gave away. Members are never removed. Any thread.
  std::vector<AeuId> Members() const {
    base::MutexLock lock(&mu_);
    return {members_.begin(), members_.end()};
  }
  bool IsMember(AeuId aeu) const {
    base::MutexLock lock(&mu_);
    return members_.contains(aeu);
  }
  // Allocated before the AEU is given the slot. Throws std::bad_alloc.
  using Member = std::set<AeuId>::node_type;
  static Member NewMember(AeuId aeu) {
    std::set<AeuId> one{aeu};
    return one.extract(one.begin());
  }
  // Does nothing for an existing member.
  void AddMember(Member member) {
    base::MutexLock lock(&mu_);
    members_.insert(std::move(member));
  }
  void AddMember(AeuId aeu) { AddMember(NewMember(aeu)); }

  // Held by the publisher of table versions, from the first step of a transfer to the last, and by
  // a drop. Transfers notice the drop before that (dropped) and end at the next chunk boundary.
  // Locked before mu_.
  base::Mutex& publisher_mu() ABSL_LOCK_RETURNED(publisher_mu_) { return publisher_mu_; }
  // The number of rows in the object's chunks.
  ChunkSize& chunk_size() ABSL_EXCLUSIVE_LOCKS_REQUIRED(publisher_mu_) { return chunk_size_; }

  // For a table: coordinates steps of its transfers with scans that begin.
  StepGate& step_gate() { return step_gate_; }

  // Charges memory of the general heap (object_heap.h) against the limit, until DropManagers.
  // False: it would be exceeded. Any thread; may block in the kernel.
  [[nodiscard]] bool TryChargeHeap(memory::MemoryBudget& budget, uint64_t bytes) {
    base::MutexLock lock(&heap_mu_);
    return heap_.TryGrow(budget, bytes);
  }
  // Reverses a charge whose memory was not taken. REQUIRES: it was charged.
  void ReturnHeap(uint64_t bytes) {
    base::MutexLock lock(&heap_mu_);
    heap_.Shrink(bytes);
  }
  uint64_t heap_bytes() const {
    base::MutexLock lock(&heap_mu_);
    return heap_.bytes();
  }

  // Frees all memory. REQUIRES: no AEU has a partition of the object any more.
  void DropManagers() {
    Managers dropped;
    {
      base::MutexLock lock(&mu_);
      dropped.swap(managers_);
    }
    base::MutexLock lock(&heap_mu_);
    heap_.Return();
  }  // not under mu_: it takes a while
  // Visits each manager, by NumaNode; none ends meanwhile. Any thread; `visit` must not block.
  void VisitManagers(absl::FunctionRef<void(const memory::MemoryManager&)> visit) const {
    base::MutexLock lock(&mu_);
    for (const auto& [numa_node, manager] : managers_) visit(*manager);
  }

  // Counts rows of a write that will be acknowledged. False: a drop that must not lose such a write
  // came first, so the write must get NotFound. Any thread.
  bool CountWritten(uint64_t rows) {
    // relaxed, as in SealWritten: only the order of changes to this one word matters; it publishes
    // no data.
    return (written_.fetch_add(rows, std::memory_order_relaxed) & kSealed) == 0;
  }
  // From now on CountWritten refuses, unless it has counted another number than `expected`: then
  // returns false, with that number in `counted`. Any thread.
  bool SealWritten(uint64_t expected, uint64_t& counted) {
    counted = expected;
    return written_.compare_exchange_strong(counted, expected | kSealed, std::memory_order_relaxed);
  }

  // Shared: written by Drop, read by sessions. relaxed: a session that reads it late sends commands
  // to AEUs that answer kNoObject.
  void MarkDropped() { dropped_.store(true, std::memory_order_relaxed); }
  bool dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  using Managers = std::map<NumaNodeId, std::unique_ptr<memory::MemoryManager>>;
  static constexpr uint64_t kSealed = uint64_t{1} << 63;

  // Rows of acknowledged writes, including erased ones; SealWritten adds kSealed. On its own line:
  // every write adds to it, and sessions read the fields around it.
  alignas(base::kCacheLineBytes) std::atomic<uint64_t> written_{0};

  alignas(base::kCacheLineBytes) std::atomic<bool> dropped_{false};

  // Rows of the first chunk, whose cost is unknown: fewer rows if they have more columns.
  uint32_t FirstChunkRows() const {
    if (HasStrings()) return 1;
    if (!is_table()) return ChunkSize::kRowsMin;
    uint64_t row_bytes = 0;
    for (const ColumnSchema& column : schema.columns) {
      row_bytes += ColumnValueBytes(column.type);
    }
    return static_cast<uint32_t>(
        std::clamp<uint64_t>(ChunkSize::kLeastBytes / row_bytes, 1, ChunkSize::kRowsMin));
  }
  // The first row may have any length.
  bool HasStrings() const {
    return std::any_of(schema.columns.begin(), schema.columns.end(),
                       [](const auto& column) { return IsByteString(column.type); });
  }

  base::Mutex publisher_mu_;
  ChunkSize chunk_size_ ABSL_GUARDED_BY(publisher_mu_){FirstChunkRows()};

  StepGate step_gate_;

  mutable base::Mutex heap_mu_;
  memory::BudgetCharge heap_ ABSL_GUARDED_BY(heap_mu_);

  const std::shared_ptr<memory::CacheDirectory> caches_ =
      std::make_shared<memory::CacheDirectory>();  // of all managers

  mutable base::Mutex mu_;
  Managers managers_ ABSL_GUARDED_BY(mu_);
  std::set<AeuId> members_ ABSL_GUARDED_BY(mu_);
};

using ObjectRef = std::shared_ptr<ObjectEntry>;

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECTS_OBJECT_ENTRY_H_
