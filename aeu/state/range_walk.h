// A walk over the ranges of an object at an AEU, in key order, a piece a turn. It remembers a key,
// so ranges may be cut, joined and moved in between. A heap table has segments with numbers instead
// of keys. Owned by the AEU.
#ifndef ERIS_AEU_RANGE_WALK_H_
#define ERIS_AEU_RANGE_WALK_H_

#include <cstdint>
#include <optional>

#include "aeu/state/object_slot.h"
#include "storage/home_work.h"

namespace eris::aeu {

struct RangeWalk {
  uint64_t next_key = 0;
  uint64_t next_second = 0;  // see storage::HomeWork

  void BeginAt(uint64_t key) {
    next_key = key;
    next_second = 0;
  }
  // Does a piece of the ranges up to `end`; nullopt: to the end of the key space. True: it has come
  // there, or `work` is refused.
  bool GoOn(ObjectSlot& slot, storage::HomeWork& work, std::optional<uint64_t> end);

 private:
  bool GoOnByNumber(ObjectSlot& slot, storage::HomeWork& work, std::optional<uint64_t> end);
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_RANGE_WALK_H_
