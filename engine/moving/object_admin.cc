#include "engine/moving/object_admin.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/core/closing.h"
#include "engine/core/control_request.h"
#include "engine/objects/boundaries.h"
#include "engine/objects/family.h"
#include "engine/objects/object_heap.h"
#include "engine/objects/object_kinds.h"
#include "eris/errors.h"

namespace eris::engine {
namespace {

using routing::CommandType;
using storage::KeyState;

// The ranges of a new object.
struct FirstRanges {
  std::vector<uint64_t> starts;
  std::vector<AeuId> owners{};
  std::optional<ObjectId> family{};  // if it lies beside another one
  bool chosen = false;               // by a creator
};

bool HasBounds(const CreateOptions& options) {
  return options.expected != KeyRange{} || !options.split_points.empty();
}

absl::StatusOr<FirstRanges> RangesBeside(absl::string_view name, const CreateOptions& options,
                                         const Catalogue& catalogue) {
  if (options.expected != KeyRange{} || !options.split_points.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("an object beside \"", options.beside,
                                                   "\" has its bounds: it takes none of its own"));
  }
  ERIS_ASSIGN_OR_RETURN(const ObjectRef other, catalogue.Find(options.beside));
  ERIS_ASSIGN_OR_RETURN(balancer::Partitioning cuts,
                        CutsBeside(name, options.kind, options.schema, *other));
  FirstRanges ranges{.starts = {},
                     .owners = std::move(cuts.owners),
                     .family = other->family,
                     .chosen = other->bounds_chosen};
  for (const storage::Key& start : cuts.starts) ranges.starts.push_back(start.head);
  return ranges;
}

absl::StatusOr<FirstRanges> FirstRangesOf(absl::string_view name, const CreateOptions& options,
                                          const Core& core) {
  if (!options.beside.empty()) return RangesBeside(name, options, core.catalogue);
  const auto aeus = static_cast<uint32_t>(core.directory.size());
  FirstRanges ranges;
  ranges.chosen = HasBounds(options);
  ERIS_ASSIGN_OR_RETURN(ranges.starts, InitialStarts(options, aeus));
  for (uint32_t i = 0; i < ranges.starts.size(); ++i) ranges.owners.push_back(AeuId{i % aeus});
  return ranges;
}

}  // namespace

memory::MemoryManager& ObjectAdmin::ManagerFor(ObjectEntry& entry, AeuId aeu) {
  memory::NumaNodePool& pool = memory_.pool(aeu_numa_nodes_[aeu.value]);
  return entry.ManagerOn(pool, memory_.spill(pool.id()));
}

absl::Status ObjectAdmin::Create(absl::string_view name, const CreateOptions& options,
                                 Introduction introduce) {
  ERIS_ASSIGN_OR_RETURN(const auto layout, LayoutOf(options.kind, options.schema));
  ERIS_ASSIGN_OR_RETURN(FirstRanges ranges, FirstRangesOf(name, options, core_));
  if (!core_.administration.TryEnter()) {
    return EngineClosing();
  }
  const InFlight::Entered entered(core_.administration);
  ERIS_ASSIGN_OR_RETURN(const Reservation reservation, core_.catalogue.Reserve(name));
  ObjectRef object;
  const absl::Status installed =
      base::OrNoMemory("the system has no memory for another object", [&]() -> absl::Status {
        std::unique_ptr<const routing::BitmapTable> holders;
        if (options.kind == ObjectKind::kHeapTable) {
          const auto aeus = static_cast<uint32_t>(core_.directory.size());
          holders = std::make_unique<routing::BitmapTable>(1, aeus, ranges.owners);
        }
        object = std::make_shared<ObjectEntry>(
            reservation.name, options.kind, reservation.slot, reservation.id,
            std::make_unique<routing::RangeTable>(1, std::move(ranges.starts),
                                                  std::move(ranges.owners)),
            layout, std::move(holders), ranges.family, ranges.chosen);
        ERIS_RETURN_IF_ERROR(Install(*object));
        introduce(object);
        return absl::OkStatus();
      });
  if (!installed.ok()) {
    if (object != nullptr) Withdraw(*object);
    core_.catalogue.Release(reservation);
    return installed;
  }
  core_.catalogue.Publish(reservation, object);
  return absl::OkStatus();
}

absl::Status ObjectAdmin::Install(ObjectEntry& entry) {
  const std::shared_ptr<const routing::RangeTable> table = entry.route.Pin();
  const auto partitions = static_cast<uint32_t>(table->size());
  std::vector<uint64_t> seeds(partitions);
  for (uint64_t& seed : seeds) {
    ERIS_ASSIGN_OR_RETURN(seed, PartitionSeed(entry.kind));
  }
  std::set<AeuId> members(table->owners().begin(), table->owners().end());
  std::set<NumaNodeId> managers;
  for (const AeuId aeu : members) managers.insert(memory_.pool(aeu_numa_nodes_[aeu.value]).id());
  ERIS_RETURN_IF_ERROR(ChargeHeap(entry, members.size(), managers.size(), partitions));
  // Before the first command: any AEU that was sent one may have to release the object.
  for (const AeuId aeu : table->owners()) entry.AddMember(ObjectEntry::NewMember(aeu));
  // Allocate everything that needs memory first.
  std::vector<routing::InstallSegment> segments;
  segments.reserve(partitions);
  for (uint32_t i = 0; i < partitions; ++i) {
    storage::Range range = table->RangeOf(i);
    // No row is routed by it.
    if (entry.kind == ObjectKind::kHeapTable) range.hi = {uint64_t{i} + 1, 0};
    segments.push_back(InstallSegmentOf(entry, table->owners()[i], range, i, seeds[i]));
  }
  ControlRequest request(core_, CommandType::kInstall, partitions);
  for (const routing::InstallSegment& segment : segments) {
    request.Send(table->owners()[segment.position], entry.route, segment);
  }
  request.Await();
  for (uint32_t i = 0; i < partitions; ++i) {
    const AeuId aeu = table->owners()[i];
    ERIS_RETURN_IF_ERROR(Installed(request.state(i), aeu, absl::StrCat("partition ", i)));
  }
  return absl::OkStatus();
}

routing::InstallSegment ObjectAdmin::InstallSegmentOf(ObjectEntry& entry, AeuId aeu,
                                                      const storage::Range& range,
                                                      uint32_t position, uint64_t seed) {
  return {.range = range,
          .manager = &ManagerFor(entry, aeu),
          .route = &entry.route,
          .kind = entry.kind,
          .value_type = entry.value_type,
          .position = position,
          .seed = seed,
          .two_parts = entry.key_types.two_parts(),
          .layout = entry.is_table() ? &entry.layout : nullptr};
}

absl::Status ObjectAdmin::Installed(KeyState state, AeuId aeu, absl::string_view what) const {
  if (state == KeyState::kAbsent) return absl::OkStatus();
  if (state == KeyState::kNoMemory) {
    return Error(ErrorReason::kMemoryLimit, absl::StrCat(core_.limits.MemoryLimitText(), ": AEU ",
                                                         aeu.value, " has none left for ", what));
  }
  return Error(ErrorReason::kBufferFull,
               absl::StrCat("AEU ", aeu.value, " did not take the command in time for ", what));
}

absl::Status ObjectAdmin::ChargeHeap(ObjectEntry& entry, size_t members, size_t managers,
                                     size_t ranges) {
  const bool created = ranges > 0;  // else it gets another member
  const uint64_t bytes = (created ? kHeapBytesOfObject : 0) + members * kHeapBytesOfMember +
                         managers * kHeapBytesOfManager + ranges * kHeapBytesOfRange;
  if (entry.TryChargeHeap(memory_.budget(), bytes)) return absl::OkStatus();
  return Error(ErrorReason::kMemoryLimit,
               absl::StrCat(core_.limits.MemoryLimitText(), ": object \"", entry.name, "\" needs ",
                            bytes >> 10, " KiB for the figures of ", members,
                            members == 1 ? " AEU" : " AEUs", " and ", ranges,
                            ranges == 1 ? " range" : " ranges"));
}

absl::Status ObjectAdmin::AddMember(ObjectEntry& entry, AeuId aeu) {
  if (entry.IsMember(aeu)) return absl::OkStatus();
  const memory::NumaNodePool& pool = memory_.pool(aeu_numa_nodes_[aeu.value]);
  const uint64_t heap_before = entry.heap_bytes();
  ERIS_RETURN_IF_ERROR(ChargeHeap(entry, 1, entry.HasManagerOn(pool) ? 0 : 1, 0));
  ERIS_ASSIGN_OR_RETURN(const uint64_t seed, PartitionSeed(entry.kind));
  const bool heap = entry.kind == ObjectKind::kHeapTable;
  const storage::Range own{{aeu.value, 0}, storage::Key{uint64_t{aeu.value} + 1, 0}};
  routing::InstallSegment segment =
      InstallSegmentOf(entry, aeu, heap ? own : storage::Range{{}, storage::Key{}}, 0, seed);
  segment.slot_only = !heap;
  ObjectEntry::Member member = ObjectEntry::NewMember(aeu);
  ControlRequest request(core_, CommandType::kInstall, 1);
  request.Send(aeu, entry.route, segment);
  request.Await();
  if (absl::Status installed =
          Installed(request.state(0), aeu, absl::StrCat("a part of object \"", entry.name, "\""));
      !installed.ok()) {
    // Otherwise moves that are refused repeatedly would charge the object each time.
    entry.ReturnHeap(entry.heap_bytes() - heap_before);
    return installed;
  }
  // Now it can receive commands.
  entry.AddMember(std::move(member));
  return absl::OkStatus();
}

void ObjectAdmin::Withdraw(ObjectEntry& entry) {
  for (bool withdrawn = false; !withdrawn;) {
    try {
      TryWithdraw(entry);
      withdrawn = true;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  entry.DropManagers();
}

void ObjectAdmin::TryWithdraw(ObjectEntry& entry) {
  const std::vector<AeuId> aeus = entry.Members();
  // An AEU that has already released it answers as if it had done so now.
  for (bool all = aeus.empty(); !all;) {
    ControlRequest request(core_, CommandType::kDrop, static_cast<uint32_t>(aeus.size()));
    for (uint32_t i = 0; i < aeus.size(); ++i) {
      request.Send(aeus[i], entry.route, routing::DropSegment{.position = i});
    }
    request.Await();
    all = true;
    for (uint32_t i = 0; i < aeus.size(); ++i) all &= request.state(i) != KeyState::kRefused;
  }
}

absl::StatusOr<ObjectId> ObjectAdmin::Drop(absl::string_view name) {
  return DropIf(name, [](ObjectEntry&) { return absl::OkStatus(); });
}

absl::Status ObjectAdmin::DropIfWritten(absl::string_view name, ObjectId id, uint64_t rows) {
  const auto check = [&](ObjectEntry& entry) -> absl::Status {
    if (entry.route.object() != id) {
      return absl::NotFoundError(
          absl::StrCat("object \"", name, "\" has been dropped; another one has its name"));
    }
    uint64_t counted = 0;
    if (entry.SealWritten(rows, counted)) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("writes of ", counted, " rows of object \"",
                                                      name, "\" were acknowledged, not ", rows,
                                                      ": it stays"));
  };
  return DropIf(name, check).status();
}

absl::StatusOr<ObjectId> ObjectAdmin::DropIf(absl::string_view name,
                                             absl::FunctionRef<absl::Status(ObjectEntry&)> check) {
  if (!core_.administration.TryEnter()) {
    return EngineClosing();
  }
  const InFlight::Entered entered(core_.administration);
  Reservation reservation;
  ERIS_ASSIGN_OR_RETURN(const ObjectRef object, core_.catalogue.Withdraw(name, check, reservation));
  object->MarkDropped();
  core_.transfer_stop.Look();
  {
    base::MutexLock publisher(&object->publisher_mu());
    Withdraw(*object);
  }
  core_.catalogue.Release(reservation);
  return object->route.object();
}

}  // namespace eris::engine
