// Creates and drops data objects: sends control commands to the AEUs, and waits for their answers.
// Blocks; any thread.
#ifndef ERIS_ENGINE_MOVING_OBJECT_ADMIN_H_
#define ERIS_ENGINE_MOVING_OBJECT_ADMIN_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/core/core.h"
#include "engine/objects/object_entry.h"
#include "eris/options.h"
#include "memory/memory_system.h"
#include "routing/data_command.h"

namespace eris::engine {

class ObjectAdmin {
 public:
  // `aeu_numa_nodes`: by AeuId, the NumaNode of each AEU's memory. Both outlive this.
  ObjectAdmin(Core& core, memory::MemorySystem& memory, std::vector<NumaNodeId> aeu_numa_nodes)
      : core_(core), memory_(memory), aeu_numa_nodes_(std::move(aeu_numa_nodes)) {}

  // Called with a new object, as the last step that may throw std::bad_alloc before it is
  // published.
  using Introduction = absl::FunctionRef<void(const ObjectRef&)>;
  // As Engine::Create, Drop and DropIfWritten.
  absl::Status Create(absl::string_view name, const CreateOptions& options, Introduction introduce);
  // If rows of the object are moving, a drop waits for the chunk boundary.
  absl::StatusOr<ObjectId> Drop(absl::string_view name);
  absl::Status DropIfWritten(absl::string_view name, ObjectId id, uint64_t rows);

  // Gives an AEU a slot for the object, without a range; for a heap table its own, empty part. Does
  // nothing if it has one. Errors: ResourceExhausted (no memory, no room). REQUIRES:
  // core.administration has been entered; the caller holds the object's publisher_mu.
  absl::Status AddMember(ObjectEntry& entry, AeuId aeu);
  // Prepares memory that the AEU will take (NumaNodePool::Prepare).
  void PrepareMemory(AeuId aeu, uint64_t bytes) {
    memory_.pool(aeu_numa_nodes_[aeu.value]).Prepare(bytes);
  }

 private:
  absl::Status Install(ObjectEntry& entry);
  absl::StatusOr<ObjectId> DropIf(absl::string_view name,
                                  absl::FunctionRef<absl::Status(ObjectEntry&)> check);
  routing::InstallSegment InstallSegmentOf(ObjectEntry& entry, AeuId aeu,
                                           const storage::Range& range, uint32_t position,
                                           uint64_t seed);
  // The status for an AEU's answer to an install of `what`.
  absl::Status Installed(storage::KeyState state, AeuId aeu, absl::string_view what) const;
  // Every member releases the object, and its memory goes to the pools. Cannot fail, because half
  // of an object must not remain: AEUs always execute their commands, so it waits if a buffer is
  // full or if there is no memory for the commands.
  void Withdraw(ObjectEntry& entry);
  // One try. Throws std::bad_alloc; then some members may have released it.
  void TryWithdraw(ObjectEntry& entry);
  // Charges the general heap memory of this many more of each. Errors: ResourceExhausted.
  absl::Status ChargeHeap(ObjectEntry& entry, size_t members, size_t managers, size_t ranges);
  memory::MemoryManager& ManagerFor(ObjectEntry& entry, AeuId aeu);

  Core& core_;
  memory::MemorySystem& memory_;
  const std::vector<NumaNodeId> aeu_numa_nodes_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_OBJECT_ADMIN_H_
