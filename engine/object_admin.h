// Creating and dropping data objects: control commands to the AEUs, and waiting for their answers.
// Blocks; any thread.
#ifndef ERIS_ENGINE_OBJECT_ADMIN_H_
#define ERIS_ENGINE_OBJECT_ADMIN_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/core.h"
#include "engine/object_entry.h"
#include "eris/options.h"
#include "memory/memory_system.h"
#include "routing/data_command.h"

namespace eris::engine {

class ObjectAdmin {
 public:
  // `aeu_numa_nodes`: by AeuId, where each AEU's memory comes from. Both outlive this.
  ObjectAdmin(Core& core, memory::MemorySystem& memory, std::vector<NumaNodeId> aeu_numa_nodes)
      : core_(core), memory_(memory), aeu_numa_nodes_(std::move(aeu_numa_nodes)) {}

  // As Engine::Create, CreateTable and Drop.
  absl::StatusOr<ObjectRef> Create(absl::string_view name, const CreateOptions& options);
  absl::StatusOr<ObjectRef> CreateTable(absl::string_view name, const TableSchema& schema,
                                        const TableOptions& options);
  // A drop waits for the border of a chunk where rows of the object are on their way.
  absl::Status Drop(absl::string_view name);

  // Gives an AEU a place for the object, with no range yet; of a heap table its own, empty part.
  // Does nothing where it has one. Errors: ResourceExhausted (no memory, no room). REQUIRES:
  // core.in_flight has been entered; the caller holds the object's publisher_mu.
  absl::Status AddMember(ObjectEntry& entry, AeuId aeu);
  // Makes memory ready that the AEU is going to take (NumaNodePool::Prepare).
  void PrepareMemory(AeuId aeu, uint64_t bytes) {
    memory_.pool(aeu_numa_nodes_[aeu.value]).Prepare(bytes);
  }

 private:
  // Makes the object by `make`, installs and publishes it.
  absl::StatusOr<ObjectRef> Add(absl::string_view name,
                                absl::FunctionRef<ObjectRef(const Reservation&)> make);
  absl::Status Install(ObjectEntry& entry);
  routing::InstallSegment InstallSegmentOf(ObjectEntry& entry, AeuId aeu,
                                           const storage::Range& range, uint32_t position,
                                           uint64_t seed);
  // What an AEU has answered to an install of `what`.
  absl::Status Installed(storage::KeyState state, AeuId aeu, absl::string_view what) const;
  // Every member gives the object back, and its memory goes to the pools. Cannot fail:
  // AEUs always drain, so a full buffer only means waiting.
  void Withdraw(ObjectEntry& entry);
  memory::MemoryManager& ManagerFor(ObjectEntry& entry, AeuId aeu);

  Core& core_;
  memory::MemorySystem& memory_;
  const std::vector<NumaNodeId> aeu_numa_nodes_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECT_ADMIN_H_
