#include "engine/join_registry.h"

#include "engine/join_state.h"

namespace eris::engine {

void JoinRegistry::Add(JoinState* join) {
  base::MutexLock lock(&mu_);
  joins_.insert(join);
}

void JoinRegistry::Remove(JoinState* join) {
  base::MutexLock lock(&mu_);
  joins_.erase(join);
}

uint64_t JoinRegistry::size() const {
  base::MutexLock lock(&mu_);
  return joins_.size();
}

std::vector<JoinState*> JoinRegistry::TakeReferences() {
  base::MutexLock lock(&mu_);
  std::vector<JoinState*> held;
  for (JoinState* join : joins_) {
    if (join->TryRef()) held.push_back(join);
  }
  return held;
}

}  // namespace eris::engine
