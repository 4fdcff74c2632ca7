// A clustered table whose ranges change hands while scans of several snapshots are under way: the
// real partitions and the real registry of snapshots, AEUs' turns by hand, a seed that decides
// everything, and per snapshot a map of the rows that were there when it was taken.
//
// Each owner reads the registry once a turn and stamps its writes with that epoch; snapshots are
// taken between turns and inside them, whatever is under way. A scan asks all members, and does not
// begin while a step of a transfer is under way that began before its snapshot was taken: until its
// source has heard how it ended. Each member walks its partitions by number, and stands at
// (partition, segment, row) between its turns, whatever becomes of the partitions.
#ifndef ERIS_TESTS_SIM_TABLE_MOVES_H_
#define ERIS_TESTS_SIM_TABLE_MOVES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "routing/snapshot_registry.h"
#include "storage/table/query/table_run.h"
#include "storage/table/rows/segment_mask.h"
#include "storage/table/table_partition.h"
#include "tests/sim/random.h"
#include "tests/unit/storage/storage_fixture.h"
#include "tests/unit/table/table_rows.h"

namespace eris::sim {

// Bugs on purpose, each found within some seeds.
enum class TableMovesFault : uint8_t {
  kNone,
  kGateOpen,       // scans begin while a step is under way that their snapshot does not precede
  kDiesLater,      // rows die where they were in another epoch than they are born in
  kDropOldRows,    // who forgets rows keeps none for snapshots
  kOldBirths,      // who ingests rows takes them for older than every snapshot
  kTakeBackLoses,  // a loan that is taken back lacks a row
  kOwnersOnly,     // a scan asks those that own ranges, not all members
  kMembersEarly,   // ... or those that were members before its snapshot was taken
  kPlaceByRange,   // a scan's place names its partition by the low end of its range
  kPartGoesEarly,  // a partition goes with its range
  kStaleRegistry,  // an owner does not ask for new snapshots in a turn
  kEndEarly,       // a snapshot is let go before its scans have ended
};

class TableMoves {
 public:
  struct Coverage {
    uint64_t chunks = 0, low_ends = 0, refused = 0, returned_at_once = 0;
    uint64_t new_members = 0, parts_gone = 0, adjacent = 0;
    uint64_t scans = 0, sums = 0, tokens = 0, taken_inside_turns = 0, taken_in_steps = 0,
             waited = 0, reads_in_steps = 0;
  };

  TableMoves(uint64_t seed, TableMovesFault fault);
  ~TableMoves();
  // What was wrong; empty: nothing.
  std::string Run(int turns);
  const Coverage& coverage() const { return coverage_; }

 private:
  using Model = std::map<storage::Key, storage::Row>;
  struct Part {
    uint64_t id;
    std::unique_ptr<storage::TablePartition> table;
  };
  struct Owner {
    size_t number = 0;
    bool member = false;
    storage::TreeMemory memory;
    storage::SnapshotView view;
    routing::SnapshotRegistry::Mark mark;
    std::vector<Part> parts;
  };
  // One chunk of a copy.
  struct Step {
    enum class State : uint8_t { kBegun, kLent, kInstalled, kReturned };
    size_t from;
    size_t to;
    uint64_t since;     // the epoch at which it began
    uint64_t born = 0;  // ... at which its rows are born at the target
    State state = State::kBegun;
    storage::TablePartition* lender = nullptr;
    storage::ExchangeChunk chunk{};
  };
  struct Total {
    uint64_t count = 0;
    int64_t sum = 0;
    friend bool operator==(const Total&, const Total&) = default;
  };
  // What one member answers of a scan.
  struct ScanPart {
    size_t owner;
    uint64_t partition = 0;  // by its number
    bool behind = false;     // the partition
    uint64_t segment = 0;
    uint32_t row = 0;
    bool done = false;
    storage::SegmentMask mask{};
    std::unique_ptr<storage::TableRun> run{};  // of sums
  };
  struct Scan {
    bool adds = false;
    std::vector<ScanPart> parts{};
    Model rows{};
    Total total{};
  };
  struct Snapshot {
    routing::SnapshotRegistry::Held held;
    bool complete = false;  // the turn inside which it was taken has ended
    Model rows{};
    std::vector<size_t> first_members{};  // that its first scan has asked
    std::vector<std::unique_ptr<Scan>> scans{};
    uint64_t scans_left = 0;  // to be opened
    bool let_go = false;
  };

  void Turn(Owner& owner);
  void Act(Owner& owner);
  void TakeSnapshot();
  bool MayScan(const Snapshot& snapshot) const;
  void OpenScan(Snapshot& snapshot);
  void LetGo(Snapshot& snapshot);
  void Write(Owner& owner, bool erase);

  void BeginStep();
  // What the owner's turn does for steps that have come to it.
  void AdvanceSteps(Owner& owner);
  void Lend(Owner& owner, Step& step);
  void Install(Owner& owner, Step& step);
  void Conclude(Owner& owner, Step& step);
  void DropParts(Owner& owner);

  void ReadSome(Owner& owner);
  void Read(Owner& owner, const Snapshot& snapshot, Scan& scan, ScanPart& part, uint32_t rows_max);
  void TakeTotal(Scan& scan, ScanPart& part);
  void EndScan(Snapshot& snapshot, size_t i);
  // The partition that the scan stands in, or the next one; nullptr: none.
  Part* PartAt(Owner& owner, const ScanPart& part) const;
  uint64_t PlaceOf(const Part& part) const;

  std::vector<size_t> Members() const;
  storage::TablePartition* SomePart(Owner& owner);
  void Fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }

  const TableMovesFault fault_;
  Random random_;
  std::string error_;
  Coverage coverage_;
  std::shared_ptr<const storage::TableLayout> layout_;
  std::unique_ptr<routing::SnapshotRegistry> registry_;
  std::vector<std::unique_ptr<Owner>> owners_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<std::unique_ptr<Snapshot>> snapshots_;
  std::vector<size_t> members_before_;
  storage::SnapshotView no_snapshots_;  // for faults
  bool inside_turn_ = false;
  bool draining_ = false;  // nothing new begins
  Model model_;
  int64_t next_amount_ = 1;
  uint64_t next_id_ = 1;
};

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_TABLE_MOVES_H_
