// Bugs that a simulation can be given, to show that it finds them. None needs a word in the code
// under test: they act on what is on its way to an AEU, on the hand-over of a range (of which the
// engine's part is the simulation's own), on how a client takes its answers, or on what a turn
// knows at its points (aeu/turn_points.h), between which others move.
//
// What may be wrong with the rule of snapshots (docs/internals/snapshots.md), and what finds it:
//   E read before the cut            kEpochBeforeCut; E_BEFORE_CUT in tests/models/snapshot.pml
//   registry read before E           kRegistryBeforeEpoch; REGISTRY_BEFORE_E in the model
//   a second drain under the old E   kSecondDrain; SECOND_DRAIN in the model
//   registered after the advance     REGISTERED_LATE in the model
//   a slot freed at cancel           kEndSnapshotEarly; FREED_AT_CANCEL in the model
//   a pointer cursor across a split  kPointerCursor; of tables in tests/sim/table_moves.h, too
//   versions left behind by a move   kLeaveVersions; the same
//   versions left behind by a chunk  kLeaveChunkVersions
//   min/max narrowed too early       of tables: tests/unit/table/table_fault_test.cc
#ifndef ERIS_TESTS_SIM_PLANTED_BUG_H_
#define ERIS_TESTS_SIM_PLANTED_BUG_H_

#include <cstdint>

namespace eris::sim {

enum class PlantedBug : uint8_t {
  kNone,
  kInterposed,             // no bug: records are taken out and put back as they were
  kLoseRecord,             // one record of a run is lost
  kDoubleRecord,           // one record of a run comes twice
  kSwapRecords,            // two records of one Port change places
  kAnswerForeignKeys,      // an AEU answers keys that it does not own
  kForwardAndAnswer,       // an AEU passes keys on and answers them, too
  kAcknowledgeEarly,       // a write is acknowledged before it is executed
  kWrongGeneration,        // a command for a dropped object runs on the next one in its slot
  kKeepBlock,              // a block that has been read does not go home
  kLoseRedirect,           // a key that has been redirected is never answered
  kExecuteRedirected,      // a key is redirected and executed
  kAddRedirected,          // an add is redirected and executed: the one sent again counts twice
  kPublishEarly,           // a table is published before the range has been handed over
  kServeAfterHandOver,     // the source of a hand-over goes on serving the range
  kWriteWithoutMemory,     // an upsert refused for want of memory takes effect later
  kSkipScanRow,            // a scan whose part has moved goes on one key too far
  kPointerCursor,          // a scan's place is lost when its range is cut: it goes on behind it
  kLeaveVersions,          // a hand-over leaves the versions of its rows behind
  kEndSnapshotEarly,       // a scan's snapshot ends before its parts have been answered
  kPublishUnacknowledged,  // a table is published before the target has acknowledged its range
  kDropStubEarly,          // the source forgets where the range has gone, before it is installed
  kTwoPublishers,          // a table is derived from an older one than that in force
  kLoseRowsAtSplit,        // a source without memory refuses after it has cut the range off
  kTakeChunkBack,          // a chunk that is installed is taken back, too
  kHandOverBehindKeys,     // a chunk is installed behind the keys that came behind it
  kLeaveChunkVersions,     // a chunk leaves the versions of its rows behind
  kSendPastRefused,        // a client sends on while earlier batches wait to be sent again
  kSendAgainUnsorted,      // a client sends refused batches again in another order
  kTablesMixed,            // a client goes by a newer table while batches by an older are out
  kForgetTakenIn,          // an AEU takes commands of older tables than it took the range in by
  kForgetPrepared,         // what a hash has made ready to leave is forgotten in every turn
  kHandOverLost,           // a range never arrives: its transfer would wait for ever
  kLeaveOtherVersions,     // a chunk of byte strings or two-part keys leaves its versions behind
  kDropEndsOthers,         // an object's drop ends what other objects' transfers have under way
  kSkipBackwardRow,        // a backward scan whose part has moved goes on one key too far
  kSkipResumedRow,         // a scan that goes on behind its limit leaves a key out
  kNarrowFilter,           // a filter leaves its lowest value out
  kLoseCredit,             // a batch that is sent again counts as under way for ever
  kScanPastGate,           // a scan of a table begins in the middle of a step
  kRowsDieLater,         // a chunk's rows die later at the source than they are born at the target
  kTearRow,              // a row of a chunk on its way gets a cell of another value
  kLoseTableRow,         // a row of a table's chunk is lost on its way
  kAppendTwice,          // an append is executed twice
  kAppendInPart,         // an append lacks a row
  kStoreRefusedAppend,   // an append is refused and stored
  kOwnersOnly,           // a scan of a table asks those that own ranges, not all members
  kTakeMovedForWritten,  // rows of a scan into another table that have moved count as written
  kTakeMovedForAbsent,   // keys of a join that have moved count as absent
  kSkipJoinRange,        // a join leaves out the end of a range that has moved to several AEUs
  kTakeGivenUp,          // a scan whose snapshot was given up counts as answered
  kAddTwice,             // an aggregate's part that has moved is added up again
  kForgetSnapshot,       // an AEU gives a snapshot up and tells nobody: its scans go on
  kEpochBeforeCut,       // a turn reads epoch and registry before it cuts its sources
  kRegistryBeforeEpoch,  // a turn reads the held snapshots before the epoch
  kSecondDrain,          // a turn drains its sources twice under one epoch
  kCount,
};

inline constexpr const char* kPlantedBugNames[] = {"none",
                                                   "interposed",
                                                   "lose-record",
                                                   "double-record",
                                                   "swap-records",
                                                   "answer-foreign-keys",
                                                   "forward-and-answer",
                                                   "acknowledge-early",
                                                   "wrong-generation",
                                                   "keep-block",
                                                   "lose-redirect",
                                                   "execute-redirected",
                                                   "add-redirected",
                                                   "publish-early",
                                                   "serve-after-hand-over",
                                                   "write-without-memory",
                                                   "skip-scan-row",
                                                   "pointer-cursor",
                                                   "leave-versions",
                                                   "end-snapshot-early",
                                                   "publish-unacknowledged",
                                                   "drop-stub-early",
                                                   "two-publishers",
                                                   "lose-rows-at-split",
                                                   "take-chunk-back",
                                                   "hand-over-behind-keys",
                                                   "leave-chunk-versions",
                                                   "send-past-refused",
                                                   "send-again-unsorted",
                                                   "tables-mixed",
                                                   "forget-taken-in",
                                                   "forget-prepared",
                                                   "hand-over-lost",
                                                   "leave-other-versions",
                                                   "drop-ends-others",
                                                   "skip-backward-row",
                                                   "skip-resumed-row",
                                                   "narrow-filter",
                                                   "lose-credit",
                                                   "scan-past-gate",
                                                   "rows-die-later",
                                                   "tear-row",
                                                   "lose-table-row",
                                                   "append-twice",
                                                   "append-in-part",
                                                   "store-refused-append",
                                                   "owners-only",
                                                   "take-moved-for-written",
                                                   "take-moved-for-absent",
                                                   "skip-join-range",
                                                   "take-given-up",
                                                   "add-twice",
                                                   "forget-snapshot",
                                                   "epoch-before-cut",
                                                   "registry-before-epoch",
                                                   "second-drain"};
static_assert(sizeof kPlantedBugNames / sizeof *kPlantedBugNames ==
              static_cast<size_t>(PlantedBug::kCount));

// These act on the records that wait for an AEU's turn: the records are taken out, changed and put
// back. For every other bug the records stay where they are.
constexpr bool ActsOnRecords(PlantedBug bug) {
  switch (bug) {
    case PlantedBug::kInterposed:
    case PlantedBug::kLoseRecord:
    case PlantedBug::kDoubleRecord:
    case PlantedBug::kSwapRecords:
    case PlantedBug::kAnswerForeignKeys:
    case PlantedBug::kForwardAndAnswer:
    case PlantedBug::kAcknowledgeEarly:
    case PlantedBug::kWrongGeneration:
    case PlantedBug::kKeepBlock:
    case PlantedBug::kPublishEarly:
    case PlantedBug::kPublishUnacknowledged:
    case PlantedBug::kHandOverBehindKeys:
    case PlantedBug::kLeaveChunkVersions:
    case PlantedBug::kHandOverLost:
    case PlantedBug::kLeaveOtherVersions:
    case PlantedBug::kRowsDieLater:
    case PlantedBug::kTearRow:
    case PlantedBug::kLoseTableRow:
    case PlantedBug::kAppendTwice:
    case PlantedBug::kAppendInPart:
    case PlantedBug::kStoreRefusedAppend:
      return true;
    default:
      return false;
  }
}

// Bugs in the order of a turn's steps: they show only if other AEUs run inside the turn.
constexpr bool IsOfTurn(PlantedBug bug) {
  return bug >= PlantedBug::kEpochBeforeCut && bug < PlantedBug::kCount;
}

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_PLANTED_BUG_H_
