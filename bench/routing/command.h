// The commands of the routing benchmark, and the proof that none was lost, duplicated or corrupted.
#ifndef ERIS_BENCH_ROUTING_COMMAND_H_
#define ERIS_BENCH_ROUTING_COMMAND_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "routing/data_command.h"

namespace eris::bench {

// A command is a key and a value. The key: its target's number above its own (unique among all
// senders); the value: the complement of its own number.
inline constexpr int kTargetShift = 56;
inline constexpr uint64_t RangeOf(uint32_t target) { return uint64_t{target} << kTargetShift; }

// The elements of the peers' queues and rings.
//
// A data command of routing/ with its own header, byte for byte as Port::Open makes it.
template <size_t kSegmentBytes>
struct Record {
  static_assert(kSegmentBytes % 8 == 0 && kSegmentBytes >= 16);
  static constexpr size_t kSegmentWords = kSegmentBytes / 8;

  void Fill(uint64_t key, uint64_t value, uint32_t source) {
    header = HeaderOf(source);
    FillSegment(segment, key, value);
  }
  static routing::CommandHeader HeaderOf(uint32_t source) {
    return {.size_bytes = sizeof(Record),
            .type = routing::CommandType::kUpsert,
            .slot = source,
            .object = ObjectId{1},
            .table_version = 1,
            .count = 1};
  }
  static void FillSegment(uint64_t* segment, uint64_t key, uint64_t value) {
    segment[0] = key;
    for (size_t i = 1; i + 1 < kSegmentWords; ++i) segment[i] = 0;
    segment[kSegmentWords - 1] = value;
  }
  uint64_t key() const { return segment[0]; }
  uint64_t value() const { return segment[kSegmentWords - 1]; }

  routing::CommandHeader header;
  uint64_t segment[kSegmentWords];
};
static_assert(sizeof(Record<16>) == 72);

// The smallest possible element for a user of a queue: the operation, where its answer goes, and
// the data.
struct Element32 {
  void Fill(uint64_t the_key, uint64_t the_value, uint32_t source) {
    *this = {nullptr, source, uint32_t{1} << 24 | 1, the_key, the_value};
  }
  uint64_t key() const { return key_; }
  uint64_t value() const { return value_; }

  routing::Reply* reply;
  uint32_t position;
  uint32_t type_and_slot;
  uint64_t key_;
  uint64_t value_;
};
static_assert(sizeof(Element32) == 32);

// Sums over a set of commands. Equal tallies on both sides mean the same set: lost and duplicated
// commands would have to agree in number, sum and exclusive or. A few operations per command, all
// of them vectorized, so that it costs far less than the measured work.
struct Tally {
  uint64_t commands = 0;
  uint64_t bytes = 0;  // with headers; not compared
  uint64_t sum = 0;
  uint64_t xors = 0;
  uint64_t torn = 0;  // not zero: a key and a value that do not match, or are at the wrong AEU

  // For the receiver, whose range is `range`.
  void Add(uint64_t key, uint64_t value, uint64_t range) {
    const uint64_t number = key ^ range;
    ++commands;
    sum += number;
    xors ^= number;
    torn |= number ^ ~value;
  }
  void Add(std::span<const uint64_t> keys, const uint64_t* values, uint64_t range) {
    Tally all;  // in registers
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint64_t number = keys[i] ^ range;
      all.sum += number;
      all.xors ^= number;
      all.torn |= number ^ ~values[i];
    }
    all.commands = keys.size();
    Add(all);
  }
  // For the sender: numbers first, first + 1, ...
  void AddNumbers(uint64_t first, uint64_t count) {
    if (count == 0) return;
    commands += count;
    const uint64_t last = first + count - 1;
    sum += (first % 2 == last % 2) ? (first + (last - first) / 2) * count
                                   : (first + last) * (count / 2);
    xors ^= XorTo(last) ^ XorTo(first - 1);
  }
  void TakeBack(uint64_t number) {
    --commands;
    sum -= number;
    xors ^= number;
  }
  void Add(const Tally& other) {
    commands += other.commands;
    bytes += other.bytes;
    sum += other.sum;
    xors ^= other.xors;
    torn |= other.torn;
  }
  bool SameSet(const Tally& other) const {
    return commands == other.commands && sum == other.sum && xors == other.xors;
  }

 private:
  // 0 ^ 1 ^ ... ^ n; n = -1 gives 0.
  static constexpr uint64_t XorTo(uint64_t n) {
    switch (n % 4) {
      case 0:
        return n;
      case 1:
        return 1;
      case 2:
        return n + 1;
      default:
        return 0;
    }
  }
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_COMMAND_H_
