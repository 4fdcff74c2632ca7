// How often a simulation came to the places that it is meant to try: a fault that never happens is
// noticed by its count.
#ifndef ERIS_TESTS_SIM_COVERAGE_H_
#define ERIS_TESTS_SIM_COVERAGE_H_

#include <array>
#include <cstdint>
#include <string>

namespace eris::sim {

enum class Event : uint8_t {
  kSteps,
  kKeysExecuted,
  kKeysForwarded,
  kKeysRedirected,  // states kMoved
  kKeysRefused,     // states kRefused: no block free at the client's Port
  kKeysNoMemory,
  kKeysNoObject,
  kKeysCancelled,
  kBatches,
  kBatchesBehind,  // others of the client on the same object, which are under way: as in a stream
  kBatchesSentAgain,
  kBatchesHeld,     // behind others that are to be sent again
  kBatchesHeldOn,   // although all answers are in
  kHomesCollected,  // with answers in blocks
  kDuplicateKeys,   // of one batch
  kCancels,
  kPortDeaths,
  kPortDeathsBuffered,     // with commands that are not sent over
  kPortDeathsOutstanding,  // with requests that are not answered
  kPauses,
  kAeuFlushesFailed,  // a turn that left commands buffered
  kMoves,
  kMovesBeforePublication,  // of a range whose last move was not published
  kMovesBack,               // to the AEU that had the range before
  kPublications,
  kViewsRefreshed,
  kSplits,
  kMerges,
  kEmptyRanges,
  kObjectsCreated,
  kObjectsDropped,
  kControlRefused,
  kMulticasts,
  kAllocationFaults,
  kScans,
  kSnapshotScans,
  kBackwardScans,
  kFilteredScans,
  kScansResumed,  // behind their limits
  kScansCancelled,
  kScanRows,
  kScanParts,
  kScanPartsMoved,
  kScanPartsNoObject,
  kScanPartsRefused,
  kJoins,
  kJoinsAnswered,
  kJoinRows,
  kJoinMatches,
  kJoinRowsSentAgain,
  kJoinPartsMoved,
  kTableScans,
  kTableRows,
  kTableSums,     // and then the rows, at the same snapshot
  kScansAtGates,  // of tables, that had to wait for a step
  kScansInto,     // other tables
  kRowsInto,
  kRowsIntoSentAgain,
  kAppends,  // pieces
  kAppendsRefused,
  kAggregates,  // of indexes, and then the rows, at the same snapshot
  kGivenUpForMemory,
  kGivenUpForAge,
  kGivenUpInTransfers,  // of the object that is scanned
  kMovesInsideTurns,
  kTransfers,
  kTransfersBack,
  kLinks,         // installed
  kLeaps,         // installed
  kCopies,        // chunks of them, installed
  kStepsOfBytes,  // of all, installed
  kStepsOfTwoParts,
  kStepsOfHashes,
  kStepsOfTables,
  kStepsOfHeaps,  // with any rows
  kSegmentSteps,  // of heap tables: links and leaps
  kReleases,      // of what a hash has made ready
  kStepsRefused,
  kStepsReturned,
  kTransfersStopped,
  kStepsGivenUp,          // by the source, which was asked to
  kDropsInTransfers,      // of the object that moves: at once
  kDropsBehindTransfers,  // ... when no step is under way any more
  kForwardsBesideStubs,   // by AEUs that have one
  kScansWaiting,          // turns that left a scan waiting for a conclusion
  kCount,
};

inline constexpr const char* kEventNames[] = {"steps",
                                              "keys executed",
                                              "keys forwarded",
                                              "keys redirected",
                                              "keys refused",
                                              "keys without memory",
                                              "keys without object",
                                              "keys cancelled",
                                              "batches",
                                              "batches behind others",
                                              "batches sent again",
                                              "batches held",
                                              "batches held on",
                                              "blocks collected at home",
                                              "keys twice in a batch",
                                              "requests cancelled",
                                              "Ports dead",
                                              "Ports dead with commands buffered",
                                              "Ports dead with requests out",
                                              "AEUs paused",
                                              "AEU flushes failed",
                                              "ranges moved",
                                              "ranges moved again before publication",
                                              "ranges moved back",
                                              "tables published",
                                              "views refreshed",
                                              "ranges split",
                                              "ranges merged",
                                              "empty ranges",
                                              "objects created",
                                              "objects dropped",
                                              "control commands refused",
                                              "multicasts",
                                              "allocation faults",
                                              "scans",
                                              "scans at a snapshot",
                                              "backward scans",
                                              "filtered scans",
                                              "scans resumed",
                                              "scans cancelled",
                                              "scan rows",
                                              "scan parts",
                                              "scan parts moved",
                                              "scan parts without object",
                                              "scan parts refused",
                                              "joins",
                                              "joins answered",
                                              "join rows",
                                              "join matches",
                                              "join rows sent again",
                                              "join parts moved",
                                              "table scans",
                                              "table rows",
                                              "tables added up",
                                              "table scans waiting at gates",
                                              "scans into others",
                                              "rows into others",
                                              "rows into others sent again",
                                              "appends",
                                              "appends refused",
                                              "aggregates",
                                              "snapshots given up for memory",
                                              "snapshots given up for age",
                                              "snapshots given up in transfers",
                                              "moves inside turns",
                                              "transfers",
                                              "transfers back",
                                              "links",
                                              "leaps",
                                              "chunks of copies",
                                              "steps of byte strings",
                                              "steps of two-part keys",
                                              "chunks of hashes",
                                              "chunks of tables",
                                              "chunks of heap tables",
                                              "steps of heap segments",
                                              "hashes released",
                                              "steps refused",
                                              "steps returned",
                                              "transfers stopped",
                                              "steps given up",
                                              "drops in transfers",
                                              "drops behind transfers",
                                              "keys forwarded beside stubs",
                                              "scans waiting at stubs"};
static_assert(sizeof kEventNames / sizeof *kEventNames == static_cast<size_t>(Event::kCount));

class Coverage {
 public:
  void Add(Event event, uint64_t times = 1) { counts_[static_cast<size_t>(event)] += times; }
  uint64_t operator[](Event event) const { return counts_[static_cast<size_t>(event)]; }
  void Add(const Coverage& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }
  std::string Text() const {
    std::string text;
    for (size_t i = 0; i < counts_.size(); ++i) {
      text += "  " + std::string(kEventNames[i]) + ": " + std::to_string(counts_[i]) + "\n";
    }
    return text;
  }

 private:
  std::array<uint64_t, static_cast<size_t>(Event::kCount)> counts_{};
};

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_COVERAGE_H_
