// The open scans, or joins, so that closing the engine can end them. Thread-safe.
#ifndef ERIS_ENGINE_CORE_OPEN_REGISTRY_H_
#define ERIS_ENGINE_CORE_OPEN_REGISTRY_H_

#include <cstdint>
#include <set>

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
  // The next one after `last` (nullptr: the first) that is still referenced, with one more
  // reference for the caller; nullptr: none. Iterates over all without memory; they may end
  // meanwhile.
  T* TakeNext(T* last) {
    base::MutexLock lock(&mu_);
    for (auto one = open_.upper_bound(last); one != open_.end(); ++one) {
      if ((*one)->TryRef()) return *one;
    }
    return nullptr;
  }

 private:
  mutable base::Mutex mu_;
  std::set<T*> open_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_OPEN_REGISTRY_H_
