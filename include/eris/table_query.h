// What is asked of a table, and the answer: filtered, projected rows, or aggregates of them, in
// columnar chunks, as of one snapshot. Paper: ERIS 3.1 (scans), 4.2.2.
#ifndef ERIS_TABLE_QUERY_H_
#define ERIS_TABLE_QUERY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "eris/arrow_c_data.h"
#include "eris/expression.h"
#include "eris/table.h"

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
inline constexpr uint32_t kGroupsMax = 1u << 16;  // of one query, else ResourceExhausted

struct TableQuery {
  std::optional<Expression> filter{};  // only rows for which it is true
  // What is handed out of each row; empty: all columns of the table. Not with aggregates.
  std::vector<NamedExpression> columns{};
  // With aggregates: one row per distinct combination of these columns' values (a null is one of
  // them), ascending, nulls first. Without: one row in all, also of no rows.
  std::vector<std::string> group_by{};
  std::vector<AggregateColumn> aggregates{};
  uint64_t limit = 0;  // rows handed out at most; 0: all
  // nullptr: one is taken for the scan, after the call begins.
  std::shared_ptr<Snapshot> snapshot{};
  // What TableChunk::resume gave: goes on behind that chunk. With the same snapshot and, but for
  // `limit`, the same query; else InvalidArgument or rows that are missing. Not with aggregates.
  std::string resume{};
};

// Columns of an answer, equally long, in Arrow's layout. At least one row. Rows of tables come in
// no order. Holds a bounded buffer of the engine until it, and what ExportArrow has given, are
// released: a scan pauses while its reader keeps chunks.
class TableChunk {
 public:
  virtual ~TableChunk() = default;
  virtual uint64_t rows() const = 0;
  // Of the columns handed out; kInt128 are among the types.
  virtual const TableSchema& schema() const = 0;
  virtual ColumnView column(size_t i) const = 0;
  // Where the scan stands behind this chunk, to go on from there with TableQuery::resume.
  virtual std::string resume() const = 0;
};

// Hands the chunk's columns out as a struct array, without a copy; `array`'s release lets the chunk
// go. Decimals are "d:18,s,64", 128-bit sums "d:38,s".
void ExportArrow(std::shared_ptr<const TableChunk> chunk, ArrowSchema* schema, ArrowArray* array);

// A scan of a table under way. As Scan: one thread at a time; destroying it cancels it.
class TableScan {
 public:
  using NextResult = absl::StatusOr<std::shared_ptr<const TableChunk>>;
  using Callback = absl::AnyInvocable<void(NextResult) &&>;
  virtual ~TableScan() = default;

  virtual const TableSchema& schema() const = 0;  // of the chunks
  virtual std::shared_ptr<Snapshot> snapshot() const = 0;
  // The next chunk; nullptr after the last. Blocks until there is one. Errors: DeadlineExceeded
  // (the scan can be asked again), OutOfRange (arithmetic outside its type), ResourceExhausted
  // (more than kGroupsMax groups; memory), Aborted (the snapshot was given up), NotFound (table
  // dropped), Cancelled, Unavailable.
  virtual NextResult Next(absl::Time deadline = absl::InfiniteFuture()) = 0;
  // The same without blocking; `done` runs once, on the engine's completion thread. At most one
  // call under way.
  virtual void NextAsync(Callback done) = 0;
  // Any thread.
  virtual void Cancel() = 0;
};

}  // namespace eris

#endif  // ERIS_TABLE_QUERY_H_
