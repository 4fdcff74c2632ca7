// What the sessions of one NumaNode share: their completion thread, which runs on its cpus, and
// their count of running operations. So what a request writes outside its session is written by
// threads of one NumaNode. Paper: ERIS 3.1 (local data).
#ifndef ERIS_ENGINE_COMPLETION_SESSION_NODES_H_
#define ERIS_ENGINE_COMPLETION_SESSION_NODES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "engine/completion/answer_point.h"
#include "engine/completion/completion_queue.h"
#include "engine/completion/completion_queues.h"
#include "engine/completion/in_flight.h"
#include "eris/types.h"
#include "routing/answers.h"
#include "topology/topology.h"

namespace eris::engine {

struct SessionNode {
  SessionNode(NumaNodeId node, CompletionQueue& queue, InFlight::Lane& lane)
      : numa_node(node), completions(queue), in_flight(lane), points(queue) {}

  const NumaNodeId numa_node;
  CompletionQueue& completions;
  InFlight::Lane& in_flight;
  AnswerPoints points;
};

// One for each NumaNode that has cores and memory. A thread on cores without memory belongs to the
// NumaNode that its memory comes from.
class SessionNodes final : public routing::AnswerCollector {
 public:
  // Starts the completion threads; `pinned`: each on the cpus of its NumaNode. The arguments
  // outlive it. Throws std::bad_alloc, and std::system_error if there is no thread left.
  SessionNodes(const topology::Topology& topology, InFlight& in_flight, bool pinned);
  ~SessionNodes() { Stop(); }  // tasks use the answer points
  SessionNodes(const SessionNodes&) = delete;
  SessionNodes& operator=(const SessionNodes&) = delete;

  // That of the cpu on which this thread is running. With a synthetic topology, which has no real
  // cpus, they take turns.
  SessionNode& Here();
  // The NumaNode's own, or that of the nearest one. REQUIRES: the topology has it.
  SessionNode& NearestTo(NumaNodeId numa_node);

  // See AnswerCollector; for all sessions.
  void CollectAll() noexcept override;
  // See CompletionQueues.
  void Defer() { queues_.Defer(); }
  void RunDeferred() noexcept { queues_.RunDeferred(); }
  void GiveDeferred() { queues_.GiveDeferred(); }
  void Stop() { queues_.Stop(); }
  bool OnCompletionThread() const { return queues_.OnCompletionThread(); }
  absl::Status binding_status() const { return queues_.binding_status(); }

 private:
  // Immutable after construction.
  const topology::Topology& topology_;
  std::vector<uint32_t> node_of_cpu_;  // index into nodes_; kNone: not of the topology
  static constexpr uint32_t kNone = UINT32_MAX;

  CompletionQueues queues_;
  std::vector<std::unique_ptr<SessionNode>> nodes_;
  std::atomic<uint32_t> turn_{0};  // relaxed: any number will do
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_COMPLETION_SESSION_NODES_H_
