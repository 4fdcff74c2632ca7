// A command to the partitions of an index: eight bytes, so that a fuzzer finds its way, and few
// fields, so that what is left of a failure after shrinking can be read. Keys are told by a family,
// a place in it and how many, not one by one. index_machine.h runs commands against a std::map.
#ifndef ERIS_TESTS_FUZZ_INDEX_COMMAND_H_
#define ERIS_TESTS_FUZZ_INDEX_COMMAND_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "memory/system/failure_point.h"

namespace eris::fuzz {

enum class CommandKind : uint8_t {
  // Batches: of the values of storage::Operation, less one.
  kLookup,
  kUpsert,
  kErase,
  kInsertIfAbsent,
  kReplaceIfPresent,
  kCompareAndSet,
  kAdd,
  kScan,          // a range, in slices, between which TreeNodes may move: rows or an aggregate
  kSplit,         // a partition, at a key
  kAbsorb,        // a partition into a neighbour, upwards or downwards
  kMoveChunks,    // the low end of a partition, to its lower neighbour or back to itself
  kReload,        // a whole partition, in chunks, into a new one
  kHandOver,      // a whole partition, absorbed by a new one
  kInvalidCalls,  // what must be refused, and change nothing
  kTrim,          // the cache's magazines and empty spans go back
  kAbandon,       // all partitions, and their memory with them
  kLend,          // an end of a partition, to a new one, which has it from then on
  kConclude,      // the loan: it is forgotten, or taken back and what was borrowed is dropped
  kMaintain,      // a piece of what was forgotten is freed
  kRehome,        // a partition, to the other cache
};
inline constexpr unsigned kCommandKinds = 20;

enum class KeyFamily : uint8_t {
  kDense,         // one after the other, from a base that `place` picks; some wrap around 2^64
  kSparse,        // anywhere
  kClustered,     // groups of 64 that differ in one byte and in bytes above it
  kOneByte,       // 256 keys at a time that differ in byte `place` alone
  kZerosAndOnes,  // each byte 0x00 or 0xff
  kExtremes,      // both ends of the key space, powers of two and their neighbours
  kLongPrefix,    // `place` bytes in common, any below
  kExisting,      // rows that are there, or the keys right behind them (odd `place`)
};
inline constexpr unsigned kKeyFamilies = 8;

enum class KeyOrder : uint8_t { kAscending, kDescending, kScattered, kRepeated };
inline constexpr unsigned kKeyOrders = 4;

struct IndexCommand {
  CommandKind kind = CommandKind::kLookup;
  KeyFamily family = KeyFamily::kDense;
  KeyOrder order = KeyOrder::kAscending;
  uint8_t place = 0;   // 0 .. 7: a byte position or a base
  uint16_t first = 0;  // index of the first key in its family
  uint8_t count = 0;   // of keys or rows, in units of 1, 4, 16 by scale (0 .. 2)
  uint8_t scale = 0;
  uint8_t detail = 0;   // which partition, side, sizes of parts: by kind
  uint8_t failure = 0;  // below kFailures: none

  static constexpr uint8_t kFailures = 0xc0;
  size_t Count() const { return size_t{count} << (2 * scale); }
  // The request for memory that is refused, 0: none; and whether those after it are, too.
  uint64_t FailNth() const;
  memory::FailurePoint::Mode FailMode() const {
    return (failure & 0x20) != 0 ? memory::FailurePoint::Mode::kFromThen
                                 : memory::FailurePoint::Mode::kOnce;
  }
  friend bool operator==(const IndexCommand&, const IndexCommand&) = default;
};

// The key at `index` of a family; of kExisting, the one at `index` of `existing`, ascending, modulo
// their number (0 without any).
uint64_t KeyAt(KeyFamily family, unsigned place, uint64_t index,
               std::span<const uint64_t> existing);
// The command's keys in its order. Some orders repeat keys.
std::vector<uint64_t> KeysOf(const IndexCommand& command, std::span<const uint64_t> existing);

inline constexpr size_t kCommandBytes = 8;
// Any bytes are commands; an incomplete one at the end is left out.
std::vector<IndexCommand> DecodeCommands(std::span<const uint8_t> bytes);
// DecodeCommands gives the same commands again.
std::vector<uint8_t> EncodeCommands(std::span<const IndexCommand> commands);
// Bytes as hexadecimal digits, to stand in a regression test, and back.
std::string HexOf(std::span<const uint8_t> bytes);
std::vector<uint8_t> BytesOfHex(const std::string& hex);

std::string TextOf(const IndexCommand& command);
std::ostream& operator<<(std::ostream& out, const IndexCommand& command);

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_INDEX_COMMAND_H_
