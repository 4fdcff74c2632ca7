// The load balancer, as an operator or an embedding program sees it: its options, its plans, its
// state and its history. Plain data. Paper: ERIS 3.3.
#ifndef ERIS_BALANCER_H_
#define ERIS_BALANCER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "eris/transfer_kind.h"
#include "eris/types.h"

namespace eris {

enum class BalanceAlgorithm : uint8_t {
  kOneShot = 1,  // an equal share of the load for every AEU, at once
  // MA(k): each AEU gets the average of its own load and of k neighbours on either side
  kMovingAverage = 2,
  kSize = 3,  // equally many rows; heap tables always use it
};

// The limits of an option, both included.
template <class Number>
struct BalancerLimits {
  Number min;
  Number max;
  constexpr bool Hold(Number value) const { return value >= min && value <= max; }  // no NaN
};
inline constexpr BalancerLimits<uint32_t> kBalancerWindow = {1, 65'536};
inline constexpr BalancerLimits<double> kBalancerThreshold = {0.01, 100};
inline constexpr BalancerLimits<uint32_t> kBalancerPeriodMs = {10, 3'600'000};
inline constexpr BalancerLimits<uint32_t> kBalancerMaxPauseUs = {10, 1'000'000};

struct BalancerOptions {
  // Whether loads are checked every period. Moves that an operator asks for are made either way.
  bool enabled = true;
  BalanceAlgorithm algorithm = BalanceAlgorithm::kOneShot;
  uint32_t window = 1;  // k of kMovingAverage. kBalancerWindow
  // Ranges are moved if the standard deviation of the AEUs' loads, divided by their mean, is at
  // least this. kBalancerThreshold.
  double threshold = 0.25;
  uint32_t period_ms = 1000;  // kBalancerPeriodMs
  // The CPU time that one turn of an AEU may spend on a transfer. It determines how large the
  // chunks of a copy are. kBalancerMaxPauseUs.
  uint32_t max_pause_us = 200;
  // Limits copies, and memory that follows leaps, over the engine. 0: no limit.
  uint64_t max_bytes_per_s = 0;
};

// One range that would change hands, or does. For heap tables only `rows` is used, not the range.
struct PlannedTransfer {
  std::string object{};  // the plan's, or one beside it (CreateOptions::beside)
  KeyRange range{};
  AeuId from;
  AeuId to;
  TransferKind kind = TransferKind::kCopy;
  uint64_t rows = 0;  // expected
  // Expected; for a link those that stay where they are, for a leap those that follow.
  uint64_t bytes = 0;
};

struct AeuShare {
  AeuId aeu;
  // Loads of the object: time spent per second, or rows if the algorithm is kSize.
  double load_before = 0;
  double load_after = 0;  // predicted
  uint64_t rows_before = 0;
  uint64_t rows_after = 0;  // predicted
};

// What a balancing cycle would do with an object if the imbalance reached
// BalancerOptions::threshold. For objects beside each other: with all of them together, and loads,
// rows and bytes are those of all.
struct BalancePlan {
  std::string object;
  BalanceAlgorithm algorithm = BalanceAlgorithm::kOneShot;
  double imbalance_before = 0;  // as BalancerOptions::threshold
  double imbalance_after = 0;   // predicted
  std::vector<AeuShare> shares{};
  std::vector<PlannedTransfer> transfers{};  // in the order in which they are made
  uint64_t bytes_to_copy = 0;
  // What is expected to follow leaps with its pages, and block by block.
  uint64_t bytes_to_remap = 0;
  uint64_t bytes_to_move = 0;
  std::string reason{};  // why there are no transfers, or only those of objects beside it
};

enum class TransferOutcome : uint8_t {
  kRunning = 0,
  kDone = 1,
  kStopped = 2,  // at a chunk boundary; what had moved before stays moved
  kRefused = 3,  // no memory or no room; otherwise as kStopped
};

// What a running transfer waits for.
enum class TransferPhase : uint8_t {
  kBetweenSteps = 0,   // max_bytes_per_s, or memory for the next step
  kOtherTransfer = 1,  // the source, which is moving a range of another object
  kSource = 2,         // the source, which still has to give the rows
  kTarget = 3,         // the target: the rows are on their way to it
  kConclusion = 4,     // the source, which still has to hear how the step ended
};

// Whether the memory of a range that has changed hands is on the NumaNode of its new owner.
enum class MemoryFollows : uint8_t {
  kNothing = 0,   // it was there, or has been copied; or the object has been dropped
  kUnderWay = 1,  // the owner is bringing it there
  kHome = 2,      // it has arrived, or has gone on with its range
  kStays = 3,     // some is elsewhere: the NumaNode has no memory for it
};

struct TransferRecord {
  uint64_t id = 0;  // ascending
  std::string object{};
  TransferKind kind = TransferKind::kCopy;
  KeyRange range{};
  AeuId from;
  AeuId to;
  TransferOutcome outcome = TransferOutcome::kRunning;
  std::string reason{};  // if kStopped or kRefused
  uint64_t rows = 0;
  uint64_t bytes = 0;  // copied
  uint64_t chunks = 0;
  absl::Time started;
  int64_t duration_us = 0;
  // The most that one turn of the source or of the target spent on it: CPU time of the AEU's
  // thread, and wall-clock time.
  uint32_t longest_pause_us = 0;
  uint32_t longest_pause_wall_us = 0;
  // While it runs: what it waits for, and the time since an AEU last worked on it or since the wait
  // began.
  TransferPhase phase = TransferPhase::kBetweenSteps;
  int64_t idle_us = 0;
  // What follows the transfer, unless kNothing: the time from its beginning until the memory was at
  // home, or until now; what the new owner has brought of the object meanwhile, and how much of it
  // by remapping pages; and the most CPU time that a turn spent on it.
  MemoryFollows home = MemoryFollows::kNothing;
  int64_t home_us = 0;
  uint64_t home_bytes = 0;
  uint64_t home_bytes_remapped = 0;
  uint32_t home_longest_pause_us = 0;
};

// A transfer that has waited this long for its AEUs has stalled: a working AEU takes a step within
// a few turns.
inline constexpr int64_t kTransferStallUs = 1'000'000;

struct ObjectBalance {
  std::string object;  // if others lie beside it, the figures are those of all together
  BalanceAlgorithm algorithm = BalanceAlgorithm::kOneShot;
  // A moving average: the last period weighs as much as all earlier ones together.
  double imbalance = 0;
  std::vector<double> loads;  // by AeuId; as AeuShare::load_before
  std::string reason{};       // why nothing was moved; empty: ranges were moved
};

struct BalancerStatus {
  BalancerOptions options;
  bool paused = false;
  uint64_t cycles = 0;         // periods that have been looked at
  TransferCounts transfers{};  // done
  uint64_t rows_moved = 0;
  uint64_t bytes_copied = 0;
  // by name; empty while not enabled, but still filled while paused
  std::vector<ObjectBalance> objects{};
  uint64_t stalls = 0;  // how often a transfer has stalled, including those stalled now
  std::vector<TransferRecord> running{};  // the oldest first
};

inline constexpr size_t kTransferHistoryMax = 1024;

// A piece of an object's key space whose keys have about the same load each.
struct HotRange {
  KeyRange range{};
  AeuId owner;
  double load = 0;  // time spent per second
};

// Where an object's load is, as the balancer sees it. Loads are averages of the recent periods,
// newer ones counting more, and expected to last: a load that moves in key order is not contained.
struct HotRanges {
  double load = 0;                  // of all partitions
  std::vector<HotRange> hottest{};  // the most load first; none for heap tables
  // The partitions in key order, a column each: for a heap table one for each AEU, without starts.
  std::vector<uint64_t> starts{};
  std::vector<AeuId> owners{};
  std::vector<double> loads{};  // time spent per second
  std::vector<uint64_t> rows{};
};

inline constexpr uint32_t kHotRangesDefault = 16;
inline constexpr uint32_t kHotRangesMax = 1024;

}  // namespace eris

#endif  // ERIS_BALANCER_H_
