// Answers that a turn has executed and must still acknowledge. Executing a write and acknowledging
// it are two steps, so that a log can be written between them. Owned by the AEU.
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
    waiting_.push_back({complete, context, answered});
  }

  // At the end of a turn (or when the list is full): nothing executed so far stays unacknowledged.
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
