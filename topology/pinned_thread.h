// A thread that runs on given cpus from its first instruction, on a stack of their NumaNode. If a
// thread pins itself after its start, its creator has already touched the stack's first page, on
// the creator's NumaNode. That page keeps the thread-local data and the outer frames. Paper: ERIS
// 3.1 (an AEU's data is local).
#ifndef ERIS_TOPOLOGY_PINNED_THREAD_H_
#define ERIS_TOPOLOGY_PINNED_THREAD_H_

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "topology/topology.h"

namespace eris::topology {

class PinnedThread {
 public:
  // Runs `body`. `name`: what the system shows, at most 15 characters. `cpus`: the operating
  // system's numbers; none: anywhere. `numa_node`: where the stack is placed; nullopt: no
  // preference. If the system refuses either, the thread runs without it; see binding_status().
  // Throws std::system_error if the system has no thread or no memory for a stack left.
  PinnedThread(const std::string& name, std::span<const uint32_t> cpus,
               const std::optional<NumaNode>& numa_node, std::function<void()> body);
  ~PinnedThread();  // as Join
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;

  // Blocks until `body` has returned. Idempotent.
  void Join();
  // Whether the system has pinned it.
  const absl::Status& binding_status() const { return binding_status_; }

 private:
  // The system's error number, or 0.
  int Start(std::span<const uint32_t> cpus);
  static void* Run(void* self);

  std::function<void()> body_;
  absl::Status binding_status_;
  std::byte* stack_ = nullptr;
  pthread_t thread_{};
  bool joined_ = false;
};

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_PINNED_THREAD_H_
