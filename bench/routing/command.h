// What the routing benchmark sends, and how it proves that nothing was lost or doubled.
#ifndef ERIS_BENCH_ROUTING_COMMAND_H_
#define ERIS_BENCH_ROUTING_COMMAND_H_

#include <cstddef>
#include <cstdint>

#include "routing/data_command.h"

namespace eris::bench {

// A data command with its data segment: the element of the peers' queues, and byte for byte what a
// Port writes.
template <size_t kSegmentBytes>
struct Record {
  static_assert(kSegmentBytes % 8 == 0 && kSegmentBytes >= 16);
  static constexpr size_t kSegmentWords = kSegmentBytes / 8;

  routing::CommandHeader header;
  uint64_t segment[kSegmentWords];
};
static_assert(sizeof(Record<16>) == 72);

// What a caller fills in for each command. A look-up of one key has a segment of 16 bytes.
inline routing::CommandHeader HeaderOf(uint32_t record_bytes, uint32_t source) {
  return {.size_bytes = record_bytes,
          .type = routing::CommandType::kLookup,
          .slot = source,
          .object = ObjectId{1},
          .table_version = 1,
          .count = 1};
}

// The segment carries its number (distinct among all senders) in front and its complement behind.
inline void FillSegment(uint64_t* segment, size_t words, uint64_t number) {
  segment[0] = number;
  for (size_t i = 1; i + 1 < words; ++i) segment[i] = 0;
  segment[words - 1] = ~number;
}

// Sums over a set of commands. Equal tallies on both sides mean the same set: a command lost and
// another doubled would have to agree in the sum and in the sum of squares.
struct Tally {
  uint64_t commands = 0;
  uint64_t sum = 0;
  uint64_t squares = 0;
  uint64_t torn = 0;  // not zero: a segment whose two ends do not belong together

  void Add(uint64_t front, uint64_t back) {
    ++commands;
    sum += front;
    squares += front * front;
    torn |= front ^ ~back;
  }
  void Add(const Tally& other) {
    commands += other.commands;
    sum += other.sum;
    squares += other.squares;
    torn |= other.torn;
  }
  friend bool operator==(const Tally&, const Tally&) = default;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_COMMAND_H_
