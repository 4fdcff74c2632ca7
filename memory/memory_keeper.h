// The background thread of a MemorySystem: prepares superblocks where many are taken, and releases
// memory that has not been used for a while. Sleeps without a timer while no pool has work for it.
// Papers: allocators for query processing, 5.4; locality-aware scheduling in Bobox, 5.2.
#ifndef ERIS_MEMORY_MEMORY_KEEPER_H_
#define ERIS_MEMORY_MEMORY_KEEPER_H_

#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "memory/numa_node_pool.h"

namespace eris::memory {

class MemoryKeeper final : public PoolKeeper {
 public:
  // `pools` outlive it. A pool's decay is counted in ticks.
  MemoryKeeper(std::vector<NumaNodePool*> pools, absl::Duration tick);
  ~MemoryKeeper();  // pools continue without it
  MemoryKeeper(const MemoryKeeper&) = delete;
  MemoryKeeper& operator=(const MemoryKeeper&) = delete;

  void Wake(bool now) override;

 private:
  void Run();

  // Immutable after construction.
  const std::vector<NumaNodePool*> pools_;
  const absl::Duration tick_;

  // Guarded by mu_.
  base::Mutex mu_;
  base::CondVar woken_cv_;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  bool ticking_ ABSL_GUARDED_BY(mu_) = false;  // it will check again without being woken
  bool stop_ ABSL_GUARDED_BY(mu_) = false;

  std::thread thread_;  // last: it uses everything above
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_MEMORY_KEEPER_H_
