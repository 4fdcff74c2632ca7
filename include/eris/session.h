// One calling thread's way into the engine: batches of rows in and out of objects, scans, joins and
// aggregates. Made by Engine::NewSession (engine.h).
#ifndef ERIS_SESSION_H_
#define ERIS_SESSION_H_

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "eris/batch.h"
#include "eris/query.h"
#include "eris/query_plan.h"
#include "eris/schema.h"
#include "eris/types.h"

namespace eris {

// An object that has been opened, for all sessions of its engine. Cheap to copy; any thread. Does
// not keep the object alive: once it is dropped, calls get NotFound, even if a new object has the
// same name. Must not outlive the engine.
class Object {
 public:
  class State {
   public:
    State(std::string object_name, ObjectId object_id, ObjectKind object_kind, Schema object_schema)
        : name(std::move(object_name)),
          id(object_id),
          kind(object_kind),
          schema(std::move(object_schema)) {}
    virtual ~State() = default;

    const std::string name;
    const ObjectId id;
    const ObjectKind kind;
    const Schema schema;
  };

  Object() = default;  // no object: calls with it get InvalidArgument
  explicit Object(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  explicit operator bool() const { return state_ != nullptr; }
  // REQUIRES, for all of the following: not default-constructed.
  const std::string& name() const { return state_->name; }
  ObjectId id() const { return state_->id; }
  ObjectKind kind() const { return state_->kind; }
  const Schema& schema() const { return state_->schema; }
  const State* state() const { return state_.get(); }  // the engine's

 private:
  std::shared_ptr<const State> state_;
};

// A handle of an asynchronous call. May be dropped at any time: the call's state lives until its
// last writer has ended.
class Pending {
 public:
  virtual ~Pending() = default;
  // Calls the callback with `status` (not OK), unless it has run already. The outcome of a write is
  // then unknown. Any thread; does not block.
  virtual void Cancel(absl::Status status) = 0;
};

// Receives the answers of the short form of Write. Each column is empty or of length n; none
// overlaps the batch's.
struct WriteColumns {
  absl::Span<uint8_t> applied{};  // 1: the key was written
  absl::Span<uint8_t> existed{};  // 1: the key was there before
  absl::Span<uint64_t> values{};  // 0 if there is no value
  // 0: the key was refused and has not changed, or the outcome is unknown
  absl::Span<uint8_t> executed{};
};

// A Port into the engine for one calling thread at a time; cheap enough for one per thread. It must
// not outlive the engine or be used after Engine::Close.
//
// Order: writes and lookups that one session sends for one key take effect in the order in which
// they were sent. This holds within a batch, between concurrent calls, between kinds of operations,
// and while ranges move. A call that is refused (ResourceExhausted), cancelled or past its deadline
// may have taken effect for some keys and not for others; later calls keep their order all the
// same. There is no order between sessions, nor between a scan and calls in flight when it begins.
class Session {
 public:
  using Callback = absl::AnyInvocable<void(BatchResult) &&>;
  using AggregateCallback = absl::AnyInvocable<void(absl::StatusOr<RangeAggregate>) &&>;
  using ScanIntoCallback = absl::AnyInvocable<void(absl::StatusOr<uint64_t>) &&>;
  using StartedCall = absl::StatusOr<std::shared_ptr<Pending>>;
  virtual ~Session() = default;

  // The one it belongs to: where its callbacks run (Engine::NewSession).
  virtual NumaNodeId numa_node() const = 0;

  // The object with that name. Does not wait for AEUs. Errors: NotFound.
  virtual absl::StatusOr<Object> Open(absl::string_view name) = 0;

  // Looks up rows by their keys. Blocks until every owning AEU has replied or `deadline` has
  // passed; if AEUs accept nothing, up to send_wait_ms_max longer. Errors, in the result:
  // InvalidArgument (shapes, columns, limits), FailedPrecondition (a heap table), NotFound,
  // DeadlineExceeded, ResourceExhausted (see BatchResult; too many bytes in flight: then nothing
  // was executed), Unavailable (closing). Columns are valid if the status is OK, or
  // ResourceExhausted with refused < count.
  // Paper: ERIS 3.2.
  virtual BatchResult Lookup(const Object& object, const LookupBatch& batch,
                             absl::Time deadline = absl::InfiniteFuture()) = 0;
  // Writes rows as the batch's mode says. Not atomic across rows. Blocking and errors as Lookup;
  // InvalidArgument also for an expected column where none belongs, FailedPrecondition for a mode
  // that is not of the object's kind (also kAdd where values are strings), ResourceExhausted also
  // where the memory limit refuses new rows: the others took effect, the refused ones changed
  // nothing, a string that cannot be stored leaves the old one. DeadlineExceeded: the outcome is
  // unknown; when it passes, a batch whose columns are not copied is awaited all the same.
  virtual BatchResult Write(const Object& object, const WriteBatch& batch,
                            absl::Time deadline = absl::InfiniteFuture()) = 0;
  // The same without waiting for the AEUs. `done` runs exactly once, on the completion thread of
  // the session's NumaNode, unless an error is returned here (then never). May block up to
  // Options::send_wait_ms_max while AEUs take nothing.
  virtual StartedCall LookupAsync(const Object& object, const LookupBatch& batch,
                                  Callback done) = 0;
  virtual StartedCall WriteAsync(const Object& object, const WriteBatch& batch, Callback done) = 0;

  // Starts a scan: of an index in key order; of a table by all AEUs that hold a part of it in
  // parallel, in slices. Concurrent scans of one table share a pass. Errors: InvalidArgument (the
  // query), NotFound, FailedPrecondition (a hash: it has no key order; a filter on values that are
  // strings), ResourceExhausted (snapshots, chunks), Aborted (the query's snapshot was given up),
  // Unavailable. Paper: ERIS 3.1.
  virtual absl::StatusOr<std::unique_ptr<Scan>> OpenScan(const Object& object,
                                                         const Query& query) = 0;
  // The schema of the chunks that OpenScan would give. Checks the query in the same way, without a
  // snapshot, and waits for no AEU. Errors: those that OpenScan has for a query; NotFound.
  virtual absl::StatusOr<Schema> AnswerSchema(const Object& object, const Query& query) = 0;
  // The shares in which many readers can scan what `query` reads: together they are its rows, each
  // once, if all scans use its snapshot, which must be set. Of a table one for each AEU that may
  // have rows for the filter, to be read with Query::share (which may divide it further); of an
  // index one for each partition with rows, to be read with its range. Reads no row of a table:
  // AEUs look at the bounds of their segments. `query` has no share, limit, resume token or
  // aggregates. Blocks until all AEUs have answered or `deadline` has passed. Errors: as OpenScan;
  // DeadlineExceeded.
  virtual absl::StatusOr<std::vector<ObjectShare>> Shares(
      const Object& object, const Query& query, absl::Time deadline = absl::InfiniteFuture()) = 0;
  // Starts a query over several objects (query_plan.h); all of them are read as of one snapshot.
  // The chunks have the plan's columns; those of a sort come in its order. It is computed while its
  // reader waits for chunks. Errors here: InvalidArgument (the plan, with the node), NotFound
  // (an object), Unimplemented (see query_plan.h), ResourceExhausted (memory, snapshots), Aborted
  // (the snapshot was given up), Unavailable. From Next, besides a scan's: InvalidArgument (a
  // subquery of several rows; a join without keys of several), FailedPrecondition (a hash is read).
  // Paper: ERIS 6 (query processing).
  virtual absl::StatusOr<std::unique_ptr<Scan>> OpenQuery(const QueryPlan& plan,
                                                          const QueryOptions& options = {}) = 0;
  // How OpenQuery would run a plan now, as text: a line per step. For people: its form may change.
  // Reads no row. Errors: those that OpenQuery has for a plan.
  virtual absl::StatusOr<std::string> ExplainQuery(const QueryPlan& plan) = 0;
  // Runs a plan and tells what it took. The query's rows are thrown away; the only row of this scan
  // is a text, in the column `analysis`: the lines of ExplainQuery, each followed by the rows that
  // its step really has, where it ran, how long each AEU worked, what AEUs handed to each other,
  // and bytes. For people: its form may change. Errors, blocking and Cancel: as OpenQuery.
  virtual absl::StatusOr<std::unique_ptr<Scan>> OpenAnalysis(const QueryPlan& plan,
                                                             const QueryOptions& options = {}) = 0;
  // The text. Blocks until the query has ended or `deadline` has passed; not from a callback.
  // Errors: those of OpenAnalysis and of its Next; a query past its deadline is cancelled.
  absl::StatusOr<std::string> AnalyzeQuery(const QueryPlan& plan, const QueryOptions& options = {},
                                           absl::Time deadline = absl::InfiniteFuture());
  // Counts the rows of a key range of an index and adds up their values in place: no row is sent.
  // Sees one snapshot: each row that was committed at one moment of the call, once. All AEUs that
  // own a part of the range work in parallel, in slices. Blocks until all have answered or
  // `deadline` has passed; not from a callback. Errors: InvalidArgument (range), NotFound,
  // FailedPrecondition (strings, unless count_only; not an index), DeadlineExceeded,
  // ResourceExhausted (AEUs accepted nothing for send_wait_ms_max, too many bytes in flight, or the
  // maximum number of snapshots is held), Aborted (its snapshot was given up), Unavailable
  // (closing, or keys that moved again and again). Paper: ERIS 3.1 (scans).
  virtual absl::StatusOr<RangeAggregate> Aggregate(
      const Object& object, const AggregateOptions& options,
      absl::Time deadline = absl::InfiniteFuture()) = 0;
  // Asynchronous, like LookupAsync.
  virtual StartedCall AggregateAsync(const Object& object, const AggregateOptions& options,
                                     AggregateCallback done) = 0;
  // Starts an index join: for each row of `outer` in the range, looks up its value as a key of
  // `inner` (which may be the same object, or a hash). The chunks have the columns outer_key,
  // join_key and value: the outer row outer_key -> join_key together with the inner row join_key ->
  // value. Each outer row is looked up exactly once.
  // A join, unlike a scan, sees no snapshot. An outer row is read at some moment between the call
  // and the end of the join, its inner row later than that; different rows may show different
  // moments.
  // May block up to Options::send_wait_ms_max while AEUs accept nothing. Errors: InvalidArgument
  // (inverted range), NotFound, FailedPrecondition (`outer` is not an index; `inner` is a table;
  // values of either are strings; keys of two parts; keys or values that are joined but not u64),
  // ResourceExhausted (no scan chunk free), Unavailable.
  virtual absl::StatusOr<std::unique_ptr<Scan>> OpenJoin(const Object& outer, const Object& inner,
                                                         const JoinOptions& options) = 0;
  // Writes the rows of a table scan into another object, inside the engine: AEUs read the rows and
  // send them directly to the owners of `target`. The target is a clustered table (upserts) or a
  // heap table (appends), with the result's column types in order, or an index or a hash of u64
  // (result columns key and value, both u64). InvalidArgument if source and target are the same, or
  // for aggregates. Returns the number of rows written. Not atomic: after an error some rows are
  // written. Paper: ERIS, contribution 2 (materialising intermediate results).
  virtual absl::StatusOr<uint64_t> ScanInto(const Object& table, const Query& query,
                                            const Object& target,
                                            absl::Time deadline = absl::InfiniteFuture()) = 0;
  virtual StartedCall ScanIntoAsync(const Object& table, const Query& query, const Object& target,
                                    ScanIntoCallback done) = 0;

  // Short forms for indexes and hashes whose keys and values are u64. Errors: as the calls above;
  // InvalidArgument (keys of another type), FailedPrecondition (a table, values that are strings).
  // Defined in key_value.h.
  //
  // values[i] and found[i] (1 or 0) belong to keys[i]. They are untouched unless the status is OK.
  absl::Status Lookup(const Object& object, const KeyColumns& keys, absl::Span<uint64_t> values,
                      absl::Span<uint8_t> found, absl::Time deadline = absl::InfiniteFuture());
  // `existed` is empty or of length n: 1 if a value was replaced (erased), 0 if not or if unknown,
  // for example after an error.
  absl::Status Upsert(const Object& object, const KeyColumns& keys,
                      absl::Span<const uint64_t> values, absl::Span<uint8_t> existed = {},
                      absl::Time deadline = absl::InfiniteFuture());
  absl::Status Erase(const Object& object, const KeyColumns& keys, absl::Span<uint8_t> existed = {},
                     absl::Time deadline = absl::InfiniteFuture());
  // Any mode. `expected` is for kCompareAndSet. The columns of `out` tell what happened to the keys
  // that were executed; they are 0 for the others.
  absl::Status Write(const Object& object, WriteMode mode, const KeyColumns& keys,
                     absl::Span<const uint64_t> values, absl::Span<const uint64_t> expected = {},
                     const WriteColumns& out = {}, absl::Time deadline = absl::InfiniteFuture());
  StartedCall LookupAsync(const Object& object, const KeyColumns& keys, Callback done);
  StartedCall WriteAsync(const Object& object, WriteMode mode, const KeyColumns& keys,
                         absl::Span<const uint64_t> values, absl::Span<const uint64_t> expected,
                         Callback done);
  StartedCall UpsertAsync(const Object& object, const KeyColumns& keys,
                          absl::Span<const uint64_t> values, Callback done);
  StartedCall EraseAsync(const Object& object, const KeyColumns& keys, Callback done);
};

inline absl::StatusOr<std::string> Session::AnalyzeQuery(const QueryPlan& plan,
                                                         const QueryOptions& options,
                                                         absl::Time deadline) try {
  const absl::StatusOr<std::unique_ptr<Scan>> query = OpenAnalysis(plan, options);
  if (!query.ok()) return query.status();
  const Scan::NextResult text = (*query)->Next(deadline);
  if (!text.ok()) return text.status();
  return std::string((*text)->String(0, 0));
} catch (const std::bad_alloc&) {
  return absl::Status(absl::StatusCode::kResourceExhausted, "");  // a text would need memory
}

}  // namespace eris

#include "eris/key_value.h"

#endif  // ERIS_SESSION_H_
