// The embedding interface: start here. An Engine owns the AEUs and the data objects; a Session is
// one calling thread's way to them.
//
//   auto engine = eris::Engine::Open({});
//   (*engine)->Create("orders", {.expected = {0, 6'000'001}});
//   auto session = (*engine)->NewSession();
//   session->Upsert("orders", keys, values);
//   session->Lookup("orders", keys, values, found);
//
// Keys are u64, or two of them. For an object of another key type encode and decode them with
// key_encoding.h:
//   KeysFromInt64(numbers, keys); session->Lookup("balances", keys, values, found);
//
// What is promised: operations on one key are linearizable, and an acknowledged write is seen by
// every later read. A batch is many keys in one message; it is not atomic across keys. Data lives
// in memory only and ends with the engine.
//
// When the system has no memory: a call that returns a status, and the callback of one that has
// begun, get ResourceExhausted, perhaps without a text. Nothing is lost: keys are written or not,
// an object is there or not, a range is at one AEU. Only calls without a status throw
// std::bad_alloc, and change nothing then: NewSession, List, Stats, Memory, Balancer and the like.
#ifndef ERIS_ENGINE_H_
#define ERIS_ENGINE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "eris/balancer.h"
#include "eris/bytes_column.h"
#include "eris/move_stop.h"
#include "eris/options.h"
#include "eris/stats.h"
#include "eris/table.h"
#include "eris/table_query.h"
#include "eris/types.h"

namespace eris {

class Session;

// The keys of a batch: a column, or, of objects whose keys have two parts, one of each part,
// equally long. Borrowed. Whatever converts to a span of u64 stands for one-part keys; two spans in
// braces for two-part ones.
class KeyColumns {
 public:
  constexpr KeyColumns() = default;
  template <class Keys>
  requires std::convertible_to<const Keys&, absl::Span<const uint64_t>>
  constexpr KeyColumns(const Keys& keys) : first_(keys) {}
  // As for absl::Span: for the length of the expression.
  KeyColumns(std::initializer_list<uint64_t> keys ABSL_ATTRIBUTE_LIFETIME_BOUND) : first_(keys) {}
  constexpr KeyColumns(const uint64_t* keys, size_t count) : first_(keys, count) {}
  constexpr KeyColumns(absl::Span<const uint64_t> first, absl::Span<const uint64_t> second)
      : first_(first), second_(second), two_parts_(true) {}

  size_t size() const { return first_.size(); }
  absl::Span<const uint64_t> first() const { return first_; }
  absl::Span<const uint64_t> second() const { return second_; }  // empty unless two_parts()
  bool two_parts() const { return two_parts_; }

 private:
  absl::Span<const uint64_t> first_{};
  absl::Span<const uint64_t> second_{};
  bool two_parts_ = false;
};

// The answer to one asynchronous batch. Columns stand in the order of the request's keys.
// They are std::string so that a server can move them into a message without a copy.
struct BatchResult {
  // OK; DeadlineExceeded or Cancelled (of a write: the outcome is unknown); NotFound (the object
  // was dropped meanwhile); ResourceExhausted (some keys were refused: memory limit, or the AEUs
  // took nothing for send_wait_ms_max; `refused` says how many, the others took effect).
  absl::Status status;
  uint32_t count = 0;    // keys in the batch
  uint32_t refused = 0;  // keys that were not executed
  // Lookup: count little-endian u64 (byte strings: see offsets), unspecified where absent. Write:
  // what Session::Write says, 0 where there is none. Else empty.
  std::string values;
  // One bit per key, Arrow order (bit i & 7 of byte i >> 3): the key was there before the
  // operation.
  std::string present;
  // Write only, else empty; also where the status is not OK because some keys were refused. As
  // `present`: the key was written; the key was executed, that is, its answer counts.
  std::string applied;
  std::string executed;  // also of LookupBytesAsync
  // Answers that are byte strings: count + 1 little-endian u32 offsets into `values`, which has the
  // bytes then. Else empty.
  std::string offsets{};
};

// A batch for Session::Write. Columns are borrowed for the length of the call.
struct WriteBatch {
  WriteMode mode = WriteMode::kInsertIfAbsent;
  KeyColumns keys{};                      // 1 <= n <= kBatchKeysMax; any order, duplicates allowed
  absl::Span<const uint64_t> values{};    // n: what to store; kAdd: what to add
  absl::Span<const uint64_t> expected{};  // kCompareAndSet: n, else empty
};

// Where Session::Write puts the answers. Each column is empty or of length n; none overlaps the
// batch's.
struct WriteColumns {
  absl::Span<uint8_t> applied{};   // 1: the key was written
  absl::Span<uint8_t> existed{};   // 1: the key was there before
  absl::Span<uint64_t> values{};   // 0 where there is none
  absl::Span<uint8_t> executed{};  // 0: the key was refused and has not changed, or nobody knows
};

// As WriteBatch and WriteColumns, of byte strings; not kAdd.
struct BytesWriteBatch {
  WriteMode mode = WriteMode::kInsertIfAbsent;
  absl::Span<const uint64_t> keys{};
  absl::Span<const absl::string_view> values{};
  absl::Span<const absl::string_view> expected{};
};
struct BytesWriteColumns {
  absl::Span<uint8_t> applied{};
  absl::Span<uint8_t> existed{};
  absl::Span<uint8_t> executed{};
  BytesColumn* values = nullptr;  // an empty string where there is none
};

// One ordered run of rows. Holds a chunk of the engine's bounded pool until it is destroyed, so a
// scan pauses while its reader keeps chunks.
class ScanChunk {
 public:
  class Buffer;
  explicit ScanChunk(std::shared_ptr<Buffer> buffer);
  ScanChunk(ScanChunk&&) noexcept;
  ScanChunk& operator=(ScanChunk&&) noexcept;
  ~ScanChunk();

  absl::Span<const uint64_t> keys() const;  // strictly ascending; backward: strictly descending
  // Of two-part keys, else empty: second_keys()[i] is the second part of keys()[i], and the pairs
  // ascend (descend) strictly.
  absl::Span<const uint64_t> second_keys() const;
  // values()[i] belongs to keys()[i]; empty in a scan of keys only, and of byte strings.
  absl::Span<const uint64_t> values() const;
  // Of byte strings, unless keys only were asked for: the value of keys()[row]. As long as the
  // chunk.
  absl::string_view bytes(size_t row) const;
  // What is left of the range after this chunk (backward: below it); nullopt when the scan is known
  // to end here. Opening a scan on it later, with the same other options, goes on from here, on the
  // data as it is then.
  const std::optional<KeyRange>& rest() const;

 private:
  std::shared_ptr<Buffer> buffer_;
};

// An ordered scan under way. One thread at a time. Destroying it cancels it. Neither a scan nor its
// chunks may outlive the engine. It sees one snapshot across all partitions: exactly the rows that
// were committed at one moment between the call of OpenScan and its return.
class Scan {
 public:
  using Callback = absl::AnyInvocable<void(absl::StatusOr<std::optional<ScanChunk>>) &&>;
  virtual ~Scan() = default;

  // The next chunk in the scan's order, with at least one row; nullopt after the last. Blocks until
  // an AEU has filled it; with a filter that keeps little that is as long as the rows it passes
  // over take. Errors: DeadlineExceeded (the scan can be asked again), NotFound (object dropped),
  // Aborted (its snapshot was given up), Cancelled, Unavailable (engine closing).
  virtual absl::StatusOr<std::optional<ScanChunk>> Next(
      absl::Time deadline = absl::InfiniteFuture()) = 0;
  // The same without blocking; `done` runs once, on the engine's completion thread. At most one
  // call under way.
  virtual void NextAsync(Callback done) = 0;
  // Ends the scan; a NextAsync under way completes with Cancelled. Any thread.
  virtual void Cancel() = 0;
};

struct ScanOptions {
  KeyRange range{};    // inverted (hi < lo) is InvalidArgument; empty gives no row
  uint64_t limit = 0;  // rows at most, of those that `values` keeps; 0: all
  // kBackward: from the end of the range to its beginning.
  ScanDirection direction = ScanDirection::kForward;
  std::optional<ValueRange> values{};    // only rows with such values; inverted is InvalidArgument
  bool keys_only = false;                // chunks without values
  std::shared_ptr<Snapshot> snapshot{};  // nullptr: one is taken for the scan
};

struct AggregateOptions {
  KeyRange range{};                    // inverted (hi < lo) is InvalidArgument
  std::optional<ValueRange> values{};  // only rows with such values; inverted is InvalidArgument
  // Only RangeAggregate::count is wanted; the others then say nothing. Without `values` no row is
  // read: it takes the time of some look-ups, however many rows there are.
  bool count_only = false;
  std::shared_ptr<Snapshot> snapshot{};  // nullptr: one is taken for the call
};

// Joined rows: row i is the outer row outer_keys()[i] -> join_keys()[i] together with the inner row
// join_keys()[i] -> values()[i]. At least one row, in no order, neither in a chunk nor between
// chunks. Holds a block of the join's bounded reply space until it is destroyed, so a join pauses
// while its reader keeps chunks.
class JoinChunk {
 public:
  class Buffer;
  explicit JoinChunk(std::shared_ptr<Buffer> buffer);
  JoinChunk(JoinChunk&&) noexcept;
  JoinChunk& operator=(JoinChunk&&) noexcept;
  ~JoinChunk();

  absl::Span<const uint64_t> outer_keys() const;
  absl::Span<const uint64_t> join_keys() const;
  absl::Span<const uint64_t> values() const;

 private:
  std::shared_ptr<Buffer> buffer_;
};

// An index join under way: the values of one object's rows are looked up as keys of another. One
// thread at a time. Destroying it cancels it. Neither a join nor its chunks may outlive the engine.
// Each outer row is looked up exactly once. Unlike a Scan, a join sees no snapshot: an outer row is
// read at some moment between the call of OpenJoin and the end of the join, its inner row later
// than that, and different rows may show different moments.
//
//   auto join = session->OpenJoin("orders", "customers", {.range = {0, 1'000'000}});
//   while (auto chunk = (*join)->Next(); chunk.ok() && *chunk)
//     Use((*chunk)->outer_keys(), (*chunk)->join_keys(), (*chunk)->values());
class Join {
 public:
  using Callback = absl::AnyInvocable<void(absl::StatusOr<std::optional<JoinChunk>>) &&>;
  virtual ~Join() = default;

  // The next chunk; nullopt after the last. Blocks until one has been answered. Errors:
  // DeadlineExceeded (the join can be asked again), NotFound (either object dropped),
  // ResourceExhausted (AEUs that took nothing for send_wait_ms_max), FailedPrecondition (the reader
  // keeps all of the join's chunks), Cancelled, Unavailable (engine closing, or keys that moved
  // again and again).
  virtual absl::StatusOr<std::optional<JoinChunk>> Next(
      absl::Time deadline = absl::InfiniteFuture()) = 0;
  // The same without blocking; `done` runs once, on the engine's completion thread. At most one
  // call under way.
  virtual void NextAsync(Callback done) = 0;
  // Ends the join; a NextAsync under way completes with Cancelled. Any thread.
  virtual void Cancel() = 0;
};

struct JoinOptions {
  KeyRange range{};                        // of outer keys; inverted (hi < lo) is InvalidArgument
  std::optional<KeyRange> inner_values{};  // only rows whose inner value lies in it
};

// A handle on an asynchronous batch. May be dropped at any time: the request lives on until its
// last writer has ended.
class Pending {
 public:
  virtual ~Pending() = default;
  // The callback gets `status` (not OK) unless it has been called already. A write's outcome is
  // then unknown. Any thread; does not block.
  virtual void Cancel(absl::Status status) = 0;
};

// A Port into the engine for one calling thread at a time; cheap enough to have one per thread.
// May outlive neither the engine nor be used after Engine::Close.
//
// Order: what one session sends on one key takes effect in the order in which it was sent, in a
// batch, between calls that are under way together, and between kinds of operations, also while
// ranges move. A call that is refused (ResourceExhausted), cancelled or past its deadline may have
// taken effect for some keys and not for others; later calls keep their order all the same. Between
// sessions, and between a scan and what is under way when it begins, there is none.
class Session {
 public:
  using Callback = absl::AnyInvocable<void(BatchResult) &&>;
  virtual ~Session() = default;

  // Looks up keys[i] in `object` and stores the result in values[i], found[i] (1 or 0).
  // Shapes: three spans of equal length n, 1 <= n <= kBatchKeysMax; any key order; duplicates
  // allowed. Blocks until every owning AEU has replied or `deadline` has passed (outputs then
  // untouched), and where AEUs take nothing up to send_wait_ms_max longer. Errors:
  // InvalidArgument (shape; keys of two parts for an object whose keys have one, or the other way
  // round), NotFound (no such object), DeadlineExceeded, ResourceExhausted (AEUs
  // that took nothing for send_wait_ms_max, or too many bytes in flight), Unavailable (closing).
  // Paper: ERIS 3.2.
  virtual absl::Status Lookup(absl::string_view object, const KeyColumns& keys,
                              absl::Span<uint64_t> values, absl::Span<uint8_t> found,
                              absl::Time deadline = absl::InfiniteFuture()) = 0;

  // Inserts or replaces keys[i] -> values[i]; of a key that stands twice in a batch the later wins.
  // `existed` is empty or of length n: 1 where a value was replaced. Shapes, blocking and errors as
  // for Lookup; ResourceExhausted also when the memory limit refuses new keys (the others took
  // effect, the refused ones changed nothing). DeadlineExceeded: the outcome is unknown.
  virtual absl::Status Upsert(absl::string_view object, const KeyColumns& keys,
                              absl::Span<const uint64_t> values, absl::Span<uint8_t> existed = {},
                              absl::Time deadline = absl::InfiniteFuture()) = 0;

  // Removes keys[i]; `existed` is empty or of length n: 1 where there was something to remove.
  virtual absl::Status Erase(absl::string_view object, const KeyColumns& keys,
                             absl::Span<uint8_t> existed = {},
                             absl::Time deadline = absl::InfiniteFuture()) = 0;

  // Writes keys by what each finds there, and answers each with a value:
  //   kInsertIfAbsent    inserts values[i], or leaves what is there      the value that is there
  //   kReplaceIfPresent  replaces what is there by values[i]             the value before
  //   kCompareAndSet     replaces what is there by values[i] if it       the value before, equal
  //                      equals expected[i]                              or not
  //   kAdd               adds values[i] modulo 2^64 (the two's           the sum
  //                      complement subtracts); an absent key counts
  //                      from 0 and comes into being
  // A counter that shall start elsewhere is inserted first. One key's test and write are one step:
  // nobody comes between. A key that stands several times in a batch is written in its order: two
  // adds both count, of two inserts the first wins.
  // Blocking as for Lookup. `out` is zeroed first, and filled also where keys were refused: with
  // ResourceExhausted, NotFound (dropped meanwhile) or Unavailable out.executed tells which keys
  // took effect. DeadlineExceeded: the outcome is unknown.
  // Errors: InvalidArgument (mode, lengths, an expected column where none belongs), else as for
  // Upsert.
  virtual absl::Status Write(absl::string_view object, const WriteBatch& batch,
                             const WriteColumns& out = {},
                             absl::Time deadline = absl::InfiniteFuture()) = 0;

  // The same without waiting for the AEUs. The columns are copied before the call returns; `done`
  // runs exactly once, on the engine's completion thread, unless an error is returned here (then
  // never). May block up to Options::send_wait_ms_max while AEUs take nothing.
  virtual absl::StatusOr<std::shared_ptr<Pending>> LookupAsync(absl::string_view object,
                                                               const KeyColumns& keys,
                                                               Callback done) = 0;
  virtual absl::StatusOr<std::shared_ptr<Pending>> UpsertAsync(absl::string_view object,
                                                               const KeyColumns& keys,
                                                               absl::Span<const uint64_t> values,
                                                               Callback done) = 0;
  virtual absl::StatusOr<std::shared_ptr<Pending>> EraseAsync(absl::string_view object,
                                                              const KeyColumns& keys,
                                                              Callback done) = 0;

  virtual absl::StatusOr<std::shared_ptr<Pending>> WriteAsync(absl::string_view object,
                                                              const WriteBatch& batch,
                                                              Callback done) = 0;

  // How the keys of `object` are encoded, for callers that convert what others send. Where the
  // object is dropped after this the session's next request, if it is on that name, gets NotFound
  // even if there is a new one: ask before each request, and keys never reach an object of another
  // type. Told of are the names that the session remembers: it forgets all of them when it has used
  // kSessionNamesMax. Does not wait for AEUs. Errors: NotFound.
  virtual absl::StatusOr<KeyTypes> KeyTypesOf(absl::string_view object) = 0;

  // What the object's values are: which of the two forms below and above it takes. Errors:
  // NotFound.
  virtual absl::StatusOr<ValueType> ValueTypeOf(absl::string_view object) = 0;

  // Byte strings: the same operations on objects of ValueType::kBytes (Erase and EraseAsync serve
  // both). A form that is not the object's gets FailedPrecondition. A value has at most
  // kValueBytesMax bytes, and may be empty; those of a batch have at most kBatchValueBytesMax
  // together: InvalidArgument.
  //
  // values[i] is the value of keys[i], empty where found[i] is 0. What is answered is bounded like
  // what is sent, and counts as bytes in flight: keys for which there is no room are not executed,
  // and the call gets ResourceExhausted; ask for those again, fewer at once. `values` and `found`
  // are filled then all the same; `executed` (empty or of length n) tells which keys count. After
  // other errors all are unspecified. Shapes, blocking and errors else as for Lookup.
  virtual absl::Status LookupBytes(absl::string_view object, absl::Span<const uint64_t> keys,
                                   BytesColumn& values, absl::Span<uint8_t> found,
                                   absl::Span<uint8_t> executed = {},
                                   absl::Time deadline = absl::InfiniteFuture()) = 0;
  // As Upsert. A value that cannot be stored for want of memory leaves the old one as it is.
  virtual absl::Status UpsertBytes(absl::string_view object, absl::Span<const uint64_t> keys,
                                   absl::Span<const absl::string_view> values,
                                   absl::Span<uint8_t> existed = {},
                                   absl::Time deadline = absl::InfiniteFuture()) = 0;
  // As Write. A key whose answer finds no room (LookupBytes) is not written.
  virtual absl::Status WriteBytes(absl::string_view object, const BytesWriteBatch& batch,
                                  const BytesWriteColumns& out = {},
                                  absl::Time deadline = absl::InfiniteFuture()) = 0;
  // `bytes_max`: of the answer, where less than kBatchValueBytesMax is wanted.
  virtual absl::StatusOr<std::shared_ptr<Pending>> LookupBytesAsync(absl::string_view object,
                                                                    absl::Span<const uint64_t> keys,
                                                                    uint64_t bytes_max,
                                                                    Callback done) = 0;
  virtual absl::StatusOr<std::shared_ptr<Pending>> UpsertBytesAsync(
      absl::string_view object, absl::Span<const uint64_t> keys,
      absl::Span<const absl::string_view> values, Callback done) = 0;
  virtual absl::StatusOr<std::shared_ptr<Pending>> WriteBytesAsync(absl::string_view object,
                                                                   const BytesWriteBatch& batch,
                                                                   Callback done) = 0;

  // Starts an ordered scan. Errors: InvalidArgument (inverted range of keys or values; second parts
  // in a range of one-part keys, or without hi), NotFound,
  // FailedPrecondition (a hash: it has no key order; a filter on values that are byte strings),
  // ResourceExhausted (no scan chunk free), Unavailable.
  virtual absl::StatusOr<std::unique_ptr<Scan>> OpenScan(absl::string_view object,
                                                         const ScanOptions& options) = 0;

  // Counts the rows of a key range and adds up their values, where they are: no row moves. Sees one
  // snapshot: each row that was committed at one moment of the call, once. All AEUs that own a part
  // of the range work side by side, in slices. Blocks until all have answered or `deadline` has
  // passed; not from a callback. Errors: InvalidArgument (range: as OpenScan), NotFound,
  // FailedPrecondition (more than count_only of byte strings; a hash: it has no key order),
  // DeadlineExceeded, ResourceExhausted (AEUs that took nothing for send_wait_ms_max, too many
  // bytes in flight, or as many snapshots held as there can be), Aborted (its snapshot was given
  // up), Unavailable (closing, or keys that moved again and again). Paper: ERIS 3.1 (scans).
  virtual absl::StatusOr<RangeAggregate> Aggregate(
      absl::string_view object, const AggregateOptions& options,
      absl::Time deadline = absl::InfiniteFuture()) = 0;
  using AggregateCallback = absl::AnyInvocable<void(absl::StatusOr<RangeAggregate>) &&>;
  // The same without waiting for the AEUs; `done` runs exactly once, on the engine's completion
  // thread, unless an error is returned here (then never).
  virtual absl::StatusOr<std::shared_ptr<Pending>> AggregateAsync(absl::string_view object,
                                                                  const AggregateOptions& options,
                                                                  AggregateCallback done) = 0;

  // Starts an index join: of each row of `outer` in the range, the value is looked up as a key of
  // `inner` (which may be the same object, or a hash). Keys of both have one part. May block up to
  // Options::send_wait_ms_max while AEUs take nothing. Errors: InvalidArgument (inverted range),
  // NotFound, FailedPrecondition (the outer one is a hash; values of either are byte strings, or
  // keys have two parts), ResourceExhausted (no scan chunk free), Unavailable.
  virtual absl::StatusOr<std::unique_ptr<Join>> OpenJoin(absl::string_view outer,
                                                         absl::string_view inner,
                                                         const JoinOptions& options) = 0;

  // Tables (table.h). An object that is none gets FailedPrecondition, as does a table in the calls
  // above.
  //
  // Its columns; never nullptr. Errors: NotFound.
  virtual absl::StatusOr<std::shared_ptr<const TableSchema>> SchemaOf(absl::string_view table) = 0;
  // Appends rows to a heap table. `batch` has the table's columns. Not atomic: pieces of at most
  // some thousand rows are, and ResourceExhausted tells how many rows were stored. Blocks, as do
  // the next three, until every AEU has answered; when `deadline` passes, until those have that had
  // begun. Errors: InvalidArgument (columns, nulls, strings, kTableBatchRowsMax,
  // kTableBatchBytesMax), NotFound, FailedPrecondition (a clustered table), DeadlineExceeded (some
  // rows may be stored), ResourceExhausted, Unavailable.
  virtual absl::Status AppendRows(absl::string_view table, const RowBatch& batch,
                                  absl::Time deadline = absl::InfiniteFuture()) = 0;
  // Inserts rows into a clustered table, or replaces those with the same key; of a key that stands
  // twice in the batch the later wins. `existed` is empty or of length batch.rows. Errors: as
  // AppendRows; rows that were refused for want of memory have changed nothing.
  virtual absl::Status UpsertRows(absl::string_view table, const RowBatch& batch,
                                  absl::Span<uint8_t> existed = {},
                                  absl::Time deadline = absl::InfiniteFuture()) = 0;
  // `keys` has the key columns alone, in the key's order.
  virtual absl::Status EraseRows(absl::string_view table, const RowBatch& keys,
                                 absl::Span<uint8_t> existed = {},
                                 absl::Time deadline = absl::InfiniteFuture()) = 0;
  // Columns of the rows of `keys`: out[i] is column columns[i] (empty: all of them), found[j] says
  // whether key j was there; where it was not all columns are null. Errors: also ResourceExhausted
  // (strings of more than kBatchValueBytesMax in one answer).
  virtual absl::Status LookupRows(absl::string_view table, const RowBatch& keys,
                                  absl::Span<const std::string> columns,
                                  std::vector<ColumnBuffers>& out, absl::Span<uint8_t> found,
                                  absl::Time deadline = absl::InfiniteFuture()) = 0;

  // The same without waiting for the AEUs. `holder` keeps the memory of the batch, which is not
  // copied, until `done` has been called or later. Of appends BatchResult::count and refused count
  // rows, and its columns are empty.
  virtual absl::StatusOr<std::shared_ptr<Pending>> AppendRowsAsync(
      absl::string_view table, const RowBatch& batch, std::shared_ptr<const void> holder,
      Callback done) = 0;
  virtual absl::StatusOr<std::shared_ptr<Pending>> UpsertRowsAsync(
      absl::string_view table, const RowBatch& batch, std::shared_ptr<const void> holder,
      Callback done) = 0;
  virtual absl::StatusOr<std::shared_ptr<Pending>> EraseRowsAsync(
      absl::string_view table, const RowBatch& keys, std::shared_ptr<const void> holder,
      Callback done) = 0;
  // `columns` of the result, instead of BatchResult::values.
  using RowsCallback = absl::AnyInvocable<void(BatchResult, std::vector<ColumnBuffers> columns) &&>;
  virtual absl::StatusOr<std::shared_ptr<Pending>> LookupRowsAsync(
      absl::string_view table, const RowBatch& keys, absl::Span<const std::string> columns,
      std::shared_ptr<const void> holder, RowsCallback done) = 0;

  // Starts a scan of a table, rows or aggregates (table_query.h). All AEUs that hold a part of the
  // table work side by side, in slices; scans of the same table ride one pass. Errors:
  // InvalidArgument (the query: see TablePlan), NotFound, FailedPrecondition (not a table),
  // ResourceExhausted (snapshots, chunks), Aborted (the query's snapshot was given up),
  // Unavailable.
  virtual absl::StatusOr<std::unique_ptr<TableScan>> OpenTableScan(absl::string_view table,
                                                                   const TableQuery& query) = 0;
  // Writes the rows of a scan into another object, inside the engine: AEUs read, and send what they
  // have read to the owners of `target` themselves. The target is a clustered table (upserts), a
  // heap table (appends), both of the result's column types in order, or an index or a hash of u64
  // (result columns key and value, both u64). A source that is its own target, or aggregates, are
  // InvalidArgument. Returns the rows written. Not atomic: after an error some are written.
  // Paper: ERIS, contribution 2 (materialising intermediate results).
  virtual absl::StatusOr<uint64_t> ScanInto(absl::string_view table, const TableQuery& query,
                                            absl::string_view target,
                                            absl::Time deadline = absl::InfiniteFuture()) = 0;
  using ScanIntoCallback = absl::AnyInvocable<void(absl::StatusOr<uint64_t>) &&>;
  virtual absl::StatusOr<std::shared_ptr<Pending>> ScanIntoAsync(absl::string_view table,
                                                                 const TableQuery& query,
                                                                 absl::string_view target,
                                                                 ScanIntoCallback done) = 0;
};

class Engine {
 public:
  // Finds the machine, places and starts the AEUs. Errors: InvalidArgument (an option out of its
  // limits, or a memory limit above the machine's), ResourceExhausted (buffers do not fit).
  static absl::StatusOr<std::unique_ptr<Engine>> Open(const Options& options);
  virtual ~Engine() = default;  // as Close

  // Errors: AlreadyExists, InvalidArgument (name, kind, types of keys and values, range, split
  // points), ResourceExhausted.
  // Blocks until every AEU has its partition. Any thread.
  virtual absl::StatusOr<ObjectInfo> Create(absl::string_view name,
                                            const CreateOptions& options) = 0;
  // Of a clustered table the bounds are of the key's first eight bytes (TableSchema::key): the key
  // column itself, encoded, where the first one has eight, else shifted to the top of the word.
  // Errors: as Create, and InvalidArgument (the schema).
  virtual absl::StatusOr<ObjectInfo> CreateTable(absl::string_view name, const TableSchema& schema,
                                                 const TableOptions& options = {}) = 0;
  // Errors: NotFound. Later requests on the object get NotFound, also those under way that have not
  // reached their AEU. Blocks until every AEU has given its memory back. Any thread.
  virtual absl::Status Drop(absl::string_view name) = 0;
  // The same for a caller that has created the object (ObjectInfo::id) and wants to take it back
  // without the loss of another's write: only if writes of exactly `rows` rows have been
  // acknowledged since then, upserts and erases, each time a row was written. Not counted: rows of
  // a plain batch that has failed. A write that ends later gets NotFound. Errors: NotFound (also
  // when another object has the name), FailedPrecondition (other counts).
  virtual absl::Status DropIfWritten(absl::string_view name, ObjectId id, uint64_t rows) = 0;
  virtual absl::StatusOr<ObjectInfo> Describe(absl::string_view name) = 0;
  virtual std::vector<ObjectInfo> List() = 0;  // ordered by name

  // Errors: none while open. Any thread.
  virtual std::unique_ptr<Session> NewSession() = 0;

  // For servers (CallbacksHere calls both). Between the two the calling thread takes part in the
  // engine's work: a small asynchronous batch that it starts for an AEU that sleeps on its core is
  // executed there and then, as is what others have sent that AEU; and callbacks that fall due by
  // that wait for the second call, which runs them on this thread, with those of others that are
  // due, unless the completion thread is at it. (Where it says "completion thread", that thread is
  // meant, too: one of them at a time.) That saves small requests most of their switches
  // between threads. The thread must be one that does not lose its core for long (an AEU may have
  // to wait for it), must hold no lock that a callback may want, and must not wait for a callback
  // between the two. Neither nested nor of two engines at once; nobody may be inside when the
  // engine ends.
  virtual void DeferCallbacks() = 0;
  virtual void RunCallbacks() = 0;

  // One moment of all objects, to scan them as they are now. Does not wait for AEUs. Any thread.
  // Errors: ResourceExhausted (as many are held as there can be), Unavailable (closing).
  virtual absl::StatusOr<std::shared_ptr<Snapshot>> TakeSnapshot() = 0;

  virtual EngineStats Stats() = 0;
  // The accounts of the memory: what the system has given, and what each object has of it. Any
  // thread; O(objects x AEUs), stops nobody.
  virtual MemoryStats Memory() = 0;
  // Asks the kernel where the memory lies, and in which pages. Moves nothing. Any thread; blocks in
  // the kernel, some 50 us for each thousand pages, ten times that without huge pages. Errors:
  // InvalidArgument (pages_max above kVerifyPagesMax), Unimplemented (a kernel without NUMA),
  // PermissionDenied (a system that does not tell), DeadlineExceeded, Unavailable (the engine is
  // closing). Paper: locality-aware scheduling in Bobox, 5.2.
  virtual absl::StatusOr<MemoryVerification> VerifyMemory(
      const VerifyMemoryOptions& options = {}, absl::Time deadline = absl::InfiniteFuture()) = 0;
  // The machine and where the AEUs are, as text.
  virtual std::string ExplainTopology() const = 0;
  // What the system refused when the engine opened (pinning, binding memory), a sentence each: the
  // engine goes on without.
  virtual std::vector<std::string> Notes() const { return {}; }

  // The load balancer (balancer.h). While it is paused nothing moves: a transfer under way stops at
  // the border of its chunk, and the calls that move get FailedPrecondition. Any thread; those that
  // move block until they have, and one of them is at work at a time.
  virtual BalancerStatus Balancer() = 0;
  // The newest first, at most kTransferHistoryMax.
  virtual std::vector<TransferRecord> TransferHistory() = 0;
  // From now on. Errors: InvalidArgument (an option out of its limits; nothing has changed then).
  virtual absl::Status SetBalancer(const BalancerOptions& options) = 0;
  virtual void PauseBalancer() = 0;
  virtual void ResumeBalancer() = 0;
  // What Rebalance would do with the object by now; moves nothing. Errors: NotFound.
  virtual absl::StatusOr<BalancePlan> PlanBalance(absl::string_view name) = 0;
  // One cycle now, whatever the threshold. What it has done. Errors: NotFound, FailedPrecondition
  // (paused), DeadlineExceeded and ResourceExhausted (what has moved stays), Unavailable (closing).
  // `stop`, of this and the others: may end it sooner, with what it says; outlives the call.
  virtual absl::StatusOr<BalancePlan> Rebalance(absl::string_view name,
                                                absl::Time deadline = absl::InfiniteFuture(),
                                                MoveStop* stop = nullptr) = 0;
  // Cuts the range into `parts` even pieces and gives each to another AEU, those that have the
  // least to do first: for a range that is going to be hot. Errors: as Rebalance, InvalidArgument
  // (an empty or inverted range, parts: 1 to the number of AEUs), FailedPrecondition (a heap table;
  // a hash or table whose ranges would have to be cut in their middle).
  virtual absl::Status Presplit(absl::string_view name, const KeyRange& range, uint32_t parts,
                                absl::Time deadline = absl::InfiniteFuture(),
                                MoveStop* stop = nullptr) = 0;
  // Gives a range to an AEU, from whoever owns pieces of it. Without `kind`: links where it can.
  // Errors: as Presplit (InvalidArgument: no such AEU), and FailedPrecondition (a link between
  // NumaNodes, or of an object that moves by copy alone).
  virtual absl::Status MoveRange(absl::string_view name, const KeyRange& range, AeuId to,
                                 std::optional<TransferKind> kind = std::nullopt,
                                 absl::Time deadline = absl::InfiniteFuture(),
                                 MoveStop* stop = nullptr) = 0;

  // Refuses new requests with Unavailable, waits for those under way, stops the AEUs. Callbacks
  // still owed are called. Idempotent. Sessions must not be inside a call on another thread. Not
  // from a callback: those run on a thread that this waits for.
  virtual void Close() = 0;
};

// The machine as Engine::Open(options) would see and use it, without starting anything.
// Errors: InvalidArgument (options).
absl::StatusOr<std::string> ExplainTopology(const Options& options);

// While it lives, callbacks of what its thread starts wait, and run where it ends.
class CallbacksHere {
 public:
  explicit CallbacksHere(Engine& engine) : engine_(engine) { engine_.DeferCallbacks(); }
  ~CallbacksHere() { engine_.RunCallbacks(); }
  CallbacksHere(const CallbacksHere&) = delete;
  CallbacksHere& operator=(const CallbacksHere&) = delete;

 private:
  Engine& engine_;
};

}  // namespace eris

#endif  // ERIS_ENGINE_H_
