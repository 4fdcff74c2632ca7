// The AEU's cache of the memory of queries (storage/query/query_part.h): one for all queries, so
// that a query uses the memory of the last one while it is warm. Owned by the AEU thread.
#ifndef ERIS_AEU_QUERY_CACHE_H_
#define ERIS_AEU_QUERY_CACHE_H_

#include "memory/local_cache.h"
#include "memory/memory_manager.h"

namespace eris::aeu {

class QueryCache {
 public:
  explicit QueryCache(memory::RecollectionListener& listener) : listener_(listener) {}

  // Made at the first call; all calls name the same manager. nullptr: no memory.
  memory::LocalCache* Of(memory::MemoryManager& manager) {
    if (cache_ == nullptr) {
      cache_ = manager.NewCache();
      if (cache_ != nullptr) cache_->SetListener(&listener_);
    }
    return cache_;
  }
  // nullptr: no query has been here.
  memory::LocalCache* cache() const { return cache_; }

 private:
  memory::RecollectionListener& listener_;
  memory::LocalCache* cache_ = nullptr;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_QUERY_CACHE_H_
