// The end of a query: its AEUs free what they have of it, and then the rest goes. Has the parts of
// the query from its beginning on, so that the end needs no memory. Not from the papers.
#ifndef ERIS_ENGINE_QUERY_QUERY_END_H_
#define ERIS_ENGINE_QUERY_QUERY_END_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "engine/completion/completion_queue.h"
#include "engine/core/core.h"
#include "eris/types.h"
#include "routing/stage_part.h"
#include "storage/query/query_part.h"
#include "storage/query/stage.h"

namespace eris::engine {

class QueryEnd final : public CompletionTask {
 public:
  // For a query with at most `sets` sets. nullptr: no memory. Throws std::bad_alloc.
  static std::unique_ptr<QueryEnd> Create(Core& core, SessionNode& node, uint32_t sets);

  storage::QueryParts& parts() { return *parts_.front(); }
  // No stage is under way, and nobody reads rows of the query any more. `end` ends by itself. Any
  // thread; does not block, and needs no memory.
  static void Begin(std::unique_ptr<QueryEnd> end) noexcept;

 private:
  struct Part final : routing::StagePart {
    QueryEnd* end = nullptr;
  };

  QueryEnd(Core& core, SessionNode& node) : core_(core), node_(node) {}
  static void Answered(routing::Reply* reply, uint32_t answered) noexcept;
  // Begins; tells those AEUs that had no room or no memory before; or, if all have freed what they
  // have, deletes itself. On the thread of resends, which may wait for room.
  void Complete() override;
  // Sends to the AEUs that have not been told; those without room are told later.
  void Send();
  // All have answered.
  void EndOrTellAgain();

  Core& core_;
  SessionNode& node_;
  std::list<std::unique_ptr<storage::QueryParts>> parts_;  // one: handed over without memory
  const storage::Stage stage_{{storage::LeaveTask{}}};
  std::deque<Part> stage_parts_;  // by AeuId
  std::vector<routing::StagePart*> part_list_;
  std::vector<AeuId> to_tell_;
  std::vector<AeuId> refused_;
  bool sending_ = false;  // left_ counts the sender

  // Shared: counted down by AEUs. One more for the sender.
  std::atomic<uint32_t> left_{0};
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_QUERY_END_H_
