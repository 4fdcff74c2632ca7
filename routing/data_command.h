// A data command: a fixed header and its data segment, copied by value from buffer to buffer.
// Records follow one another; each is a multiple of 8 bytes. Paper: ERIS 3.2.
//
//   keyed (lookups and writes):
//     header | keys u64[count] | values u64[count], for writes with values | expected u64[count],
//     compare-and-set only | seconds u64[count], for two-part keys only | what its answers need
//     (AnswersTo) | positions u32[count], padded to 8 | query
//   scan:    header | ScanSegment | query
//   join:    header | JoinSegment | query, which goes with its lookups
//   install: header | InstallSegment        drop: header | DropSegment
//   measure: header | MeasureSegment         stage: header | StageSegment
//   give, hand over, conclude: header | TransferSegment
//   multicast: header | MulticastSegment, a reference to a record in a Port's multicast buffer
//
// A position is the index, in the request's reply columns, of its key's answer. A command from
// outside the engine is answered in its record, whose block then goes home: the states are a column
// of the record, and the values replace the keys or the given values (answers.h). A command between
// AEUs is copied, and its answers go elsewhere: to the reply's columns, or, if it has been sent on,
// to the record where it began; its positions are then indices of that record.
#ifndef ERIS_ROUTING_DATA_COMMAND_H_
#define ERIS_ROUTING_DATA_COMMAND_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/cache_line.h"
#include "eris/types.h"
#include "routing/block_pool.h"
#include "storage/batch.h"
#include "storage/key.h"
#include "storage/row_bytes.h"
#include "storage/scan.h"

namespace eris::memory {
class MemoryManager;
}
namespace eris::storage {
class TableLayout;
}

namespace eris::routing {

class JoinBlock;
class JoinPart;
class ObjectRoute;
class RangeTable;
class Reply;
class ScanPart;

enum class CommandType : uint8_t {
  // Commands with keys have the numbers of storage::Operation.
  kLookup = 1,
  kUpsert = 2,
  kErase = 3,
  kInsertIfAbsent = 4,
  kReplaceIfPresent = 5,
  kCompareAndSet = 6,
  kAdd = 7,
  kPutRows = 8,     // for tables: the rows are in the request, Reply::rows
  kLookupRows = 9,  // for tables: the answers go to Reply::columns_out
  kScan = 16,
  kJoin = 17,        // look up the values of a range as keys of another object
  kAppendRows = 18,  // for heap tables
  kTableScan = 19,
  kStage = 20,    // of a query: belongs to no object
  kInstall = 32,  // take over an empty range of an object
  kDrop = 33,     // release every range of an object
  // For transfers (transfer_step.h).
  kGive = 34,      // to the source: hand a range over
  kHandOver = 35,  // from the source to the target
  kConclude = 36,  // to the source: the step has ended, and its table is published
  kMeasure = 37,   // what the AEU's rows of an object take
  kComeHome = 38,  // its NumaNode has room for memory of those rows that lies on other NumaNodes
  kMulticast = 48,
};

constexpr bool IsKeyed(CommandType type) { return static_cast<uint8_t>(type) < 16; }
constexpr storage::Operation OperationOf(CommandType type) {
  return static_cast<storage::Operation>(type);
}
// For commands with keys: whether they send u64 columns besides the keys, and whether values come
// back.
constexpr bool HasValues(CommandType type) {
  return type == CommandType::kUpsert ||
         (type >= CommandType::kInsertIfAbsent && type <= CommandType::kAdd);
}
// Whether it may change rows of an object.
constexpr bool Writes(CommandType type) {
  return (type >= CommandType::kUpsert && type <= CommandType::kPutRows) ||
         type == CommandType::kAppendRows;
}
constexpr bool HasExpected(CommandType type) { return type == CommandType::kCompareAndSet; }
constexpr bool AnswersValues(CommandType type) {
  return type == CommandType::kLookup || storage::IsConditional(OperationOf(type));
}

// `answered` keys (or parts) have their answers in the reply. Called by the AEU at the end of its
// turn; for AnswersTo::kRecord once for each record, by the thread that takes its block home. Must
// not block or call back into the AEU. The paper's callback.
using CompletionFunction = void (*)(Reply* context, uint32_t answered) noexcept;

// Where the answers to the keys of a command go.
enum class AnswersTo : uint8_t {
  kReply,   // the columns of `context`; then `complete` is called
  kRecord,  // this record, whose block goes home; then `complete` is called. Has the block, and
            // states u8[count], padded to 8
  kHome,  // the record of kRecord from which these keys were sent on, which waits for them. Has its
          // address
};

struct CommandHeader {
  uint32_t size_bytes = 0;  // the whole record
  CommandType type = CommandType::kLookup;
  uint8_t key_parts = 1;  // for commands with keys: 1 or 2
  uint8_t lane = 0;       // for commands with keys: the same for all commands of one Port
  AnswersTo answers = AnswersTo::kReply;
  uint32_t slot = 0;           // the object's slot at every AEU, reused after a drop
  ObjectId object;             // the object that the slot must have; never reused
  uint64_t table_version = 0;  // of the partition table that chose the target
  uint64_t snapshot = 0;       // epoch; 0: the current data
  CompletionFunction complete = nullptr;
  Reply* context = nullptr;
  uint32_t count = 0;        // keys
  uint32_t query_bytes = 0;  // the query's own data, at the end of the data segment; multiple of 8
};
static_assert(sizeof(CommandHeader) == 56 && alignof(CommandHeader) == 8);

struct ScanSegment {
  storage::Range range;
  uint64_t rows_max = 0;
  ScanPart* part = nullptr;
  storage::ScanQuery query{};
  bool aggregate = false;  // the rows are aggregated in the part, and rows_max is ignored
};

// The query data of a lookup, if it has some: a row whose value is outside [value_lo, value_last]
// counts as absent.
struct LookupQuery {
  uint64_t value_lo = 0;
  uint64_t value_last = ~uint64_t{0};  // not below value_lo
  bool Keeps(uint64_t value) const { return value - value_lo <= value_last - value_lo; }
};

// Called before the lookups of a block with `rows` rows are sent; the completion function is then
// called once for each of them. May not block.
using JoinBlockFunction = void (*)(JoinBlock* block, uint32_t rows) noexcept;

struct JoinSegment {
  storage::Range range;  // of the outer object, which the command is for
  // The AEU answers what this version of the outer table assigns to it inside the range, so that
  // the answers of several AEUs are disjoint. nullptr: the whole range.
  const RangeTable* table = nullptr;
  const ObjectRoute* inner = nullptr;
  // Ascending by owner; see PartOf.
  JoinPart* const* parts = nullptr;
  uint64_t part_count = 0;
  JoinBlockFunction begin_block = nullptr;
  CompletionFunction complete_block = nullptr;
};

struct InstallSegment {
  storage::Range range;
  memory::MemoryManager* manager = nullptr;  // of the AEU's NumaNode; outlives the partition
  const ObjectRoute* route = nullptr;        // outlives the partition
  ObjectKind kind = ObjectKind::kIndex;
  ColumnType value_type = ColumnType::kUint64;
  uint32_t position = 0;   // of the answer in the reply's states
  uint64_t seed = 0;       // kHash
  bool two_parts = false;  // the keys
  bool slot_only = false;  // without a range: prepares for ranges that will be handed over
  // For tables: held by the object's entry, which outlives the command.
  const std::shared_ptr<const storage::TableLayout>* layout = nullptr;
};

// Appends rows [first, first + count) of context->rows at one AEU; its answer is states[position].
struct AppendSegment {
  uint64_t first = 0;
  uint32_t count = 0;
  uint32_t position = 0;
};

class TableScanPart;

struct TableScanSegment {
  // The AEU's part is found by its owner, as for joins.
  TableScanPart* const* parts = nullptr;
  uint64_t part_count = 0;
};

class StagePart;

struct StageSegment {
  // As TableScanSegment.
  StagePart* const* parts = nullptr;
  uint64_t part_count = 0;
};

// The AEU writes `bytes` before its answer, which publishes it. For objects whose ranges can leap.
struct MeasureSegment {
  storage::RowBytes* bytes = nullptr;
  uint32_t position = 0;  // of the answer: kPresent, kNoObject, kCancelled, kNoMemory
  uint32_t padding = 0;
};

struct DropSegment {
  uint32_t position = 0;
  uint32_t padding = 0;
};

// The answer comes at once: kPresent (such memory follows in later turns), kAbsent (there is none),
// kNoObject, kNoMemory.
struct ComeHomeSegment {
  uint32_t position = 0;
  uint32_t padding = 0;
};

// The Port's block has one copy of the command for all targets. An AEU that executes it copies what
// it needs and releases the block immediately: a pool is small, and a scan is long.
struct MulticastSegment {
  const CommandHeader* command = nullptr;
  Block* block = nullptr;
};

// Pointers into a keyed command's data segment.
struct KeyedSegment {
  const uint64_t* keys;
  const uint64_t* values;    // HasValues only, else nullptr
  const uint64_t* expected;  // HasExpected only, else nullptr
  const uint64_t* seconds;   // only for two-part keys, else nullptr
  // Each nullptr, unless answers go there.
  Block** block;               // AnswersTo::kRecord
  storage::KeyState* states;   // AnswersTo::kRecord
  const CommandHeader** home;  // AnswersTo::kHome
  const uint32_t* positions;
};

constexpr size_t U64ColumnsOf(CommandType type, uint8_t key_parts = 1) {
  return size_t{key_parts} + HasValues(type) + HasExpected(type);
}

constexpr size_t AnswerBytes(uint32_t count, AnswersTo answers) {
  switch (answers) {
    case AnswersTo::kReply:
      return 0;
    case AnswersTo::kRecord:
      return sizeof(Block*) + base::RoundUp(count, 8);
    case AnswersTo::kHome:
      return sizeof(CommandHeader*);
  }
  return 0;
}

constexpr size_t KeyedRecordBytes(CommandType type, uint32_t count, uint32_t query_bytes = 0,
                                  uint8_t key_parts = 1, AnswersTo answers = AnswersTo::kReply) {
  return sizeof(CommandHeader) + U64ColumnsOf(type, key_parts) * sizeof(uint64_t) * count +
         AnswerBytes(count, answers) + base::RoundUp(sizeof(uint32_t) * count, 8) + query_bytes;
}

inline const std::byte* DataSegment(const CommandHeader* command) {
  return reinterpret_cast<const std::byte*>(command + 1);
}

inline KeyedSegment KeyedSegmentOf(const CommandHeader* command) {
  const auto* words = reinterpret_cast<const uint64_t*>(DataSegment(command));
  const size_t count = command->count;
  const uint64_t* end = words + U64ColumnsOf(command->type, command->key_parts) * count;
  const auto* positions =
      reinterpret_cast<const std::byte*>(end) + AnswerBytes(command->count, command->answers);
  // The record's own memory, which its AEU may write.
  auto* const answers = const_cast<uint64_t*>(end);
  const bool here = command->answers == AnswersTo::kRecord;
  return {.keys = words,
          .values = HasValues(command->type) ? words + count : nullptr,
          .expected = HasExpected(command->type) ? words + 2 * count : nullptr,
          .seconds = command->key_parts == 2 ? end - count : nullptr,
          .block = here ? reinterpret_cast<Block**>(answers) : nullptr,
          .states = here ? reinterpret_cast<storage::KeyState*>(answers + 1) : nullptr,
          .home = command->answers == AnswersTo::kHome
                      ? reinterpret_cast<const CommandHeader**>(answers)
                      : nullptr,
          .positions = reinterpret_cast<const uint32_t*>(positions)};
}

// The query's own data: the last query_bytes of a record.
inline const std::byte* QueryOf(const CommandHeader* command) {
  return reinterpret_cast<const std::byte*>(command) + command->size_bytes - command->query_bytes;
}

}  // namespace eris::routing

#endif  // ERIS_ROUTING_DATA_COMMAND_H_
