// A clustered table whose ranges change hands while scans of several snapshots are under way: the
// real partitions and the real registry of snapshots, AEUs' turns by hand, a seed that decides
// everything, and per snapshot a map of the rows that were there when it was taken.
//
// Each owner reads the registry once a turn and stamps its writes with that epoch; snapshots are
// taken between turns and inside them. A scan goes piece by piece of the key space. What becomes of
// a piece that is being read when its range changes hands, as the partition's promises allow it:
//   link out (SplitAt)    numbers of segments stay: both halves go on from the same place
//   link in (Absorb)      the one that absorbs keeps its places, the other's are gone: it begins
//                         again, and what it has been given of the piece does not count
//   copy (Extract)        the same for what leaves; the rest goes on where it stood
//   copy (Ingest)         places stay; a piece looks at keys of its own range only
#ifndef ERIS_TESTS_SIM_TABLE_MOVES_H_
#define ERIS_TESTS_SIM_TABLE_MOVES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "routing/snapshot_registry.h"
#include "storage/table/segment_mask.h"
#include "storage/table/table_partition.h"
#include "storage/table/table_run.h"
#include "tests/sim/random.h"
#include "tests/unit/storage/storage_fixture.h"
#include "tests/unit/table/table_rows.h"

namespace eris::sim {

// Bugs on purpose, each found within some seeds.
enum class TableMovesFault : uint8_t {
  kNone,
  kPointerCursor,  // a place is a position in the list of segments, which a split cuts
  kKeepPlace,      // a place goes on in the partition that has absorbed its own
  kLeaveVersions,  // a copy takes living rows along and leaves the old ones behind
  kForgetBirths,   // ... and takes them for older than every snapshot
  kStaleRegistry,  // an owner does not ask for new snapshots in a turn
  kEndEarly,       // a snapshot is let go before its scans have ended
};

class TableMoves {
 public:
  struct Coverage {
    uint64_t splits = 0, splits_refused = 0, forks = 0;  // forks: of pieces that were being read
    uint64_t absorbs = 0, restarts = 0;
    uint64_t copies = 0, prepared = 0;
    uint64_t scans = 0, sums = 0, taken_inside_turns = 0;
  };

  TableMoves(uint64_t seed, TableMovesFault fault);
  ~TableMoves();
  // What was wrong; empty: nothing.
  std::string Run(int turns);
  const Coverage& coverage() const { return coverage_; }

 private:
  using Model = std::map<storage::Key, storage::Row>;
  struct Owner {
    storage::TreeMemory memory;
    storage::SnapshotView view;
    routing::SnapshotRegistry::Mark mark;
    std::vector<std::unique_ptr<storage::TablePartition>> parts;
    std::vector<storage::Key> seams;  // where ranges were joined, or prepared to leave
  };
  struct Total {
    uint64_t count = 0;
    int64_t sum = 0;
    friend bool operator==(const Total&, const Total&) = default;
  };
  struct Piece {
    storage::Range range;
    storage::TablePartition* at = nullptr;  // nullptr: not begun
    uint64_t number = 0;
    uint32_t row = 0;
    Model rows{};
    storage::SegmentMask mask{};
    std::unique_ptr<storage::TableRun> run{};  // of sums
    Total total{};
  };
  struct Scan {
    bool adds = false;
    std::vector<Piece> pieces{};
    Model rows{};
    Total total{};
  };
  struct Snapshot {
    routing::SnapshotRegistry::Held held;
    bool complete = false;  // the turn inside which it was taken has ended
    Model rows{};
    std::vector<Scan> scans{};
    bool let_go = false;
  };
  struct Flight {
    storage::ExchangeChunk chunk;
    size_t to;
  };

  void Turn(Owner& owner);
  void Act(Owner& owner);
  void TakeSnapshot();
  void LetGo(Snapshot& snapshot);
  void Write(Owner& owner, bool erase);
  void Split(Owner& owner);
  void Absorb(Owner& owner);
  void Prepare(Owner& owner);
  void Extract(Owner& owner);
  void Ingest(Owner& owner);

  void ReadSome(Owner& owner);
  // False: nothing of the piece is left.
  bool Read(const Owner& owner, uint64_t epoch, Scan& scan, Piece& piece, uint32_t rows_max);
  void BeginRun(Piece& piece);
  void TakeTotal(Piece& piece);
  void EndPiece(Scan& scan, size_t i);
  void EndScan(Snapshot& snapshot, size_t i);
  // Ends `piece` at `key`; what lies behind it, at the same place. What has been added up is of
  // both: where the scan adds, both begin again.
  Piece CutPiece(Piece& piece, const storage::Key& key);
  void Restart(Piece& piece);
  template <class Function>
  void ForPiecesAt(const storage::TablePartition* part, Function function);
  uint64_t PositionOf(const Snapshot& snapshot, const Piece& piece) const;

  storage::TablePartition* PartOf(Owner& owner, const storage::Key& key);
  storage::TablePartition& SomePart(Owner& owner);
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
  std::vector<Flight> flights_;
  std::vector<std::unique_ptr<Snapshot>> snapshots_;
  bool inside_turn_ = false;
  bool draining_ = false;  // ranges stay, and scans come to their ends
  Model model_;
  int64_t next_amount_ = 1;
};

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_TABLE_MOVES_H_
