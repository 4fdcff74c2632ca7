// The adaptive prefix tree: u64 keys in order, u64 values, 8-bit span, path compression, and a
// lowest level of small runs. An index partition is built on it. TreeNodes are in tree_node.h, runs
// in tree_run.h, ordered reading in tree_scanner.h. Single-threaded: no thread, no latch. Paper:
// ERIS 3.1.
//
//   TreeNode -> TreeNode -> run of up to 56 pairs      keys that lie apart
//                       `-> page of 256 values         keys that differ in the last byte only
//
// Every TreeNode carries the number of keys below it. It costs one increment per level and inserted
// key (never on a replaced value), on a line that the descent has read anyway, and it makes size()
// exact immediately after a split in O(depth). Counting at split time would walk the subtree:
// millions of cache misses within one AEU turn.
//
// A value may count as more than one (PrefixTree::Weight): in a tree whose values are groups of
// rows, the number counts rows.
//
// No path has more than 8 TreeNodes, which bounds recursion over the tree.
#ifndef ERIS_STORAGE_TREE_PREFIX_TREE_H_
#define ERIS_STORAGE_TREE_PREFIX_TREE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "memory/local_cache.h"
#include "storage/home_work.h"
#include "storage/tree/tree_node.h"
#include "storage/tree/tree_run.h"

namespace eris::storage {

// Keys that FindGroup advances together. At 16 M keys, groups of 16, 32, 64, 128, in M keys/s:
// dense 54, 80, 103, 111; sparse 23, 36, 53, 56 (bench/index).
inline constexpr uint32_t kFindGroupMax = 128;

enum class UpsertResult : uint8_t { kInserted, kReplaced, kNoMemory };

class PrefixTree {
 public:
  // The weight of a key, computed from its value: 1 or more, and 1 for a new value and for the last
  // one removed. nullptr: every key has weight 1.
  using Weight = uint64_t (*)(uint64_t value);
  // Frees the memory that `count` values refer to, and returns how many rows they were. For values
  // that took long to free, it returns the number of rows that would have taken as long. nullptr:
  // values refer to nothing, and each is one row.
  using FreeValues = uint64_t (*)(memory::LocalCache& cache, const uint64_t* values,
                                  uint32_t count);

  // Moves the memory that a value refers to, as HomeWork::Move. False: a part of it is left for the
  // next call, from HomeWork::next_second on.
  using MoveValue = bool (*)(memory::LocalCache& cache, uint64_t& value, HomeWork& work);

  // `cache` outlives the tree.
  explicit PrefixTree(memory::LocalCache& cache, Weight value_weight = nullptr)
      : cache_(&cache), weight_(value_weight) {}
  // Takes over what another tree of the cache, whose keys have weight 1, has released.
  PrefixTree(memory::LocalCache& cache, TreeRef root)
      : cache_(&cache), weight_(nullptr), root_(root) {}
  ~PrefixTree() { Clear(); }
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // O(1): the sum of the keys' weights.
  uint64_t size() const { return KeysOf(root_); }
  bool empty() const { return root_.IsNone(); }
  memory::LocalCache& cache() const { return *cache_; }
  // From now on memory comes from `cache`; blocks from other caches of its object go back to those
  // when they are freed.
  void Rehome(memory::LocalCache& cache) { cache_ = &cache; }
  // For the walkers of this folder (tree_scanner.h, tree_check.h).
  TreeRef root() const { return root_; }
  Weight weight() const { return weight_; }
  // The weight of the keys at or below: a number in a header; for a run with weights, a sum.
  uint64_t KeysOf(TreeRef ref) const {
    return weight_ == nullptr || !ref.IsRun() ? ref.Keys() : RunWeight(ref);
  }
  uint64_t WeightOf(uint64_t value) const { return weight_ == nullptr ? 1 : weight_(value); }

  // Stores key -> value. Replacing a value needs no memory. kNoMemory: nothing has changed.
  [[nodiscard]] UpsertResult Upsert(uint64_t key, uint64_t value);
  // Stores key -> value if the key is new; then `there` is nullptr. Otherwise `there` is the
  // location of its value, for reading and replacing, until the next change of the tree. False: no
  // memory, nothing has changed.
  [[nodiscard]] bool InsertIfAbsent(uint64_t key, uint64_t value, uint64_t*& there);
  // The weight of the value of `key`, which exists, has grown by `by`.
  void Reweigh(uint64_t key, int64_t by);
  // Never needs memory: if a smaller TreeNode cannot be allocated, the larger one stays. True if
  // the key was there.
  bool Erase(uint64_t key);
  std::optional<uint64_t> Lookup(uint64_t key) const {
    const uint64_t* const value = Find(key);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
  // The location of one key's value, as FindGroup returns it.
  uint64_t* Find(uint64_t key) const;

  // Looks up up to kFindGroupMax keys in parallel: all advance level by level, with prefetches, so
  // that their cache misses overlap. values[i] is the location of the value of keys[i], for reading
  // and replacing, or nullptr if the key is absent; valid until the next insert, erase, split,
  // absorb or scan. Shapes: `count` keys and values; any order, duplicates allowed. kInsert also
  // fetches what an insert of the absent keys will touch.
  enum class Purpose : uint8_t { kRead, kInsert };
  void FindGroup(const uint64_t* keys, uint32_t count, uint64_t** values,
                 Purpose purpose = Purpose::kRead);
  // The same, but each keys[i] is searched in the tree with root roots[i] (which may be none).
  static void FindInTrees(const TreeRef* roots, const uint64_t* keys, uint32_t count,
                          uint64_t** values, Purpose purpose = Purpose::kRead);

  // Fills an empty tree with ascending keys, faster and denser than repeated inserts. False: no
  // memory; it is still empty. REQUIRES: empty(); equal lengths; keys ascend strictly.
  [[nodiscard]] bool Build(const uint64_t* keys, const uint64_t* values, size_t count);

  // Moves every key >= `key` to `upper`, in O(depth): at most one new TreeNode per level, allocated
  // before anything changes. False: no memory; nothing has changed.
  // REQUIRES: `upper` is empty and has the same cache.
  [[nodiscard]] bool SplitAt(uint64_t key, PrefixTree& upper);
  // Takes over every key of `other`, in O(depth): two trees of adjacent ranges share at most a
  // path. False: no memory; nothing has changed. `other` is empty after success. REQUIRES: the same
  // cache; all keys of `other` are below, or all above, this tree's keys.
  [[nodiscard]] bool Absorb(PrefixTree& other);

  // Moves blocks of other NumaNodes to the cache's, from work.next_key on, until the work is spent.
  // True: the walk has come to the end, or memory was refused. Values stay where they are without
  // `move_value`. Sorts runs whose values it moves.
  bool BringHome(HomeWork& work, MoveValue move_value = nullptr);
  // Frees every block, walking the tree.
  void Clear();
  // Frees about `rows_max` rows, lower runs before higher ones, with the memory of their values; if
  // values refer to nothing, whole runs and pages. Never needs memory. Returns the unused part of
  // rows_max; negative if more were freed. The tree no longer counts its keys: only Release,
  // FreeRows and Clear may be called.
  int64_t FreeRows(int64_t rows_max, FreeValues free_values);
  // Forgets the content without walking or freeing, for an owner that then drops the whole
  // LocalCache, and the blocks with it. The cache's used_bytes() does not change.
  void Abandon() { root_ = TreeRef(); }
  // Passes all blocks to the holder of the returned reference: for trees too numerous for an object
  // each.
  [[nodiscard]] TreeRef Release() { return std::exchange(root_, TreeRef()); }
  // Exchanges contents with a tree of the same cache and weight.
  void Swap(PrefixTree& other);

 private:
  struct Path;
  struct Cut;
  struct CutPath;
  struct Joint;
  struct JointPath;

  uint64_t RunWeight(TreeRef run) const;
  uint64_t WeightOf(const uint64_t* values, size_t count) const;
  // The number of keys of a page, whatever their weights.
  uint64_t PageKeys(const TreePage* page) const;

  // Moves a block that is written anyway if blocks of its size are scattered. Otherwise a kind that
  // the tree no longer needs, or has few of after many erases, would keep its spans for ever.
  TreeRef Gather(TreeRef ref);
  void* Allocate(TreeNodeKind kind) { return cache_->Allocate(BytesOf(kind)); }
  void* AllocateRun(unsigned lines) { return cache_->Allocate(lines * base::kCacheLineBytes); }
  void Free(TreeRef ref) { cache_->Free(ref.block(), ref.Bytes()); }
  void FreeSubtree(TreeRef ref);
  // For FreeRows: returns the rest of `ref`, which is itself or none.
  TreeRef FreePart(TreeRef ref, int64_t& rows_left, FreeValues free_values);
  // Frees at most `rows_left` values of a run or a page. True: more are left.
  bool FreeValuesOf(TreeRef ref, int64_t& rows_left, FreeValues free_values);
  // For BringHome: returns `ref`, or its copy. `from`: see HomeWork::next_key.
  TreeRef BringPart(TreeRef ref, uint64_t from, HomeWork& work, MoveValue move_value);
  void BringRun(TreeRun* run, uint64_t from, HomeWork& work, MoveValue move_value);
  void BringPage(TreeRef page, uint64_t from, HomeWork& work, MoveValue move_value);
  // A run with room for `room` pairs, filled with the first `count`, ascending. None if there is no
  // memory.
  TreeRef NewRun(const Pair* pairs, unsigned room, unsigned count);

  // Descends to where the key belongs: a run, a page, a TreeNode of other keys, or nothing.
  TreeRef Descend(uint64_t key, Path& path) const;
  // Puts `ref` at the place that the descent reached after `depth` TreeNodes.
  void SetLink(Path& path, unsigned depth, uint64_t key, TreeRef ref);
  // The steps of Upsert. False: no memory, nothing has changed.
  bool Insert(Path& path, TreeRef end, uint64_t key, uint64_t value);
  bool InsertIntoRun(Path& path, TreeRef run, uint64_t key, uint64_t value);
  bool SplitRun(Path& path, TreeRef run, uint64_t key, uint64_t value);
  bool InsertBeside(Path& path, TreeRef other, uint64_t key, uint64_t value);
  bool PutOver(Path& path, uint64_t key, TreeRef lower, TreeRef upper, unsigned shift,
               unsigned upper_start);
  bool MakePage(Path& path, uint64_t key, uint64_t value);
  bool AddChild(Path& path, uint64_t key, unsigned start, TreeRef child);
  // The steps of Erase.
  void RemoveLink(Path& path, uint64_t key);
  void ShrinkRun(Path& path, uint64_t key, TreeRef run);
  bool MergeRun(Path& path, uint64_t key, TreeRef run);
  void ShrinkPage(Path& path, uint64_t key, TreeRef page);
  // The replacement of a TreeNode that has lost children: its last child, a smaller TreeNode, or
  // itself. Frees what it replaces.
  TreeRef Settle(TreeRef ref);

  TreeRef BuildPart(const uint64_t* keys, const uint64_t* values, size_t count);
  TreeRef BuildRun(const uint64_t* keys, const uint64_t* values, size_t count);
  TreeRef BuildPage(const uint64_t* keys, const uint64_t* values, size_t count);

  bool ReserveCuts(uint64_t key, CutPath& path);
  void CutAt(const Cut& cut, TreeRef& lower, TreeRef& upper);
  bool ReserveJoints(TreeRef lower, TreeRef upper, JointPath& path);
  // What the two sides of a joint have of the byte that they share. False: no memory.
  bool TakeShared(Joint& joint, JointPath& path, TreeRef& lower, TreeRef& upper);
  void Unreserve(JointPath& path);
  TreeRef Join(Joint& joint, TreeRef shared);

  memory::LocalCache* cache_;
  Weight weight_;
  // A word like every slot; 0 for an empty tree.
  TreeRef root_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TREE_PREFIX_TREE_H_
