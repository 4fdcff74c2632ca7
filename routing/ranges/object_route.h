// Routes the commands for one data object: its slot at every AEU, its id, and the versions of its
// range table. Shared by Ports (readers) and the one publisher of the object. Paper: ERIS 3.2.
#ifndef ERIS_ROUTING_OBJECT_ROUTE_H_
#define ERIS_ROUTING_OBJECT_ROUTE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "eris/types.h"
#include "routing/ranges/published_table.h"
#include "routing/ranges/range_table.h"

namespace eris::routing {

class ObjectRoute : public PublishedTable<RangeTable> {
 public:
  ObjectRoute(uint32_t slot, ObjectId object, std::unique_ptr<const RangeTable> first)
      : PublishedTable<RangeTable>(std::move(first)), slot_(slot), object_(object) {}

  uint32_t slot() const { return slot_; }
  ObjectId object() const { return object_; }

 private:
  // Immutable after construction.
  const uint32_t slot_;
  const ObjectId object_;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_OBJECT_ROUTE_H_
