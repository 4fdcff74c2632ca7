// What all loads of the stress share: the engine, the options, the faults that checkers tell, and
// the figures. A load is one kind of work with an oracle of its own (loads.h); all loads run at
// once on one engine. Any thread.
#ifndef ERIS_TESTS_STRESS_WORLD_H_
#define ERIS_TESTS_STRESS_WORLD_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "eris/engine.h"
#include "tests/support/any_object.h"

namespace eris::stress {

struct StressOptions {
  double seconds = 60;   // 0: until `batches` have been sent
  uint64_t batches = 0;  // of the pipelines and streams together; 0: no bound
  uint64_t seed = 1;
  uint32_t aeus = 4;
  uint32_t sessions = 6;  // of the pipelines: session i works on kind i % 6
  uint32_t streams = 2;   // stream i on kind (seed + i) % 6
  uint64_t memory_mib = 160;
  bool small_buffers = false;
  bool balancer = false;
  double report_seconds = 60;
  uint64_t faults_max = 20;       // the run ends with that many
  std::set<std::string> loads{};  // empty: all of them
};

// What is counted. kWrong and kDoubledWrong are wrong answers of the pipelines and streams: in all
// batches, and in those in which a key occurs more than once.
enum class Figure : uint8_t {
  kBatches,
  kKeys,
  kDoubled,
  kWrong,
  kDoubledWrong,
  kRefused,
  kAdds,
  kTransfers,
  kSnapshots,
  kAborted,
  kNoChunk,
  kFills,
  kFilledRows,
  kLives,
  kVisits,
  kMoves,
  kMovesRefused,
  kCount,
};
inline constexpr std::array<const char*, static_cast<size_t>(Figure::kCount)> kFigureNames = {
    "batches",
    "keys",
    "doubled_batches",
    "out_of_order",
    "doubled_wrong",
    "refused_keys",
    "adds",
    "transfers",
    "snapshots",
    "aborted_snapshots",
    "scans_without_chunk",
    "fills",
    "filled_rows",
    "lives",
    "visits",
    "moves",
    "moves_refused"};

// An object that the mover may move.
struct Movable {
  std::string name;
  bool links = false;
  bool heap = false;  // moved by size alone
};

class World {
 public:
  // Opens the engine. Ends the process where that fails.
  explicit World(const StressOptions& options);

  Engine& engine() { return *engine_; }
  const StressOptions& options() const { return options_; }
  // A load's random numbers: the same for a seed and a name.
  uint64_t SeedOf(const std::string& thread) const;

  // Creates an object with four partitions, cut at the quarters of the key space, and lets the
  // mover move it. Ends the process where that fails.
  void CreateMovable(test::AnyKind kind, const std::string& name);
  const std::vector<Movable>& movables() const { return movables_; }

  // Threads end their work soon after this is true: time is over, enough batches have been sent, or
  // a checker has found too much.
  bool Ending() const;
  void End();
  void Fault(const std::string& what);
  uint64_t faults() const;
  // True for OK and for what a full memory answers; else a fault that names `where`.
  bool OkOrRefused(const absl::Status& status, const std::string& where);
  // Judges a read at a snapshot: true for OK; counts one that was given up, or that found no chunk
  // free (scans that were cancelled hold theirs until their AEUs have let go); anything else is a
  // fault.
  bool ReadOk(const absl::Status& status, const std::string& where);

  void Count(Figure figure, uint64_t by = 1) {
    // relaxed: a figure for people, and for the end of the run, which joins all threads first.
    figures_[static_cast<size_t>(figure)].fetch_add(by, std::memory_order_relaxed);
  }
  uint64_t Get(Figure figure) const {
    return figures_[static_cast<size_t>(figure)].load(std::memory_order_relaxed);
  }

 private:
  // Immutable after construction.
  const StressOptions options_;
  const absl::Time until_;
  std::unique_ptr<Engine> engine_;

  std::vector<Movable> movables_;  // filled before threads start

  // Shared: any thread adds, any thread reads.
  std::array<std::atomic<uint64_t>, static_cast<size_t>(Figure::kCount)> figures_{};
  // relaxed: it ends loops; what threads have done is seen after their join.
  std::atomic<bool> ending_{false};

  mutable base::Mutex mu_;
  uint64_t faults_ ABSL_GUARDED_BY(mu_) = 0;
};

// The key space cut into 16 equal pieces: key i of thread t is in piece i % 16.
inline uint64_t SpreadKey(uint64_t i, uint64_t thread) {
  return (i % 16 << 60) + (i / 16 << 20) + thread;
}

}  // namespace eris::stress

#endif  // ERIS_TESTS_STRESS_WORLD_H_
