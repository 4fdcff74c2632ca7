#include "engine/query/query_end.h"

#include <algorithm>
#include <span>

#include "engine/completion/session_nodes.h"
#include "routing/data_command.h"
#include "storage/query/stage_tasks.h"

namespace eris::engine {

std::unique_ptr<QueryEnd> QueryEnd::Create(Core& core, SessionNode& node, uint32_t sets) {
  std::unique_ptr<QueryEnd> end(new QueryEnd(core, node));
  end->parts_.push_back(std::make_unique<storage::QueryParts>());
  storage::QueryParts& parts = end->parts();
  parts.memory = core.query_memory.get();
  parts.columns.resize(sets);
  const auto aeus = static_cast<uint32_t>(core.aeu_numa_nodes.size());
  for (uint32_t aeu = 0; aeu < aeus; ++aeu) {
    memory::MemoryManager& manager =
        core.query_memories.ManagerOn(*core.memory, core.aeu_numa_nodes[aeu]);
    parts.parts.push_back(std::make_unique<storage::QueryPart>(parts, aeu, manager, sets));
    const auto first =
        std::find(core.aeu_numa_nodes.begin(), core.aeu_numa_nodes.end(), core.aeu_numa_nodes[aeu]);
    parts.filter_makers.push_back(static_cast<uint32_t>(first - core.aeu_numa_nodes.begin()));
    Part& part = end->stage_parts_.emplace_back();
    part.owner = AeuId{aeu};
    part.part = parts.parts.back().get();
    part.stage = &end->stage_;
    part.to_the_end = true;
    part.end = end.get();
    end->part_list_.push_back(&part);
  }
  end->to_tell_.reserve(aeus);
  end->refused_.reserve(aeus);
  parts.engine_memory = std::make_unique<memory::MemoryManager>(
      kQueryMemory, core.memory->pool(node.numa_node), core.memory->spill(node.numa_node));
  memory::LocalCache* const cache = parts.engine_memory->NewCache();
  if (cache == nullptr) return nullptr;
  parts.parts.push_back(
      std::make_unique<storage::QueryPart>(parts, aeus, *parts.engine_memory, sets));
  parts.parts.back()->Enter(*cache);
  return end;
}

void QueryEnd::Begin(std::unique_ptr<QueryEnd> end) noexcept {
  end->parts().stage_tasks.reset();
  const auto& parts = end->parts().parts;
  for (uint32_t aeu = 0; aeu < end->stage_parts_.size(); ++aeu) {
    if (parts[aeu]->entered()) end->to_tell_.push_back(AeuId{aeu});
  }
  if (end->to_tell_.empty()) return;
  if (!end->node_.in_flight.TryEnter()) {  // the engine is closing
    end->core_.query_memories.KeepToTheEnd(end->parts_);
    return;
  }
  Resends& resends = end->core_.resends;
  resends.Push(end.release());
}

void QueryEnd::Complete() {
  if (!to_tell_.empty()) {
    Send();
  } else {
    EndOrTellAgain();
  }
}

void QueryEnd::Send() {
  // One more for this thread, until all have been told. relaxed: the buffers that carry the
  // commands publish it.
  left_.fetch_add(static_cast<uint32_t>(to_tell_.size()) + (sending_ ? 0 : 1),
                  std::memory_order_relaxed);
  sending_ = true;
  const routing::StageSegment segment{part_list_.data(), part_list_.size()};
  const routing::CommandHeader header{.type = routing::CommandType::kStage,
                                      .object = kQueryMemory,
                                      .complete = &QueryEnd::Answered,
                                      .count = 1};
  refused_.clear();
  core_.control->Multicast(to_tell_, header, std::as_bytes(std::span(&segment, 1)), refused_);
  to_tell_.swap(refused_);
  // acq_rel: the last one sees what the others have freed.
  const auto untold = static_cast<uint32_t>(to_tell_.size());
  if (untold > 0) {
    left_.fetch_sub(untold, std::memory_order_acq_rel);
    core_.resends.Later(this);
    return;
  }
  sending_ = false;
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) EndOrTellAgain();
}

void QueryEnd::Answered(routing::Reply* reply, uint32_t answered) noexcept {
  QueryEnd* const end = static_cast<Part*>(reply)->end;
  // acq_rel, as above.
  if (end->left_.fetch_sub(answered, std::memory_order_acq_rel) != answered) return;
  end->core_.resends.Push(end);
}

void QueryEnd::EndOrTellAgain() {
  // An AEU that had no memory to begin still has all that it had.
  for (Part& part : stage_parts_) {
    if (part.status().ok()) continue;
    part.Finish(absl::OkStatus());
    to_tell_.push_back(part.owner);
  }
  if (!to_tell_.empty()) {
    core_.resends.Later(this);
    return;
  }
  InFlight::Lane& in_flight = node_.in_flight;
  delete this;
  in_flight.Leave();
}

}  // namespace eris::engine
