// Bugs that a simulation can be given, to show that it finds them. None needs a word in the code
// under test: they act on what is on its way to an AEU, on the hand-over of a range (which is the
// simulation's own), or on how a client takes its answers.
#ifndef ERIS_TESTS_SIM_PLANTED_BUG_H_
#define ERIS_TESTS_SIM_PLANTED_BUG_H_

#include <cstdint>

namespace eris::sim {

enum class PlantedBug : uint8_t {
  kNone,
  kInterposed,          // no bug: records are taken out and put back as they were
  kLoseRecord,          // one record of a run is lost
  kDoubleRecord,        // one record of a run comes twice
  kSwapRecords,         // two records of one Port change places
  kAnswerForeignKeys,   // an AEU answers keys that it does not own
  kForwardAndAnswer,    // an AEU passes keys on and answers them, too
  kAcknowledgeEarly,    // a write is acknowledged before it is executed
  kWrongGeneration,     // a command for a dropped object runs on the next one in its slot
  kKeepBlock,           // a block that has been read does not go home
  kLoseRedirect,        // a key that has been redirected is never answered
  kExecuteRedirected,   // a key is redirected and executed
  kAddRedirected,       // an add is redirected and executed: the one sent again counts twice
  kPublishEarly,        // a table is published before the range has been handed over
  kServeAfterHandOver,  // the source of a hand-over goes on serving the range
  kWriteWithoutMemory,  // an upsert refused for want of memory takes effect later
  kSkipScanRow,         // a scan whose part has moved goes on one key too far
  kPointerCursor,       // a scan's place is lost when its range is cut: it goes on behind it
  kLeaveVersions,       // a hand-over leaves the versions of its rows behind
  kEndSnapshotEarly,    // a scan's snapshot ends before its parts have been answered
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
                                                   "end-snapshot-early"};
static_assert(sizeof kPlantedBugNames / sizeof *kPlantedBugNames ==
              static_cast<size_t>(PlantedBug::kCount));

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_PLANTED_BUG_H_
