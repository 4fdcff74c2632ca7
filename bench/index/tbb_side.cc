// oneTBB's hash map, used by one thread. It uses the process's malloc, so the preloaded allocator
// serves it like the other peers. Its ordered map, a skip list, finds a quarter as many keys as a
// btree and does not erase in acceptable time: so it is no peer here.
#include <tbb/concurrent_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bench/index/side.h"
#include "bench/index/structure_lab.h"

namespace eris::bench {
namespace {

using Row = std::pair<const uint64_t, uint64_t>;

// Gets its size in advance; the locks of its rows are part of it.
class TbbHashStructure {
 public:
  static constexpr bool kOrdered = false;
  static constexpr bool kBulkLoads = false;
  static constexpr bool kReplaces = true;

  explicit TbbHashStructure(uint64_t keys) : map_(keys) {}
  void Insert(const uint64_t* keys, const uint64_t* values, size_t count, size_t) {
    for (size_t i = 0; i < count; ++i) map_.emplace(keys[i], values[i]);
  }
  void Replace(const uint64_t* keys, const uint64_t* values, size_t count, size_t) {
    for (size_t i = 0; i < count; ++i) {
      Map::accessor row;
      map_.insert(row, keys[i]);
      row->second = values[i];
    }
  }
  Found Lookup(const uint64_t* keys, size_t count, size_t) const {
    Found found;
    for (size_t i = 0; i < count; ++i) {
      Map::const_accessor row;
      if (map_.find(row, keys[i])) found.Add(keys[i], row->second);
    }
    return found;
  }
  uint64_t Erase(const uint64_t* keys, size_t count, size_t) {
    uint64_t erased = 0;
    for (size_t i = 0; i < count; ++i) erased += map_.erase(keys[i]);
    return erased;
  }
  uint64_t ValueAt(uint64_t key) const {
    Map::const_accessor row;
    return map_.find(row, key) ? row->second : 0;
  }
  uint64_t size() const { return map_.size(); }
  void AddMemory(Json&) const {}

 private:
  using Map = tbb::concurrent_hash_map<uint64_t, uint64_t, tbb::tbb_hash_compare<uint64_t>,
                                       std::allocator<Row>>;
  Map map_;
};

}  // namespace

std::vector<NamedSide> TbbSides() {
  return {{"tbb_hash", [](const SideOptions& options) -> std::unique_ptr<Side> {
             return std::make_unique<StructureLab<TbbHashStructure>>(options);
           }}};
}

}  // namespace eris::bench
