// The scans, or joins, that are open, so that closing the engine can end them. Thread-safe.
#ifndef ERIS_ENGINE_OPEN_REGISTRY_H_
#define ERIS_ENGINE_OPEN_REGISTRY_H_

#include <cstdint>
#include <set>
#include <vector>

#include "base/mutex.h"

namespace eris::engine {

// T: reference counted, with TryRef.
template <class T>
class OpenRegistry {
 public:
  void Add(T* one) {
    base::MutexLock lock(&mu_);
    open_.insert(one);
  }
  void Remove(T* one) {
    base::MutexLock lock(&mu_);
    open_.erase(one);
  }
  uint64_t size() const {
    base::MutexLock lock(&mu_);
    return open_.size();
  }
  // Those that somebody still holds, each with one more reference, the caller's.
  std::vector<T*> TakeReferences() {
    base::MutexLock lock(&mu_);
    std::vector<T*> held;
    for (T* one : open_) {
      if (one->TryRef()) held.push_back(one);
    }
    return held;
  }

 private:
  mutable base::Mutex mu_;
  std::set<T*> open_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OPEN_REGISTRY_H_
