// The loads of one data object at one AEU, for readers outside it: the engine and the balancer.
#ifndef ERIS_AEU_OBJECT_LOAD_H_
#define ERIS_AEU_OBJECT_LOAD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "aeu/state/access_sample.h"
#include "aeu/state/partition_load.h"
#include "eris/types.h"

namespace eris::aeu {

struct ObjectLoad {
  ObjectId object;
  uint64_t memory_bytes = 0;                               // allocated by this AEU for the object
  std::vector<std::shared_ptr<PartitionLoad>> partitions;  // in no order
  std::shared_ptr<const AccessSample> accesses{};
};

struct ObjectTotals {
  ObjectId object;
  uint64_t memory_bytes = 0;  // as in ObjectLoad
  uint64_t rows = 0;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_OBJECT_LOAD_H_
