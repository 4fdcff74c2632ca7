// What is asked of an object's rows, and the answer: ordered rows of an index, filtered and
// projected rows of a table, or aggregates of them, in columnar chunks, as of one snapshot.
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

// One moment of the whole engine: scans of it see exactly what was committed then, of every object.
// Old rows are kept for it as long as it is held; where they would take more memory than
// Options::version_bytes_max, or it gets older than snapshot_age_ms_max, it is given up, and its
// scans end with Aborted. Any thread. May not outlive the engine.
class Snapshot {
 public:
  virtual ~Snapshot() = default;  // lets it go, once its scans have ended too
  virtual uint64_t epoch() const = 0;
  virtual bool aborted() const = 0;
};

enum class AggregateFunction : uint8_t {
  kCount = 1,  // of rows; with an argument of those where it is not null. u64
  kSum = 2,    // exact, i128 of the argument's scale; of doubles a double. Without a row null
  kMin = 3,    // as the argument, which may not be a string; null without a row
  kMax = 4,
  kAverage = 5,  // a double: the exact sum by the count. Without a row null
};

// What they are called in text, in their order from kCount on.
inline constexpr absl::string_view kAggregateFunctionNames[] = {"count", "sum", "min", "max",
                                                                "avg"};

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
  std::optional<Expression> argument{};  // needed but by kCount
  std::string name;
};

inline constexpr uint32_t kGroupColumnsMax = 4;
inline constexpr uint32_t kGroupsMax = 1u << 16;  // of one query, else OutOfRange
// Bytes of Chunk::resume: some of each AEU that has had a part of a table, whatever the machine.
inline constexpr uint32_t kResumeBytesMax = 512u << 10;

// What does not fit the kind of the object is InvalidArgument: range, direction and values are of
// indexes; filter, group_by, aggregates and computed columns of tables.
struct Query {
  // Keys as key_encoding.h has them. Inverted (hi < lo) is InvalidArgument; empty gives no row.
  KeyRange range{};
  ScanDirection direction = ScanDirection::kForward;  // kBackward: from the end of the range
  std::optional<ValueRange> values{};  // only rows with such values; inverted is InvalidArgument
  std::optional<Expression> filter{};  // only rows for which it is true
  // What is handed out of each row; empty: all columns of the object. Of an index these are either
  // all of its columns, in their order, or those of the key. Not with aggregates.
  std::vector<NamedExpression> columns{};
  // With aggregates: one row per distinct combination of these columns' values (a null is one of
  // them), ascending, nulls first. Without: one row in all, also of no rows.
  std::vector<std::string> group_by{};
  std::vector<AggregateColumn> aggregates{};
  uint64_t limit = 0;  // rows handed out at most; 0: all
  // nullptr: one is taken for the scan, after the call begins.
  std::shared_ptr<Snapshot> snapshot{};
  // What Chunk::resume gave: goes on behind that chunk. With, but for `limit`, the same query, and
  // of tables the same snapshot; else InvalidArgument or rows that are missing. Not with
  // aggregates.
  std::string resume{};
};

// Columns of an answer, equally long, in Arrow's layout. At least one row. Holds a bounded buffer
// of the engine until it, and what ExportArrow has given, are released: a scan pauses while its
// reader keeps chunks. Of indexes keys ascend (backward: descend) strictly, in a chunk and from
// chunk to chunk; rows of tables and joins come in no order.
class Chunk {
 public:
  virtual ~Chunk() = default;
  virtual uint64_t rows() const = 0;
  // Of the columns handed out; kInt128 are among the types.
  virtual const Schema& schema() const = 0;
  virtual ColumnView column(size_t i) const = 0;
  // Where the scan stands behind this chunk, to go on from there with Query::resume. Empty: the
  // scan is known to end here, or it cannot be resumed (aggregates, joins).
  virtual std::string resume() const = 0;
  // Column i in buffers of the caller's own: a copy, but strings of an index, which the chunk has
  // gathered in such a buffer, are moved out. Once per column, and column(i) says nothing after it;
  // not while others hold the chunk, or what ExportArrow has given.
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
  if (schema().columns[i].type == ColumnType::kString) {
    out.values = bytes(view.values, view.offsets[rows()]);
    out.offsets = bytes(view.offsets, (rows() + 1) * sizeof(uint32_t));
  } else {
    out.values = bytes(view.values, rows() * ColumnValueBytes(schema().columns[i].type));
  }
  return out;
}

// Hands the chunk's columns out as a struct array, without a copy; `array`'s release lets the chunk
// go. Decimals are "d:18,s,64", 128-bit sums "d:38,s".
void ExportArrow(std::shared_ptr<const Chunk> chunk, ArrowSchema* schema, ArrowArray* array);

// A scan or a join under way. One thread at a time. Destroying it cancels it. Neither it nor its
// chunks may outlive the engine. A scan sees one snapshot across all partitions: exactly the rows
// that were committed at one moment between the call of OpenScan and its return.
class Scan {
 public:
  using NextResult = absl::StatusOr<std::shared_ptr<const Chunk>>;
  using Callback = absl::AnyInvocable<void(NextResult) &&>;
  virtual ~Scan() = default;

  virtual const Schema& schema() const = 0;  // of the chunks
  // nullptr: a join, which has none, or a scan of an index that has ended.
  virtual std::shared_ptr<Snapshot> snapshot() const = 0;
  // The next chunk; nullptr after the last. Blocks until an AEU has filled it; with a filter that
  // keeps little that is as long as the rows it passes over take. Errors: DeadlineExceeded (it can
  // be asked again), OutOfRange (arithmetic outside its type; more than kGroupsMax groups, or
  // groups with more strings or sums than the engine keeps), ResourceExhausted (memory; of joins
  // AEUs that took nothing for send_wait_ms_max), Aborted (the snapshot was given up), NotFound (an
  // object dropped), FailedPrecondition (a join whose reader keeps all of its chunks), Cancelled,
  // Unavailable (engine closing, or keys that moved again and again).
  virtual NextResult Next(absl::Time deadline = absl::InfiniteFuture()) = 0;
  // The same without blocking; `done` runs once, on the engine's completion thread. At most one
  // call under way.
  virtual void NextAsync(Callback done) = 0;
  // Ends it; a NextAsync under way completes with Cancelled. Any thread.
  virtual void Cancel() = 0;
};

struct AggregateOptions {
  KeyRange range{};                    // inverted (hi < lo) is InvalidArgument
  std::optional<ValueRange> values{};  // only rows with such values; inverted is InvalidArgument
  // Only RangeAggregate::count is wanted; the others then say nothing. Without `values` no row is
  // read: it takes the time of some lookups, however many rows there are.
  bool count_only = false;
  std::shared_ptr<Snapshot> snapshot{};  // nullptr: one is taken for the call
};

struct JoinOptions {
  KeyRange range{};                        // of outer keys; inverted (hi < lo) is InvalidArgument
  std::optional<KeyRange> inner_values{};  // only rows whose inner value lies in it
};

}  // namespace eris

#endif  // ERIS_QUERY_H_
