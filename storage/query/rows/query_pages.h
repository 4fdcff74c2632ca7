// The memory of a query's groups: pages of the AEU's memory for queries. Used by the AEU's thread.
// Not from the papers.
#ifndef ERIS_STORAGE_QUERY_QUERY_PAGES_H_
#define ERIS_STORAGE_QUERY_QUERY_PAGES_H_

#include <cstddef>

#include "absl/status/status.h"
#include "storage/query/rows/query_memory.h"
#include "storage/table/groups/group_pages.h"

namespace eris::storage {

class QueryPages final : public PageSource {
 public:
  // `memory` outlives it.
  explicit QueryPages(QueryMemory& memory) : memory_(memory) {}

  void* Allocate(size_t bytes) override { return memory_.Allocate(bytes); }
  void Free(void* page, size_t bytes) override { memory_.Free(page, bytes); }
  absl::Status Refusal() const override { return memory_.Refusal("grouping"); }

 private:
  QueryMemory& memory_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_QUERY_PAGES_H_
