// Envelopes that an AEU has filled for others: a chain for each target. The filler adds to them
// during a stage; in the next one each target takes its own chain, and nothing else. What nobody
// has taken the filler frees. Between the two is the end of a stage, which publishes them. Not from
// the papers.
#ifndef ERIS_STORAGE_QUERY_OUTGOING_ENVELOPES_H_
#define ERIS_STORAGE_QUERY_OUTGOING_ENVELOPES_H_

#include <algorithm>
#include <cstdint>

#include "storage/query/rows/envelope.h"
#include "storage/query/rows/query_memory.h"

namespace eris::storage {

class OutgoingEnvelopes {
 public:
  // `memory`: of the filler; outlives it.
  explicit OutgoingEnvelopes(QueryMemory& memory) : memory_(memory), chains_(memory) {}
  ~OutgoingEnvelopes() {
    while (FreeOne()) {
    }
  }

  // Before the first Add. False: no memory.
  [[nodiscard]] bool Prepare(uint32_t targets) {
    if (!chains_.Reserve(targets)) return false;
    std::fill_n(chains_.data(), targets, nullptr);
    targets_ = targets;
    return true;
  }
  // REQUIRES: target < targets; the envelope is sealed.
  void Add(uint32_t target, Envelope* envelope) {
    envelope->SetNext(chains_[target]);
    chains_[target] = envelope;
  }
  // The first one of a target's chain, which then is the target's; nullptr: there is none. By the
  // target's thread.
  Envelope* First(uint32_t target) const { return target < targets_ ? chains_[target] : nullptr; }
  // The target has taken that one; `next` was behind it.
  void Taken(uint32_t target, Envelope* next) { chains_[target] = next; }
  // The filler frees one of those that nobody has taken. False: there is none.
  bool FreeOne() {
    while (targets_ > 0 && chains_[targets_ - 1] == nullptr) --targets_;
    if (targets_ == 0) return false;
    Envelope* const first = chains_[targets_ - 1];
    chains_[targets_ - 1] = first->next();
    Envelope::Free(first, memory_);
    return true;
  }

 private:
  QueryMemory& memory_;
  QueryArray<Envelope*> chains_;  // by target
  uint32_t targets_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_OUTGOING_ENVELOPES_H_
