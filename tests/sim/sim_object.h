// What a simulated life (simulation.h) has under way: objects, transfers of their ranges, batches,
// scans and snapshots of clients, and how long each of them has waited.
#ifndef ERIS_TESTS_SIM_SIM_OBJECT_H_
#define ERIS_TESTS_SIM_SIM_OBJECT_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "routing/transfer_step.h"
#include "tests/sim/history.h"
#include "tests/sim/plan.h"
#include "tests/sim/request.h"
#include "tests/sim/world.h"
#include "tests/support/test_reply.h"

namespace eris::sim {

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
  // The smallest number of turns over all AEUs.
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
    kAskHome,  // the target is asked for memory that is left elsewhere
    kAskingHome,
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
  // For tables: the epoch at which the current step began; 0: no step is unfinished.
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
            std::vector<uint64_t> starts, std::vector<AeuId> owners, test::LabMemory& memory)
      : world(slot, id, std::move(starts), std::move(owners), memory),
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
  // An end of a partition leaves, as a copy, and no partition is cut. Of a heap table rows leave.
  bool only_copies() const { return hash() || is_table(); }
  const std::shared_ptr<const storage::TableLayout>& layout() const {
    return LayoutOf(heap() ? 0 : two_parts ? 2 : 1);
  }
  // What every AEU is told that gets a part of it.
  routing::InstallSegment Install(AeuId aeu) const;
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
  uint32_t gone_since = 0;  // step in which every AEU had dropped it
  std::deque<Move> unpublished;
  // The range that changed hands last, its new owner and its old one.
  struct Moved {
    AeuId from, to;
    storage::Key first;
  };
  std::optional<Moved> last_moved;
  std::vector<uint8_t> holders;  // by AEU: it has (had) a part of the object
  // For tables, by AEU: whether scans ask it, and whether appends go to it.
  std::vector<uint8_t> members, appended_to;
  // For heap tables, by append.
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

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_SIM_OBJECT_H_
