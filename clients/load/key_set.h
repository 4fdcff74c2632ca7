// The keys and values of a load: both are functions of a number, so any process can check every
// answer without a copy of the data. Immutable; any thread.
//
// Numbers 0 .. count-1 are the set, in key order: a range of numbers is a range of keys. Numbers
// from count() on are keys outside the set, which inserts add and lookups can miss.
//
//   dense    key = number
//   sparse   |        slot * stride        | place inside the stride, random | generation |
//            spread over all 64 bits; the lowest 8 bits are 0 in the set, and number / count()
//            outside it, whose slots come in an order that looks random
#ifndef ERIS_CLIENTS_LOAD_KEY_SET_H_
#define ERIS_CLIENTS_LOAD_KEY_SET_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "clients/load/random.h"

namespace eris::load {

enum class Layout : uint8_t { kDense, kSparse };
constexpr const char* NameOf(Layout layout) {
  return layout == Layout::kDense ? "dense" : "sparse";
}

constexpr uint64_t ValueOf(uint64_t key) { return Mix(key + 0x9e3779b97f4a7c15u); }

class KeySet {
 public:
  static constexpr uint64_t kCountMax = uint64_t{1} << 40;
  // Sparse numbers are distinct keys below count() * kGenerations.
  static constexpr uint64_t kGenerations = 256;

  // REQUIRES: 1 <= count <= kCountMax.
  KeySet(uint64_t count, Layout layout);

  uint64_t count() const { return count_; }
  Layout layout() const { return layout_; }

  // REQUIRES: number < count() * kGenerations.
  uint64_t Key(uint64_t number) const;
  // Replaces numbers by their keys.
  void ToKeys(absl::Span<uint64_t> numbers) const;

  // Whether a key has the form of one in the set.
  bool IsInSet(uint64_t key) const {
    return layout_ == Layout::kDense ? key < count_ : key % kGenerations == 0;
  }
  // The number of a key of the set; for other keys, their position among those.
  uint64_t NumberOf(uint64_t key) const { return layout_ == Layout::kDense ? key : key / stride_; }

  // A permutation of all numbers below count() that looks random and spreads evenly. REQUIRES:
  // index < count().
  uint64_t Spread(uint64_t index) const;
  // Replaces indices by Spread of them.
  void SpreadAll(absl::Span<uint64_t> indices) const;

  // Bounds that give `partitions` partitions equal shares.
  std::vector<uint64_t> SplitPoints(uint32_t partitions) const;

 private:
  uint64_t count_;
  Layout layout_;
  uint64_t stride_;  // for the sparse layout
  uint64_t spread_;  // coprime to count_
  double spread_part_;
};

// values[i] = ValueOf(keys[i]); equally long.
void FillValues(absl::Span<const uint64_t> keys, absl::Span<uint64_t> values);
// How many of `values`, little-endian u64 at any address, do not belong to `keys`.
uint64_t CountWrongValues(absl::Span<const uint64_t> keys, const char* values);

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_KEY_SET_H_
