// Answers that a turn has executed and must still acknowledge. Executing a write and acknowledging
// it are two steps, so that a log can be written between them. Owned by the AEU.
#ifndef ERIS_AEU_ACKNOWLEDGEMENTS_H_
#define ERIS_AEU_ACKNOWLEDGEMENTS_H_

#include <cstdint>
#include <vector>

#include "base/counter.h"
#include "routing/answers.h"
#include "routing/block_pool.h"
#include "routing/data_command.h"
#include "routing/reply.h"

namespace eris::aeu {

class Acknowledgements {
 public:
  // `answered` counts what is passed to Add.
  explicit Acknowledgements(base::Counter& answered) : answered_(answered) {
    waiting_.reserve(kWaitingMax);
  }

  // `answered` keys or parts of `context` have their answers; 0 only sends a notification.
  void Add(routing::CompletionFunction complete, routing::Reply* context, uint32_t answered) {
    answered_.Add(answered);
    if (!waiting_.empty() && waiting_.back().context == context &&
        waiting_.back().complete == complete) {
      waiting_.back().answered += answered;
      return;
    }
    // Bounded: a turn with more acknowledges several times.
    if (waiting_.size() == kWaitingMax) Send();
    waiting_.push_back({.complete = complete, .context = context, .answered = answered});
  }
  // The same for keys of a keyed command, wherever their answers go.
  void AddKeys(const routing::CommandHeader* command, uint32_t answered) {
    if (command->answers == routing::AnswersTo::kReply) {
      return Add(command->complete, command->context, answered);
    }
    answered_.Add(answered);
    if (command->answers == routing::AnswersTo::kRecord) return;  // AddBlock follows
    routing::Block* const block = *routing::KeyedSegmentOf(routing::HomeOf(command)).block;
    if (!waiting_.empty() && waiting_.back().block == block) {
      waiting_.back().answered += answered;
      return;
    }
    if (waiting_.size() == kWaitingMax) Send();
    waiting_.push_back({.block = block, .answered = answered});
  }
  // All commands of the block, which has come through the ingress, have been executed or sent on.
  void AddBlock(routing::Block* block) {
    block->SetNext(blocks_);
    blocks_ = block;
  }

  // At the end of a turn (or when the list is full): nothing executed so far stays unacknowledged.
  void Send() {
    for (const Waiting& one : waiting_) {
      if (one.block != nullptr) {
        routing::BlockPool::Release(one.block, one.answered);
      } else {
        one.complete(one.context, one.answered);
      }
    }
    waiting_.clear();
    // Oldest first: one sender's answers come home in order.
    routing::Block* oldest = nullptr;
    while (blocks_ != nullptr) {
      routing::Block* const block = blocks_;
      blocks_ = block->next;
      block->SetNext(oldest);
      oldest = block;
    }
    while (oldest != nullptr) {
      routing::Block* const block = oldest;
      oldest = block->next;
      routing::BlockPool::Release(block);
    }
  }

 private:
  static constexpr size_t kWaitingMax = 2048;
  struct Waiting {
    routing::CompletionFunction complete = nullptr;
    routing::Reply* context = nullptr;
    routing::Block* block = nullptr;  // instead: keys answered in another AEU's block
    uint32_t answered = 0;
  };
  std::vector<Waiting> waiting_;
  routing::Block* blocks_ = nullptr;  // newest first
  base::Counter& answered_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_ACKNOWLEDGEMENTS_H_
