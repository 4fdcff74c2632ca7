// One simulated life of a small engine, decided by a seed: real Ports, buffers, tables, AEUs and
// partitions in one thread, a scheduler that picks who moves next, faults, and at the end the
// verdict. No clock and no address takes part in a decision: a seed replays.
//
// What is checked: every key is answered exactly once, by the turn that wrote its state; answers
// are those of a register per key (tests/sim/history.h); states are those that the plan's faults
// allow; once the faults stop everything comes to rest within a bound; the rows that are left, the
// routing counters and the blocks of all pools add up.
#ifndef ERIS_TESTS_SIM_SIMULATION_H_
#define ERIS_TESTS_SIM_SIMULATION_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aeu/turn_points.h"
#include "eris/query.h"
#include "routing/join_part.h"
#include "routing/transfer_step.h"
#include "tests/sim/coverage.h"
#include "tests/sim/history.h"
#include "tests/sim/plan.h"
#include "tests/sim/planted_bug.h"
#include "tests/sim/random.h"
#include "tests/sim/request.h"
#include "tests/sim/world.h"
#include "tests/support/test_reply.h"

namespace eris::sim {

// No snapshot gets as old as that.
inline constexpr uint64_t kNeverTooOldNs = uint64_t{1} << 62;

struct RunOptions {
  PlantedBug bug = PlantedBug::kNone;
  bool trace = false;
  std::optional<Form> kind = std::nullopt;  // of the objects; otherwise the seed decides
};

struct Outcome {
  std::string error;          // empty: nothing was wrong
  uint64_t fingerprint = 0;   // of all decisions and answers
  uint64_t longest_wait = 0;  // of anything, in turns
  Coverage coverage;
  std::string trace;
};

// What is with AEUs has to end when each of those has turned so often: the oracle for liveness.
// None of the turns has to do anything, as long as the AEU is not paused.
class Waiting {
 public:
  // Nothing is with an AEU, or it has just been sent, or has gone on.
  void Begin(const std::vector<uint64_t>& turns, uint32_t step) {
    since_ = turns;
    step_ = step;
  }
  void End() { since_.clear(); }
  bool any() const { return !since_.empty(); }
  uint32_t step() const { return step_; }
  // Of all AEUs the fewest.
  uint64_t Turns(const std::vector<uint64_t>& turns) const {
    uint64_t fewest = ~uint64_t{0};
    for (size_t i = 0; i < since_.size(); ++i) fewest = std::min(fewest, turns[i] - since_[i]);
    return fewest;
  }
  uint64_t Turns(const std::vector<uint64_t>& turns, AeuId a, AeuId b) const {
    return std::min(turns[a.value] - since_[a.value], turns[b.value] - since_[b.value]);
  }

 private:
  std::vector<uint64_t> since_;  // turns of each AEU; empty: nothing waits
  uint32_t step_ = 0;
};

// A snapshot that a client holds.
struct SimSnapshot {
  routing::SnapshotRegistry::Held held;
  uint32_t taken = 0;    // step
  bool may_age = false;  // it was begun long ago by the time that snapshots age
};

// A range that has changed hands before a table says so.
struct Move {
  storage::Range range;
  AeuId to;
};

struct SimStep final : routing::TransferStep {
  static void Ended(routing::Reply* reply, uint32_t times) noexcept {
    static_cast<SimStep*>(reply)->ended += times;
  }
  uint32_t ended = 0;
};

struct SimObject;

// A transfer under way, by commands (transfers.cc).
struct SimTransfer {
  enum class Phase : uint8_t {
    kReserve,  // of a slot at the target
    kReserving,
    kGive,
    kGiven,
    kPublish,
    kConclude,
    kConcluding,
    kDone
  };
  SimObject* object = nullptr;
  AeuId from;
  AeuId to;
  TransferKind kind = TransferKind::kLink;
  storage::Range rest;  // still to leave
  storage::Partition::End end = storage::Partition::End::kLow;
  uint32_t rows_max = 1;
  Phase phase = Phase::kReserve;
  SimStep* step = nullptr;
  bool published = false;  // the step
  bool released = false;   // of a hash: it has been told that what it has made ready stays
  // Of a table: the epoch at which the step under way began, until it is concluded; 0: none is.
  uint64_t gate_since = 0;
  bool went_well = false;
  bool had_stub = false;
  Waiting waiting;  // for its AEUs
  std::unique_ptr<test::TestReply> reply;
  std::shared_ptr<const routing::RangeTable> base;  // in force when it began
};

struct SimObject {
  enum class Phase : uint8_t { kCreating, kLive, kDropping, kGone };

  SimObject(uint32_t slot, ObjectId id, const Plan& plan, std::vector<storage::Key> keys,
            std::vector<uint64_t> starts, std::vector<AeuId> owners, memory::NumaNodePool& pool)
      : world(slot, id, std::move(starts), std::move(owners), pool),
        form(plan.form),
        two_parts(plan.two_parts()),
        universe(std::move(keys)),
        histories(universe.size()),
        under_way(universe.size(), 0),
        holders(plan.world.aeus),
        members(plan.world.aeus),
        appended_to(plan.world.aeus) {}

  bool hash() const { return form == Form::kHash; }
  bool heap() const { return form == Form::kHeap; }
  bool is_table() const { return form == Form::kTable || form == Form::kHeap; }
  // An end of a partition leaves, as a copy, and no partition is cut.
  bool only_copies() const { return hash() || is_table(); }
  const std::shared_ptr<const storage::TableLayout>& layout() const {
    return LayoutOf(heap() ? 0 : two_parts ? 2 : 1);
  }
  // What every AEU is told that gets a part of it.
  routing::InstallSegment Install() const;
  // For messages.
  std::string NameOf(uint32_t key) const;
  // The index of `key`, or of the next above it.
  uint32_t IndexOf(const storage::Key& key) const;

  WorldObject world;
  const Form form;
  const bool two_parts;
  const std::vector<storage::Key> universe;      // of a heap table none
  std::vector<std::vector<KeyEvent>> histories;  // by key, or append
  std::vector<uint32_t> under_way;               // operations of each key
  Phase phase = Phase::kCreating;
  std::deque<Move> unpublished;
  // Of the range that changed hands last: who has it now, and from whom.
  struct Moved {
    AeuId from, to;
    storage::Key first;
  };
  std::optional<Moved> last_moved;
  std::vector<uint8_t> holders;  // by AEU: it has (had) a part of the object
  // Of tables, by AEU: scans ask it; appends go there, too.
  std::vector<uint8_t> members, appended_to;
  // Of a heap table, by append.
  struct Append {
    uint32_t rows = 0;
    bool refused = false;
  };
  std::vector<Append> appends;
  std::map<storage::Key, uint32_t> imported;  // rows from other tables, each an append by itself
  // Control commands under way, by AEU (drop) or partition (create).
  std::vector<uint32_t> to_send;
  std::unique_ptr<test::TestReply> control_reply;
  uint32_t control_expected = 0;
  // Live, and to be dropped as soon as no transfer of it is under way.
  bool drop_asked = false;
  Waiting waiting;  // for answers to those
};

// Keys of one operation of one client, sent and sent again until each has its answer.
struct Batch {
  SimObject* object = nullptr;
  KeyEvent::Kind kind = KeyEvent::Kind::kLookup;
  std::vector<uint32_t> keys;      // as indexes of the object's universe
  std::vector<uint64_t> values;    // writes with values
  std::vector<uint64_t> expected;  // compare-and-set
  std::vector<uint32_t> sent;      // step, by position
  std::vector<uint32_t> sequence;  // by position; kept where it is sent again
  std::vector<uint32_t> to_send;   // positions, while it is held
  bool out = false;                // sent, and its answers not looked at
  Waiting waiting;                 // for answers
  std::unique_ptr<SimRequest> request;
  uint32_t client = 0;
  uint32_t session = 0;
  bool cancelled = false;
  bool detached = false;  // nobody sends it again
};

struct Scan {
  Scan(uint32_t chunks, uint32_t rows, bool two_parts, routing::SnapshotRegistry& snapshots)
      : part(chunks, rows, two_parts), seen(chunks, 0), registry(snapshots) {}
  // No part is out then.
  ~Scan() { LetSnapshotGo(); }
  void LetSnapshotGo() {
    if (snapshot && !let_go) registry.End(snapshot->held.slot);
    let_go = true;
  }

  SimObject* object = nullptr;
  uint32_t client = 0;
  test::TestScanPart part;
  std::vector<uint32_t> seen;  // rows of each chunk that have been taken note of
  storage::Range rest;         // still to be answered
  storage::Range asked;        // of the part that is out
  bool wide = false;           // ... goes beyond the partition: its end will be told to have moved
  std::optional<uint64_t> rows_left;
  uint32_t parts = 0;  // sent
  bool out = false;    // a part is with an AEU
  Waiting waiting;     // ... which has a chunk to fill
  bool cancelled = false;
  storage::ScanQuery query;  // direction and filter
  // First key of the universe whose row or absence has not been seen; of a backward scan the one
  // above the last of those.
  uint32_t cursor = 0;
  uint32_t last_step = 0;  // when the cursor came here
  uint64_t rows_seen = 0, rows_read = 0;
  // All that it sees is of the moment when it was taken.
  routing::SnapshotRegistry& registry;
  std::optional<SimSnapshot> snapshot;
  bool let_go = false;
  // At a snapshot: its rows are added up; then the scan comes once more, for the rows.
  bool adds = false;
  storage::Range whole;  // that was asked for
  std::optional<RangeAggregate> added_up;
  bool all_added_up = false;
  RangeAggregate read;  // what its rows come to
  std::optional<storage::Key> last_read;
};

struct SimJoin;
struct SimJoinBlock;
struct SimJoinPart;
struct SimTableChunk;
struct SimTableScan;

// "7", of two parts "7/3".
std::string TextOf(const storage::Key& key);

// Values as byte strings, and back: of 1 to 40 bytes, so that short and long ones come. Words of
// strings that a life has written, or compares with, stay as long as it does.
class Strings {
 public:
  uint64_t WordOf(uint64_t value);
  static uint64_t ValueIn(uint64_t word);

 private:
  std::map<uint64_t, std::vector<uint64_t>> records_;  // by value; of long ones
};

class Simulation {
 public:
  Simulation(test::LabMemory& memory, uint64_t seed, const RunOptions& options);
  ~Simulation();
  Outcome Run();

 private:
  // What a client has under way on one object, as engine/core/send_order.h has it: all by one
  // table, and behind what has to be sent again, nothing.
  struct SessionOrder {
    std::shared_ptr<const routing::RangeTable> table;
    uint32_t out = 0;
    bool draining = false;
    std::vector<Batch*> held;
  };
  struct Client {
    std::unique_ptr<routing::Port> port;
    uint32_t session = 1;                                      // a new one with each Port
    std::vector<SessionOrder> orders;                          // by object
    std::vector<std::unique_ptr<routing::ObjectRoute>> views;  // by object; nullptr: none so far
    std::unique_ptr<Scan> scan;
    std::unique_ptr<SimTableScan> table_scan;
    std::unique_ptr<SimJoin> join;
  };

  // --- simulation.cc: the schedule
  void SetUp();
  void OneStep();
  void StepAeu(uint32_t aeu);
  void EndStep();  // holds the answers of this step against the columns
  // --- liveness.cc: what waits too long
  void CheckLiveness();
  // What is under way, for a life that does not come to rest.
  std::string UnderWay() const;
  // What the client has buffered may be on its way from now on.
  void MayFlush(uint32_t client);
  void Drain();
  bool DrainRound();
  void CheckEnd();
  void Fail(const std::string& what);
  bool failed() const { return !outcome_.error.empty(); }
  // Takes note of a decision or an answer.
  void Note(const char* what, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0);

  // --- turn_points.cc: inside a turn
  void Turns(uint32_t aeu, bool whole_scans, size_t ingress_bytes);
  void AtTurnPoint(aeu::Aeu& turning, aeu::TurnPoint point);
  void AtOuterTurnPoint(aeu::Aeu& turning, aeu::TurnPoint point);
  void OthersMove(aeu::TurnPoint point);

  // --- clients.cc: batches
  void ClientStep(uint32_t client);
  SimObject* PickObject();
  // The object as the client knows it.
  routing::ObjectRoute& ViewOf(Client& client, SimObject& object);
  void RefreshView(Client& client, SimObject& object);
  void StartBatch(uint32_t client);
  // The rows that the batch's request stores, or how it is answered.
  void ShowRows(Batch& batch);
  void AddBatch(std::unique_ptr<Batch> batch);
  SessionOrder& OrderOf(const Batch& batch);
  // Positions of `batch`, (again,) when it is its turn.
  void SendInOrder(Batch& batch, std::vector<uint32_t> positions);
  void SendNow(SessionOrder& order, Batch& batch);
  // All answers of the batch are in. False: nothing of it is to be sent again.
  bool SendAgain(Batch& batch);
  // Sends what is held, if all that is out has come back.
  bool GoOn(SessionOrder& order, uint32_t client, SimObject& object);
  void FlushClient(uint32_t client);
  void CancelBatch(uint32_t client);
  void KillPort(uint32_t client);
  void RecordAnswer(Batch& batch, uint32_t position);
  // A value that a compare-and-set of the key may find.
  uint64_t Guess(const SimObject& object, uint32_t key);
  void LetGo(size_t batch);  // the client is done with it
  // What stands in a column of values for one, and the other way round.
  uint64_t WordOf(const SimObject& object, uint64_t value) {
    return object.form == Form::kBytes ? strings_.WordOf(value) : value;
  }
  static uint64_t ValueIn(const SimObject& object, uint64_t word) {
    return object.form == Form::kBytes ? Strings::ValueIn(word) : word;
  }
  // Everything that is left, by keys.
  void LookUpAll(SimObject& object);

  // --- scans.cc
  void StartScan(uint32_t client, SimObject& object, bool whole);
  void SendScanPart(Scan& scan);
  // The client's side: takes what has been delivered, sends the next part. True: it did anything.
  bool ReadScan(uint32_t client);
  // After an AEU's turn: what it has read.
  void ObserveScan(Scan& scan);
  void ObserveKey(Scan& scan, uint32_t key, uint64_t value, uint32_t since);
  void EndScanPart(Scan& scan);
  // It has ended its first or second way through the range.
  bool AddedUp(Scan& scan);
  // What is left of it once a part has moved.
  storage::Range Moved(const Scan& scan) const;
  // None of the keys between the cursor and `key` has a row that the scan asks for.
  void PassTo(Scan& scan, size_t key);

  // --- table_scans.cc
  void StartTableScan(uint32_t client, SimObject& object, bool whole);
  // Whether a scan at that snapshot may begin: no step of the table's transfers is in its way.
  bool PassesGate(const SimObject& object, uint64_t snapshot) const;
  bool ScansWaitAtGate(const SimObject& object) const;
  void SendTableScan(SimTableScan& scan);
  // The client's side. True: it did anything.
  bool ReadTableScan(uint32_t client);
  void ReadTableChunk(SimTableScan& scan);
  void ReadTableRow(SimTableScan& scan, const storage::Key& key, uint64_t value);
  void EndTableScan(uint32_t client);
  void ReadTableSum(SimTableScan& scan);
  // After an AEU's turn: chunks that it has filled.
  void ObserveTableScan(SimTableScan& scan);
  // What the scan says of a key, or an append: at its snapshot.
  void ObserveAtSnapshot(SimTableScan& scan, uint32_t key, uint64_t value);

  // --- scan_into.cc
  // Where the rows of a scan of `source` could be written; nullptr: nowhere just now.
  SimObject* PickTarget(const SimObject& source);
  void AimAt(SimTableScan& scan, SimObject& target);
  std::vector<NamedExpression> ColumnsInto(const SimTableScan& scan) const;
  void ObserveScanInto(SimTableScan& scan);
  void ReadScanInto(SimTableScan& scan);
  void BeginInto(SimTableScan& scan, SimTableChunk& chunk);
  void EndInto(SimTableScan& scan, SimTableChunk& chunk);
  void SendIntoAgain(SimTableScan& scan, SimTableChunk& chunk, const std::vector<uint32_t>& moved);

  // --- joins.cc
  void StartJoin(uint32_t client, SimObject& outer);
  void RefuseJoinPart(routing::JoinPart& part);
  // After an AEU's turn: blocks that it has filled, parts that have ended.
  void ObserveJoin(SimJoin& join);
  void ObserveOuterRow(SimJoin& join, const SimJoinBlock& block, uint32_t row);
  void ObserveInner(SimJoin& join, const SimJoinBlock& block, uint32_t row, bool found);
  // The client's side. True: it did anything.
  bool ReadJoin(uint32_t client);
  void GiveJoinUp(SimJoin& join);
  void TakeJoinBlock(SimJoin& join, SimJoinBlock& block);
  void SendJoinAgain(SimJoin& join, SimJoinBlock& block, const std::vector<uint32_t>& moved);
  void EndJoinPart(SimJoin& join, SimJoinPart& part);
  // What is left of the part's ranges; nothing: it is done.
  void SendJoinPart(SimJoin& join, SimJoinPart& part);
  void EndJoin(uint32_t client);

  // --- appends.cc: rows of heap tables
  void StartAppend(uint32_t client, SimObject& object);
  void RecordAppend(Batch& batch, uint32_t position);
  // Of an object that is being made: its partitions' ranges and owners.
  void PlaceHeap(std::vector<uint64_t>& starts, std::vector<AeuId>& owners) const;

  // --- faults.cc
  void FaultStep();
  void PauseAeu();
  void MoveRange();
  bool PublishOne(SimObject& object);
  void SplitOrMerge();
  void FailAllocations();
  void EndAllocationFaults(SimObject& object);
  void CreateObject(uint32_t slot);
  // As the engine does it, behind the transfer that is under way, which is asked to give up; or at
  // once, among its commands.
  void AskToDrop(SimObject& object);
  void DropObject(SimObject& object);
  // A planted bug: what a drop at the AEU may do to transfers of other objects.
  void HurtOthersByDrop(uint32_t aeu);
  SimSnapshot TakeSnapshot();
  // From now on snapshots that were begun long ago are too old, or no longer.
  void AgeSnapshots();
  // A scan has ended as aborted: whether it may.
  void SnapshotGivenUp(const SimObject& object, const SimSnapshot& snapshot);
  // Sends what is left of a create or drop and looks whether it is done. True: it did anything.
  bool ControlStep(SimObject& object);
  SimObject* PickLive();

  // --- transfers.cc
  void TransferStep();
  void StartTransfer();
  // True: it has moved.
  bool AdvanceTransfer(SimTransfer& transfer);
  // Forgets transfers that are done, and drops what has waited for that.
  void EndTransfers();
  // Now and then, the allocations of one of its two AEUs.
  void FailTransfer(const SimTransfer& transfer);
  bool AwaitStep(SimTransfer& transfer);
  void PublishStep(SimTransfer& transfer);
  bool SendControl(const SimTransfer& transfer, AeuId to, routing::CommandType type,
                   routing::Reply* context, routing::CompletionFunction complete,
                   std::span<const std::byte> segment);
  bool Transfers(const SimObject& object) const;
  void ObserveStubs(uint32_t aeu, uint64_t forwarded_before);
  void TamperStep(std::vector<Record>& records);
  // A chunk of a table, on its way.
  void TamperRows(storage::ExchangeChunk& chunk);

  // --- interpose.cc: planted bugs on the way to an AEU
  void Interpose(uint32_t aeu);
  bool Tamper(uint32_t aeu, std::vector<Record>& records, size_t at);
  // Its answers go to a reply that nobody reads.
  void AnswerNobody(routing::CommandHeader& command);
  bool TamperAppend(std::vector<Record>& records, size_t at);
  void WriteBehindTheBack(SimObject& object, const storage::Key& key, uint64_t value,
                          storage::Operation operation = storage::Operation::kUpsert);

  const RunOptions options_;
  const uint64_t seed_;
  Random random_;
  const Plan plan_;
  Outcome outcome_;
  uint32_t now_ = 0;  // step
  bool draining_ = false;
  Ledger ledger_;

  std::vector<std::unique_ptr<SimObject>> objects_;  // before world_: AEUs refer to routes
  std::vector<SimObject*> slots_;                    // by slot: the object in it
  uint32_t next_object_ = 1;
  uint64_t next_value_ = 1;
  uint64_t next_import_ = 1;
  Strings strings_;
  uint32_t next_sequence_ = 1;
  bool allocation_failed_ = false;
  bool snapshots_age_ = false;
  bool snapshots_aged_ = false;  // at some time
  std::vector<std::unique_ptr<SimTransfer>> transfers_;
  std::vector<std::unique_ptr<SimStep>> steps_;  // that there have been
  std::vector<uint32_t> paused_until_;           // by AEU
  std::vector<uint64_t> turns_;                  // by AEU
  std::vector<uint32_t> aeu_weights_;

  std::vector<std::unique_ptr<Batch>> batches_;
  std::vector<std::unique_ptr<SimRequest>> done_requests_;
  // Of planted bugs.
  struct Delayed {
    uint32_t aeu;
    Record record;
  };
  std::vector<Delayed> delayed_;
  std::vector<std::vector<Record>> late_records_;  // by AEU: from other AEUs, in their order
  struct LateRows {
    SimObject* object;
    storage::ExchangeChunk rows;
    uint32_t due;
  };
  std::vector<LateRows> late_rows_;
  std::unique_ptr<test::TestReply> sink_;
  std::vector<std::unique_ptr<test::TestReply>> append_sinks_;

  // The turn under way, and what a planted bug of its order keeps meanwhile.
  struct Turn {
    uint32_t aeu;
    bool drains_again = false;
    routing::SnapshotRegistry::Mark mark{};
    storage::SnapshotView view{};
  };
  std::optional<Turn> turn_;

  World world_;
  std::unique_ptr<routing::Port> control_;
  std::vector<Client> clients_;
};

// The life of `seed`. `memory` may be shared by any number of lives, one after another.
Outcome Simulate(test::LabMemory& memory, uint64_t seed, const RunOptions& options = {});

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_SIMULATION_H_
