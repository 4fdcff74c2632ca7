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

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aeu/turn_points.h"
#include "eris/query.h"
#include "routing/join_part.h"
#include "tests/sim/coverage.h"
#include "tests/sim/history.h"
#include "tests/sim/plan.h"
#include "tests/sim/planted_bug.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_object.h"
#include "tests/sim/world.h"
#include "tests/support/test_home.h"
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
    std::unique_ptr<test::TestHome> home;  // also of the blocks of its Ports that have died
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
  // As the completion thread, or the client itself: takes the answers that are home. True: there
  // were some.
  bool CollectHome(uint32_t client);
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
  void LookupAll(SimObject& object);

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
  // The ranges and owners of the partitions of an object that is being created.
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
  // As an engine could choose, and leaps inside a NumaNode, too.
  TransferKind KindOf(AeuId from, AeuId to);
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
  // Planted bugs that act on records need commands without a home: those are copied.
  const bool answered_here_;
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
  // For planted bugs.
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
