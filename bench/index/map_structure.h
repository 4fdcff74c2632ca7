// A peer with the interface of std::map as a measured structure.
#ifndef ERIS_BENCH_INDEX_MAP_STRUCTURE_H_
#define ERIS_BENCH_INDEX_MAP_STRUCTURE_H_

#include <cstddef>
#include <cstdint>

#include "bench/index/side.h"
#include "bench/index/structure_lab.h"

namespace eris::bench {

template <class Map>
class MapStructure {
 public:
  static constexpr bool kReplaces = true;

  void Insert(const uint64_t* keys, const uint64_t* values, size_t count, size_t) {
    for (size_t i = 0; i < count; ++i) map_.emplace(keys[i], values[i]);
  }
  void Replace(const uint64_t* keys, const uint64_t* values, size_t count, size_t) {
    for (size_t i = 0; i < count; ++i) map_.insert_or_assign(keys[i], values[i]);
  }
  Found Lookup(const uint64_t* keys, size_t count, size_t) const {
    Found found;
    for (size_t i = 0; i < count; ++i) {
      const auto row = map_.find(keys[i]);
      if (row != map_.end()) found.Add(keys[i], row->second);
    }
    return found;
  }
  uint64_t Erase(const uint64_t* keys, size_t count, size_t) {
    uint64_t erased = 0;
    for (size_t i = 0; i < count; ++i) erased += map_.erase(keys[i]);
    return erased;
  }
  Found Scan(uint64_t from, uint64_t rows) const {
    Found found;
    for (auto row = map_.lower_bound(from); row != map_.end() && found.rows < rows; ++row) {
      found.Add(row->first, row->second);
    }
    return found;
  }
  Found ScanAll() const {
    Found found;
    uint64_t last = 0;
    for (const auto& [key, value] : map_) {
      found.Add(key, value);
      found.ascending &= key >= last;
      last = key;
    }
    return found;
  }
  uint64_t ValueAt(uint64_t key) const { return map_.find(key)->second; }
  uint64_t size() const { return map_.size(); }
  void AddMemory(Json&) const {}

 protected:
  Map map_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_INDEX_MAP_STRUCTURE_H_
