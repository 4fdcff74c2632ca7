// The load balancer, as an operator or an embedding program sees it: what it is told, what it would
// do, what it does and has done. Plain data. Paper: ERIS 3.3.
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
  kOneShot = 1,        // an equal share of the load for every AEU, at once
  kMovingAverage = 2,  // MA(k): to each the average of its own load and of k neighbours either side
  kSize = 3,           // equally many rows; what heap tables have whatever is chosen
};

// What an option may be; both ends are good.
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
  // Whether loads are looked at every period. What an operator asks for is done either way.
  bool enabled = true;
  BalanceAlgorithm algorithm = BalanceAlgorithm::kOneShot;
  uint32_t window = 1;  // k of kMovingAverage. kBalancerWindow
  // The standard deviation of the AEUs' loads, in units of their mean, from which on ranges are
  // moved. kBalancerThreshold.
  double threshold = 0.25;
  uint32_t period_ms = 1000;  // kBalancerPeriodMs
  // The budget. What one turn of an AEU may spend on a transfer, in CPU time: chunks of copies are
  // made as large as that allows. kBalancerMaxPauseUs.
  uint32_t max_pause_us = 200;
  uint64_t max_bytes_per_s = 0;  // of copies, over the engine; 0: as fast as it goes
};

// One range that would change hands, or does. Of heap tables the range says nothing, `rows` all.
struct PlannedTransfer {
  KeyRange range{};
  AeuId from;
  AeuId to;
  TransferKind kind = TransferKind::kCopy;
  uint64_t rows = 0;   // expected
  uint64_t bytes = 0;  // expected; of a link those that stay where they are
};

struct AeuShare {
  AeuId aeu;
  // Of the object's load, in time spent per second or, of sizes, in rows.
  double load_before = 0;
  double load_after = 0;  // predicted
  uint64_t rows_before = 0;
  uint64_t rows_after = 0;  // predicted
};

// What a balancing cycle would do with an object, were the loads worth it
// (BalancerOptions::threshold).
struct BalancePlan {
  std::string object;
  BalanceAlgorithm algorithm = BalanceAlgorithm::kOneShot;
  double imbalance_before = 0;  // as BalancerOptions::threshold
  double imbalance_after = 0;   // predicted
  std::vector<AeuShare> shares{};
  std::vector<PlannedTransfer> transfers{};  // in the order in which they are made
  uint64_t bytes_to_copy = 0;
  std::string reason{};  // of a plan without transfers: why
};

enum class TransferOutcome : uint8_t {
  kRunning = 0,
  kDone = 1,
  kStopped = 2,  // at the border of a chunk: what had changed hands by then stays there
  kRefused = 3,  // for want of memory or room; as kStopped
};

// What a transfer that runs waits for.
enum class TransferPhase : uint8_t {
  kBetweenSteps = 0,   // max_bytes_per_s, or memory for the next step
  kOtherTransfer = 1,  // the source, which gives a range of another object
  kSource = 2,         // the source, which has still to give the rows
  kTarget = 3,         // the target: they are on their way to it
  kConclusion = 4,     // the source, which has still to hear how the step has ended
};

struct TransferRecord {
  uint64_t id = 0;  // ascending
  std::string object{};
  TransferKind kind = TransferKind::kCopy;
  KeyRange range{};
  AeuId from;
  AeuId to;
  TransferOutcome outcome = TransferOutcome::kRunning;
  std::string reason{};  // of kStopped, kRefused
  uint64_t rows = 0;
  uint64_t bytes = 0;  // copied
  uint64_t chunks = 0;
  absl::Time started;
  int64_t duration_us = 0;
  // What one turn, of the source or of the target, spent on it at most: CPU time of the AEU's
  // thread, and by the clock on the wall.
  uint32_t longest_pause_us = 0;
  uint32_t longest_pause_wall_us = 0;
  // While it runs: what it waits for, and how long ago an AEU has done something for it, or it has
  // begun to wait for one.
  TransferPhase phase = TransferPhase::kBetweenSteps;
  int64_t idle_us = 0;
};

// A transfer that has waited for its AEUs so long has stalled: an AEU that works takes a step
// within some turns.
inline constexpr int64_t kTransferStallUs = 1'000'000;

struct ObjectBalance {
  std::string object;
  BalanceAlgorithm algorithm = BalanceAlgorithm::kOneShot;
  // Of late: the last period counts as much as all before it.
  double imbalance = 0;
  std::vector<double> loads;  // by AeuId; as AeuShare::load_before
  std::string reason{};       // why nothing has been moved; empty: it has, as far as it went
};

struct BalancerStatus {
  BalancerOptions options;
  bool paused = false;
  uint64_t cycles = 0;         // periods that have been looked at
  TransferCounts transfers{};  // done
  uint64_t rows_moved = 0;
  uint64_t bytes_copied = 0;
  std::vector<ObjectBalance> objects{};  // by name; none while not enabled. A pause shows them
  uint64_t stalls = 0;  // how often a transfer has stalled, those that have just now included
  std::vector<TransferRecord> running{};  // the oldest first
};

inline constexpr size_t kTransferHistoryMax = 1024;

}  // namespace eris

#endif  // ERIS_BALANCER_H_
