// What a turn has executed and has still to acknowledge. Executing a write and acknowledging it are
// two steps: a log can be written between them. Owned by the AEU.
#ifndef ERIS_AEU_ACKNOWLEDGEMENTS_H_
#define ERIS_AEU_ACKNOWLEDGEMENTS_H_

#include <cstdint>
#include <vector>

#include "base/counter.h"
#include "routing/data_command.h"
#include "routing/reply.h"

namespace eris::aeu {

class Acknowledgements {
 public:
  // `answered` counts what Add is told.
  explicit Acknowledgements(base::Counter& answered) : answered_(answered) {
    waiting_.reserve(kWaitingMax);
  }

  // `answered` keys or parts of `context` have their answers; 0 only notifies.
  void Add(routing::CompletionFunction complete, routing::Reply* context, uint32_t answered) {
    answered_.Add(answered);
    if (!waiting_.empty() && waiting_.back().context == context &&
        waiting_.back().complete == complete) {
      waiting_.back().answered += answered;
      return;
    }
    // Bounded: a turn with more acknowledges in several goes.
    if (waiting_.size() == kWaitingMax) Send();
    waiting_.push_back({complete, context, answered});
  }

  // The end of a turn (or of a full list): nothing executed so far stays unacknowledged.
  void Send() {
    for (const Waiting& one : waiting_) one.complete(one.context, one.answered);
    waiting_.clear();
  }

 private:
  static constexpr size_t kWaitingMax = 2048;
  struct Waiting {
    routing::CompletionFunction complete;
    routing::Reply* context;
    uint32_t answered;
  };
  std::vector<Waiting> waiting_;
  base::Counter& answered_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_ACKNOWLEDGEMENTS_H_
