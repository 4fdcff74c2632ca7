// unodb's single-threaded adaptive radix tree: a build option, from a checkout of
// github.com/laurynas-biveinis/unodb that is not part of this project. It cannot replace a value.
#include "global.hpp"  // first, as unodb requires
//
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "art.hpp"
#include "art_common.hpp"
#include "bench/index/side.h"
#include "bench/index/structure_lab.h"

namespace eris::bench {
namespace {

class UnodbStructure {
 public:
  static constexpr bool kOrdered = true;
  static constexpr bool kBulkLoads = false;
  static constexpr bool kReplaces = false;

  explicit UnodbStructure(uint64_t) {}
  void Insert(const uint64_t* keys, const uint64_t* values, size_t count, size_t) {
    for (size_t i = 0; i < count; ++i) {
      const auto* bytes = reinterpret_cast<const std::byte*>(&values[i]);
      size_ += tree_.insert(keys[i], unodb::value_view(bytes, sizeof values[i]));
    }
  }
  Found Lookup(const uint64_t* keys, size_t count, size_t) const {
    Found found;
    for (size_t i = 0; i < count; ++i) {
      const auto value = tree_.get(keys[i]);
      if (value) found.Add(keys[i], Number(*value));
    }
    return found;
  }
  uint64_t Erase(const uint64_t* keys, size_t count, size_t) {
    uint64_t erased = 0;
    for (size_t i = 0; i < count; ++i) erased += tree_.remove(keys[i]);
    size_ -= erased;
    return erased;
  }
  Found Scan(uint64_t from, uint64_t rows) {
    Found found;
    tree_.scan_from(from, [&](const auto& row) {
      found.Add(KeyOf(row), Number(row.get_value()));
      return found.rows == rows;
    });
    return found;
  }
  Found ScanAll() { return Scan(0, std::numeric_limits<uint64_t>::max()); }
  uint64_t size() const { return size_; }
  void AddMemory(Json&) const {}

 private:
  using Tree = unodb::db<uint64_t, unodb::value_view>;

  static uint64_t Number(const auto& view) {
    uint64_t number = 0;
    std::memcpy(&number, view.data(), sizeof number);
    return number;
  }
  static uint64_t KeyOf(const auto& row) { return __builtin_bswap64(Number(row.get_key())); }

  Tree tree_;
  uint64_t size_ = 0;
};

}  // namespace

std::vector<NamedSide> UnodbSides() {
  return {{"unodb", [](const SideOptions& options) -> std::unique_ptr<Side> {
             return std::make_unique<StructureLab<UnodbStructure>>(options);
           }}};
}

}  // namespace eris::bench
