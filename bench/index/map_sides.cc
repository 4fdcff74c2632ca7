// std::map and Abseil's maps, in normal use: one key after the other. The hash map gets its size in
// advance.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "bench/index/map_structure.h"
#include "bench/index/side.h"
#include "bench/index/structure_lab.h"

namespace eris::bench {
namespace {

template <class Map>
class OrderedStructure : public MapStructure<Map> {
 public:
  static constexpr bool kOrdered = true;
  static constexpr bool kBulkLoads = true;

  explicit OrderedStructure(uint64_t) {}
  // Each row with the end as a hint, which fills the btree's nodes up.
  uint64_t Load(const uint64_t* keys, const uint64_t* values, size_t count) {
    Map& map = this->map_;
    const uint64_t begin_ns = NowNs();
    for (size_t i = 0; i < count; ++i) map.emplace_hint(map.end(), keys[i], values[i]);
    return NowNs() - begin_ns;
  }
};
using MapOfNodes = OrderedStructure<std::map<uint64_t, uint64_t>>;
using BtreeStructure = OrderedStructure<absl::btree_map<uint64_t, uint64_t>>;

class FlatHashStructure : public MapStructure<absl::flat_hash_map<uint64_t, uint64_t>> {
 public:
  static constexpr bool kOrdered = false;
  static constexpr bool kBulkLoads = false;

  explicit FlatHashStructure(uint64_t keys) { map_.reserve(keys); }
};

template <class Structure>
std::unique_ptr<Side> Make(const SideOptions& options) {
  return std::make_unique<StructureLab<Structure>>(options);
}

}  // namespace

std::vector<NamedSide> MapSides() {
  return {{"std_map", Make<MapOfNodes>},
          {"btree", Make<BtreeStructure>},
          {"flat_hash", Make<FlatHashStructure>}};
}

}  // namespace eris::bench
