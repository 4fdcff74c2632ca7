// A data object in the catalogue: its name, its way through the routing layer and its memory
// managers, one per NumaNode that holds a part of it. Shared by the catalogue, sessions and
// requests under way.
#ifndef ERIS_ENGINE_OBJECT_ENTRY_H_
#define ERIS_ENGINE_OBJECT_ENTRY_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "eris/types.h"
#include "memory/memory_manager.h"
#include "routing/object_route.h"

namespace eris::engine {

struct ObjectEntry {
  ObjectEntry(std::string object_name, ObjectKind object_kind, uint32_t slot, ObjectId id,
              std::unique_ptr<const routing::RangeTable> table)
      : name(std::move(object_name)), kind(object_kind), route(slot, id, std::move(table)) {}

  // Immutable after construction.
  const std::string name;
  const ObjectKind kind;

  routing::ObjectRoute route;

  // Owned by the one thread that creates or drops the object.
  std::map<NumaNodeId, std::unique_ptr<memory::MemoryManager>> managers;

  // Shared: written by Drop, read by sessions. relaxed: a session that reads it late sends commands
  // to AEUs that answer kNoObject.
  void MarkDropped() { dropped_.store(true, std::memory_order_relaxed); }
  bool dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> dropped_{false};
};

using ObjectRef = std::shared_ptr<ObjectEntry>;

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECT_ENTRY_H_
