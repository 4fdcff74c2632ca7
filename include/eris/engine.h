// The embedding interface: start here. An Engine owns the AEUs and the data objects; a Session
// (session.h) is how one calling thread reaches them.
//
//   auto engine = eris::Engine::Open({});
//   (*engine)->Create("orders", {.expected = {0, 6'000'001}});
//   auto session = (*engine)->NewSession();
//   auto orders = session->Open("orders");
//   session->Upsert(*orders, keys, values);
//   session->Lookup(*orders, keys, values, found);
//
// Every object has a Schema (schema.h). Batches (batch.h) and query results (query.h) are columns
// of its types. Bounds of ranges are u64, encoded as key_encoding.h says.
//
// Guarantees: operations on one key are linearizable, and an acknowledged write is seen by every
// later read. A batch is many keys in one message; it is not atomic across keys. Data lives in
// memory only and ends with the engine.
//
// When the system has no memory, a call that returns a status fails with ResourceExhausted, perhaps
// without a text. So does the callback of a call that has begun. Nothing is left half done: each
// key is written or not, an object exists or not, a range belongs to one AEU. Only calls without a
// status throw std::bad_alloc, and then change nothing: NewSession, List, Stats, Memory, Balancer
// and similar ones.
#ifndef ERIS_ENGINE_H_
#define ERIS_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "eris/balancer.h"
#include "eris/batch.h"
#include "eris/move_stop.h"
#include "eris/options.h"
#include "eris/query.h"
#include "eris/session.h"
#include "eris/stats.h"
#include "eris/types.h"

namespace eris {

class Engine {
 public:
  // Detects the machine, places the AEUs and starts them.
  // Errors: InvalidArgument (an option out of its limits, or a memory limit above the machine's),
  // ResourceExhausted (buffers do not fit, or the system starts no more threads).
  static absl::StatusOr<std::unique_ptr<Engine>> Open(const Options& options);
  virtual ~Engine() = default;  // as Close

  // Errors: AlreadyExists, InvalidArgument (name, kind, schema, range, split points, an object to
  // lie beside whose keys differ), NotFound (the object to lie beside), ResourceExhausted. Blocks
  // until every AEU has its partition. Any thread.
  virtual absl::StatusOr<ObjectInfo> Create(absl::string_view name,
                                            const CreateOptions& options) = 0;
  // Errors: NotFound. Later requests on the object get NotFound, as do requests under way that have
  // not reached their AEU. Blocks until every AEU has freed the object's memory. Any thread.
  virtual absl::Status Drop(absl::string_view name) = 0;
  // The same for a caller that created the object (ObjectInfo::id) and wants to remove it again
  // without losing the writes of other callers. Drops it only if writes of exactly `rows` rows have
  // been acknowledged since its creation. Upserts and erases count each time a row is written. In a
  // partly refused batch the executed rows count (BatchResult::executed). Rows of a batch that
  // ended by its deadline or was cancelled do not count. A write that ends later gets NotFound.
  // Errors: NotFound (also if another object has the name), FailedPrecondition (other counts).
  virtual absl::Status DropIfWritten(absl::string_view name, ObjectId id, uint64_t rows) = 0;
  virtual absl::StatusOr<ObjectInfo> Describe(absl::string_view name) = 0;
  virtual std::vector<ObjectInfo> List() = 0;  // ordered by name

  // Never fails while the engine is open. Any thread. The session belongs to the NumaNode on which
  // this thread is running: make it on the thread that uses it, after that thread has been pinned.
  // With a synthetic topology the NumaNodes take turns.
  virtual std::unique_ptr<Session> NewSession() = 0;
  // A session of the given NumaNode, or of the nearest one with cores and memory.
  // Errors: InvalidArgument (no such NumaNode).
  virtual absl::StatusOr<std::unique_ptr<Session>> NewSession(NumaNodeId numa_node) = 0;
  // The NumaNode to which a session would belong that this thread made now.
  virtual NumaNodeId NumaNodeHere() = 0;

  // For servers (CallbacksHere calls both). Saves small requests most of their thread switches.
  //
  // Between DeferCallbacks and RunCallbacks this thread may run AEU turns: when it sends a small
  // asynchronous batch to an AEU that is asleep on the same core, the turn runs here, together with
  // what others have sent that AEU. Callbacks that become due meanwhile run in RunCallbacks on this
  // thread, with other due callbacks, unless their completion thread is running them; of sessions
  // of several NumaNodes only one's do. Where this interface says "completion thread" it means this
  // thread too. There is one for each NumaNode, pinned to its cpus, for the callbacks of its
  // sessions. Those of one session, and of all sessions of one NumaNode, run one at a time; others
  // may run at the same time. Threads that a callback creates inherit the cpus.
  //
  // REQUIRES: a thread that does not lose its core for long, because an AEU may have to wait for
  // it. It must hold no lock that a callback may need, and must not wait for a callback between the
  // two calls. The pairs must not be nested, nor overlap for two engines. No thread may be between
  // the calls when the engine ends.
  virtual void DeferCallbacks() = 0;
  virtual void RunCallbacks() = 0;

  // A consistent snapshot of all objects, for scans. Does not wait for AEUs. Any thread.
  // Errors: ResourceExhausted (the maximum number of snapshots is held), Unavailable (closing).
  virtual absl::StatusOr<std::shared_ptr<Snapshot>> TakeSnapshot() = 0;

  virtual EngineStats Stats() = 0;
  // Memory accounts: what the system has given, and each object's part of it. Any thread; O(objects
  // x AEUs), without parts O(objects x NumaNodes); stops no AEU.
  virtual MemoryStats Memory(const MemoryStatsOptions& options) = 0;
  MemoryStats Memory() { return Memory(MemoryStatsOptions()); }
  // Asks the kernel on which NumaNode the memory lies, and in which pages. Moves nothing. Any
  // thread. Blocks in the kernel for about 50 us per thousand pages, ten times that without huge
  // pages; for rows also until the AEUs have walked over them. Errors: InvalidArgument (pages_max
  // above kVerifyPagesMax), Unimplemented (a kernel without NUMA), FailedPrecondition (the system
  // refuses to tell), DeadlineExceeded, ResourceExhausted (memory), Unavailable (the engine is
  // closing). Paper: locality-aware scheduling in Bobox, 5.2.
  virtual absl::StatusOr<MemoryVerification> VerifyMemory(
      const VerifyMemoryOptions& options = {}, absl::Time deadline = absl::InfiniteFuture()) = 0;
  // The machine and the placement of the AEUs, as text.
  virtual std::string ExplainTopology() const = 0;
  // What the system refused when the engine opened (pinning, binding memory), one sentence each.
  // The engine runs without it.
  virtual std::vector<std::string> Notes() const { return {}; }

  // The load balancer (balancer.h). While it is paused nothing moves: a transfer under way stops at
  // the next chunk boundary, and calls that move ranges get FailedPrecondition. Any thread. Calls
  // that move ranges block until they have done so, and run one at a time.
  virtual BalancerStatus Balancer() = 0;
  // Newest first, at most kTransferHistoryMax.
  virtual std::vector<TransferRecord> TransferHistory() = 0;
  // The object's load: by partition, and its hottest ranges, at most `ranges_max` of them. Works
  // without an enabled balancer, too. O(AEUs + partitions); stops no AEU. Any thread. Errors:
  // NotFound, InvalidArgument (ranges_max outside 1 to kHotRangesMax), ResourceExhausted (memory).
  virtual absl::StatusOr<HotRanges> FindHotRanges(absl::string_view name,
                                                  uint32_t ranges_max = kHotRangesDefault) = 0;
  // Takes effect at once. Errors: InvalidArgument (an option out of its limits; then nothing has
  // changed).
  virtual absl::Status SetBalancer(const BalancerOptions& options) = 0;
  // How queries that are opened from now on are scheduled, instead of Options::task_scheduling. Any
  // thread. Errors: InvalidArgument (no such scheduling).
  virtual absl::Status SetTaskScheduling(TaskScheduling scheduling) = 0;
  virtual void PauseBalancer() = 0;
  virtual void ResumeBalancer() = 0;
  // What Rebalance would do with the object now; moves nothing. Errors: NotFound.
  virtual absl::StatusOr<BalancePlan> PlanBalance(absl::string_view name) = 0;
  // Runs one cycle now, whatever the threshold, and returns what it did. Errors: NotFound,
  // FailedPrecondition (paused), DeadlineExceeded and ResourceExhausted (what has moved stays
  // moved), Unavailable (closing). `stop`, here and below: may end the call early, with the status
  // given to it; must outlive the call.
  virtual absl::StatusOr<BalancePlan> Rebalance(absl::string_view name,
                                                absl::Time deadline = absl::InfiniteFuture(),
                                                MoveStop* stop = nullptr) = 0;
  // Cuts the range into `parts` even pieces and gives each to a different AEU, least loaded ones
  // first: for a range that is going to be hot. Errors: as Rebalance, InvalidArgument (an empty or
  // inverted range, parts outside 1 to the number of AEUs), FailedPrecondition (a heap table; a
  // hash or table whose ranges would have to be cut in their middle).
  virtual absl::Status Presplit(absl::string_view name, const KeyRange& range, uint32_t parts,
                                absl::Time deadline = absl::InfiniteFuture(),
                                MoveStop* stop = nullptr) = 0;
  // Gives a range to an AEU, from all AEUs that own pieces of it. Without `kind`: the cheapest kind
  // that is possible (TransferTraits).
  // Errors: as Presplit (InvalidArgument: no such AEU or kind), and FailedPrecondition (a kind by
  // which this object, or between these AEUs, cannot move; see TransferTraits).
  virtual absl::Status MoveRange(absl::string_view name, const KeyRange& range, AeuId to,
                                 std::optional<TransferKind> kind = std::nullopt,
                                 absl::Time deadline = absl::InfiniteFuture(),
                                 MoveStop* stop = nullptr) = 0;

  // Refuses new requests with Unavailable, waits for those under way and stops the AEUs.
  // Outstanding callbacks are still called. Idempotent. No other thread may be inside a call of a
  // session. Do not call it from a callback: it waits for the threads that run callbacks.
  virtual void Close() = 0;
};

// The machine as Engine::Open(options) would see and use it. Starts nothing.
// Errors: InvalidArgument (options).
absl::StatusOr<std::string> ExplainTopology(const Options& options);

// While it exists, callbacks of calls that its thread starts wait; the destructor runs them.
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
