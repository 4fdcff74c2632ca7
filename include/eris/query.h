// Queries over an object's rows, and their answers: ordered rows of an index, filtered and
// projected rows of a table, or aggregates, in columnar chunks, as of one snapshot.
// Paper: ERIS 3.1 (scans), 4.2.2.
#ifndef ERIS_QUERY_H_
#define ERIS_QUERY_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "eris/arrow_c_data.h"
#include "eris/batch.h"
#include "eris/expression.h"
#include "eris/schema.h"
#include "eris/types.h"

namespace eris {

// One moment of the whole engine: its scans see exactly what was committed then, in every object.
// The engine keeps old rows for it as long as it is held. If they take more memory than
// Options::version_bytes_max, or it gets older than snapshot_age_ms_max, it is given up and its
// scans end with Aborted. Any thread. Must not outlive the engine.
class Snapshot {
 public:
  virtual ~Snapshot() = default;  // releases it, once its scans have ended too
  virtual uint64_t epoch() const = 0;
  virtual bool aborted() const = 0;
};

enum class AggregateFunction : uint8_t {
  kCount = 1,  // of rows; with an argument: of rows where it is not null. u64
  kSum = 2,    // exact, i128 of the argument's scale; a double for doubles. Null without a row
  kMin = 3,    // type of the argument; null without a row
  kMax = 4,
  kAverage = 5,  // a double: the exact sum divided by the count. Null without a row
  // The value in the middle of the values that are not null; of an even number of them the mean of
  // the two in the middle. A double, the one nearest to it; of decimals, and of numbers of 128 bits
  // with digits behind the point, one of the argument's type, cut off towards 0. Not of strings and
  // points in time. In doubles a NaN is above all others. Null without a row. All values are kept
  // until then, so it takes at least 8 bytes a row.
  kMedian = 6,
};

// What they are called in text, in their order from kCount on.
inline constexpr absl::string_view kAggregateFunctionNames[] = {"count", "sum", "min",
                                                                "max",   "avg", "median"};

// Empty for what is none.
constexpr absl::string_view AggregateFunctionName(AggregateFunction function) {
  const size_t i = static_cast<size_t>(function) - 1;
  return i < std::size(kAggregateFunctionNames) ? kAggregateFunctionNames[i] : "";
}
constexpr std::optional<AggregateFunction> AggregateFunctionFromName(absl::string_view name) {
  for (size_t i = 0; i < std::size(kAggregateFunctionNames); ++i) {
    if (kAggregateFunctionNames[i] == name) return static_cast<AggregateFunction>(i + 1);
  }
  return std::nullopt;
}

struct NamedExpression {
  Expression expression;
  std::string name;
};

struct AggregateColumn {
  AggregateFunction function = AggregateFunction::kCount;
  std::optional<Expression> argument{};  // required except for kCount
  std::string name;
};

inline constexpr uint32_t kGroupColumnsMax = 16;
inline constexpr uint32_t kGroupsMax = 1u << 16;  // of one query, else OutOfRange
// Bytes of Chunk::resume: some of each AEU that has had a part of a table, whatever the machine.
inline constexpr uint32_t kResumeBytesMax = 512u << 10;

inline constexpr uint32_t kTableSharesMax = 1u << 16;  // TableShare::count

// Some rows of a table: those that a snapshot sees at one AEU, or of these one part in `count`. So
// the shares of all AEUs, each with all parts, are the rows of the snapshot, each once, while
// ranges move and writers write. Other AEUs do nothing for it. An AEU without rows of the table has
// shares without rows. Parts are of whole segments, of up to 65,536 rows.
struct TableShare {
  AeuId aeu{};
  uint32_t index = 0;  // below count
  uint32_t count = 1;  // between 1 and kTableSharesMax
  friend bool operator==(const TableShare&, const TableShare&) = default;
};

// Fields for another kind of object are InvalidArgument: range, direction and values are for
// indexes; filter, group_by, aggregates, share and computed columns for tables.
struct Query {
  // Keys, encoded as key_encoding.h says. Inverted (hi < lo) is InvalidArgument; an empty range
  // gives no row.
  KeyRange range{};
  ScanDirection direction = ScanDirection::kForward;  // kBackward: from the end of the range
  std::optional<ValueRange> values{};  // only rows with values in it; inverted is InvalidArgument
  std::optional<Expression> filter{};  // only rows for which it is true
  // The columns of the answer; empty: all columns of the object. For an index: either all of its
  // columns, in their order, or the key columns. Not with aggregates.
  std::vector<NamedExpression> columns{};
  // With aggregates: one row per distinct combination of these columns' values (null is a value),
  // ascending, nulls first. If empty: one row in all, even if no row matches.
  std::vector<std::string> group_by{};
  std::vector<AggregateColumn> aggregates{};
  std::optional<TableShare> share{};  // only rows of it; needs a snapshot
  uint64_t limit = 0;                 // rows handed out at most; 0: all
  // nullptr: the scan takes one after the call begins.
  std::shared_ptr<Snapshot> snapshot{};
  // The value of Chunk::resume: the scan continues after that chunk. The query must be the same
  // except for `limit`, and for tables the snapshot too; otherwise InvalidArgument or missing rows.
  // Not with aggregates.
  std::string resume{};
};

// One reader's share of what a query reads (Session::Shares).
struct ObjectShare {
  AeuId aeu{};
  NumaNodeId numa_node{};  // of its memory
  // In an index the keys of this share, to be scanned. In a table the keys that the AEU owns now,
  // for information: its rows of the snapshot may have others, if ranges have moved since.
  KeyRange range{};
  // For an index exact. For a table the rows of segments that may have some for the query, at least
  // as many as its answer.
  uint64_t rows = 0;
};

// Columns of an answer, of equal length, in Arrow's layout. At least one row. Holds a bounded
// buffer of the engine until it and all results of ExportArrow are released: a scan pauses while
// its reader keeps chunks. For indexes keys strictly ascend (backward: descend), within a chunk and
// from chunk to chunk. Rows of tables and joins are in no order.
class Chunk {
 public:
  virtual ~Chunk() = default;
  virtual uint64_t rows() const = 0;
  // The schema of the answer's columns; kInt128 may be among the types.
  virtual const Schema& schema() const = 0;
  virtual ColumnView column(size_t i) const = 0;
  // The position of the scan after this chunk, to continue from with Query::resume. Empty: the scan
  // ends here, or it cannot be resumed (aggregates, joins).
  virtual std::string resume() const = 0;
  // Column i in buffers that the caller owns. This is a copy, except for strings of an index: the
  // chunk has gathered those in such a buffer and moves it out. Once per column; column(i) is
  // unspecified after it. Not while others hold the chunk or a result of ExportArrow.
  virtual ColumnBuffers TakeColumn(size_t i) const;

  // REQUIRES: column i is of kUint64.
  absl::Span<const uint64_t> Uint64s(size_t i) const {
    return {static_cast<const uint64_t*>(column(i).values), rows()};
  }
  // The string of a row. REQUIRES: column i is of kString.
  absl::string_view String(size_t i, size_t row) const {
    const ColumnView view = column(i);
    return {static_cast<const char*>(view.values) + view.offsets[row],
            size_t{view.offsets[row + 1]} - view.offsets[row]};
  }
};

inline ColumnBuffers Chunk::TakeColumn(size_t i) const {
  const ColumnView view = column(i);
  const auto bytes = [](const void* data, uint64_t count) {
    return std::string(static_cast<const char*>(data), count);
  };
  ColumnBuffers out;
  if (view.validity != nullptr) out.validity = bytes(view.validity, (rows() + 7) / 8);
  if (IsByteString(schema().columns[i].type)) {
    out.values = bytes(view.values, view.offsets[rows()]);
    out.offsets = bytes(view.offsets, (rows() + 1) * sizeof(uint32_t));
  } else {
    out.values = bytes(view.values, rows() * ColumnValueBytes(schema().columns[i].type));
  }
  return out;
}

// Exports the chunk's columns as a struct array, without a copy; the release function of `array`
// releases the chunk. Decimals are "d:18,s,64", 128-bit sums "d:38,s". Without memory both are
// released structures (their `release` is nullptr).
void ExportArrow(std::shared_ptr<const Chunk> chunk, ArrowSchema* schema, ArrowArray* array);
// The schema alone, of a scan whose first chunk has not come.
void ExportArrowSchema(const Schema& schema, ArrowSchema* out);

// A running scan or join. Use it from one thread at a time. Destroying it cancels it. Neither it
// nor its chunks may outlive the engine. A scan sees one snapshot across all partitions: exactly
// the rows that were committed at one moment between the call of OpenScan and its return.
class Scan {
 public:
  using NextResult = absl::StatusOr<std::shared_ptr<const Chunk>>;
  using Callback = absl::AnyInvocable<void(NextResult) &&>;
  virtual ~Scan() = default;

  virtual const Schema& schema() const = 0;  // of the chunks
  // nullptr for a join, which has none, and for a scan of an index that has ended.
  virtual std::shared_ptr<Snapshot> snapshot() const = 0;
  // The next chunk; nullptr after the last. Blocks until an AEU has filled it; with a filter that
  // keeps little that is as long as the rows it passes over take. Errors: DeadlineExceeded (it can
  // be asked again), OutOfRange (arithmetic outside its type; more than kGroupsMax groups, or
  // groups with more strings or sums than the engine keeps), ResourceExhausted (memory; of joins
  // AEUs that took nothing for send_wait_ms_max), Aborted (the snapshot was given up), NotFound (an
  // object dropped), FailedPrecondition (a join whose reader keeps all of its chunks), Cancelled,
  // Unavailable (engine closing, or keys that moved again and again).
  virtual NextResult Next(absl::Time deadline = absl::InfiniteFuture()) = 0;
  // The same without blocking; `done` runs once, on the completion thread of the session's
  // NumaNode. At most one call under way.
  virtual void NextAsync(Callback done) = 0;
  // Ends it; a NextAsync under way completes with Cancelled. Any thread.
  virtual void Cancel() = 0;
  // How many chunks the reader may keep while it asks for the next one: with more, what is scanned
  // may have no memory to go on, and the scan fails. 0: none.
  virtual uint32_t keepable() const { return 0; }
};

// Exports what a scan still has to hand out as a stream of struct arrays: each get_next is a
// Scan::Next and blocks as that does. Arrays are chunks, not copies, as long as the reader keeps at
// most Scan::keepable of them; it may keep all, and then the others are copies. Used from one
// thread at a time; arrays may be released in any order, on any thread, and after the stream.
// Releasing the stream ends the scan. `owner` is kept until the stream and all of its arrays have
// been released: with the engine in it, they may outlive every other user of the engine. Errors, by
// errno.h: EINVAL (InvalidArgument, OutOfRange, FailedPrecondition), ENOMEM (ResourceExhausted),
// ETIMEDOUT (DeadlineExceeded), ECANCELED (Cancelled, Aborted, NotFound, Unavailable), EIO; the
// text is the status's. After an error the stream has the same one again. Throws std::bad_alloc;
// then the scan has ended.
void ExportArrowStream(std::unique_ptr<Scan> scan, ArrowArrayStream* stream,
                       std::shared_ptr<const void> owner = nullptr);
// The status behind the stream's last error. REQUIRES: made by ExportArrowStream, not released.
absl::Status ArrowStreamStatus(const ArrowArrayStream& stream);

struct AggregateOptions {
  KeyRange range{};                    // inverted (hi < lo) is InvalidArgument
  std::optional<ValueRange> values{};  // only rows with such values; inverted is InvalidArgument
  // Only RangeAggregate::count is wanted; the other fields are then unspecified. Without `values`
  // no row is read: the call takes the time of a few lookups, whatever the number of rows.
  bool count_only = false;
  std::shared_ptr<Snapshot> snapshot{};  // nullptr: one is taken for the call
};

struct JoinOptions {
  KeyRange range{};                        // of outer keys; inverted (hi < lo) is InvalidArgument
  std::optional<KeyRange> inner_values{};  // only rows whose inner value is in it
};

}  // namespace eris

#endif  // ERIS_QUERY_H_
