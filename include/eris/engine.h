// The embedding interface: start here. An Engine owns the AEUs and the data objects; a Session
// (session.h) is one calling thread's way to them.
//
//   auto engine = eris::Engine::Open({});
//   (*engine)->Create("orders", {.expected = {0, 6'000'001}});
//   auto session = (*engine)->NewSession();
//   auto orders = session->Open("orders");
//   session->Upsert(*orders, keys, values);
//   session->Lookup(*orders, keys, values, found);
//
// Every object has a Schema (schema.h); batches are columns of its types (batch.h), and so is what
// queries hand out (query.h). Bounds of ranges are u64, encoded as key_encoding.h says.
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
  // Finds the machine, places and starts the AEUs. Errors: InvalidArgument (an option out of its
  // limits, or a memory limit above the machine's), ResourceExhausted (buffers do not fit).
  static absl::StatusOr<std::unique_ptr<Engine>> Open(const Options& options);
  virtual ~Engine() = default;  // as Close

  // Errors: AlreadyExists, InvalidArgument (name, kind, schema, range, split points),
  // ResourceExhausted. Blocks until every AEU has its partition. Any thread.
  virtual absl::StatusOr<ObjectInfo> Create(absl::string_view name,
                                            const CreateOptions& options) = 0;
  // Errors: NotFound. Later requests on the object get NotFound, also those under way that have not
  // reached their AEU. Blocks until every AEU has given its memory back. Any thread.
  virtual absl::Status Drop(absl::string_view name) = 0;
  // The same for a caller that has created the object (ObjectInfo::id) and wants to take it back
  // without the loss of another's write: only if writes of exactly `rows` rows have been
  // acknowledged since then, upserts and erases, each time a row was written. Rows of a batch that
  // was refused in part count where they were executed (BatchResult::executed); those of one that
  // has ended by its deadline, or was cancelled, do not. A write that ends later gets NotFound.
  // Errors: NotFound (also when another object has the name), FailedPrecondition (other counts).
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
  // Errors: as Presplit (InvalidArgument: no such AEU or kind), and FailedPrecondition (a kind by
  // which this object, or between these AEUs, cannot move; see TransferTraits).
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
