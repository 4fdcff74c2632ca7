// The joins that are open, so that closing the engine can end them. Thread-safe.
#ifndef ERIS_ENGINE_JOIN_REGISTRY_H_
#define ERIS_ENGINE_JOIN_REGISTRY_H_

#include <cstdint>
#include <set>
#include <vector>

#include "base/mutex.h"

namespace eris::engine {

class JoinState;

class JoinRegistry {
 public:
  void Add(JoinState* join);
  void Remove(JoinState* join);
  uint64_t size() const;
  // Those that somebody still holds, each with one more reference, the caller's.
  std::vector<JoinState*> TakeReferences();

 private:
  mutable base::Mutex mu_;
  std::set<JoinState*> joins_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_JOIN_REGISTRY_H_
