#include "engine/object_admin.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/boundaries.h"
#include "engine/control_request.h"
#include "engine/object_kinds.h"

namespace eris::engine {
namespace {

using routing::CommandType;
using storage::KeyState;

std::vector<AeuId> OwnersOf(size_t partitions, uint32_t aeus) {
  std::vector<AeuId> owners;
  for (uint32_t i = 0; i < partitions; ++i) owners.push_back(AeuId{i % aeus});
  return owners;
}

}  // namespace

memory::MemoryManager& ObjectAdmin::ManagerFor(ObjectEntry& entry, AeuId aeu) {
  memory::NumaNodePool& pool = memory_.pool(aeu_numa_nodes_[aeu.value]);
  return entry.ManagerOn(pool, memory_.spill(pool.id()));
}

absl::StatusOr<ObjectRef> ObjectAdmin::Create(absl::string_view name,
                                              const CreateOptions& options) {
  ERIS_RETURN_IF_ERROR(CheckKind(options.kind));
  ERIS_RETURN_IF_ERROR(CheckValueType(options.kind, options.value_type));
  ERIS_RETURN_IF_ERROR(CheckKeyTypes(options.kind, options.value_type, options.key_type));
  const auto aeus = static_cast<uint32_t>(core_.directory.size());
  ERIS_ASSIGN_OR_RETURN(std::vector<uint64_t> starts, InitialStarts(options, aeus));
  return Add(name, [&](const Reservation& reservation) {
    std::vector<AeuId> owners = OwnersOf(starts.size(), aeus);
    return std::make_shared<ObjectEntry>(
        reservation.name, options.kind, reservation.slot, reservation.id,
        std::make_unique<routing::RangeTable>(1, std::move(starts), std::move(owners)),
        options.key_type, options.value_type);
  });
}

absl::StatusOr<ObjectRef> ObjectAdmin::CreateTable(absl::string_view name,
                                                   const TableSchema& schema,
                                                   const TableOptions& options) {
  ERIS_ASSIGN_OR_RETURN(auto layout, storage::TableLayout::Create(schema));
  const auto aeus = static_cast<uint32_t>(core_.directory.size());
  ERIS_ASSIGN_OR_RETURN(std::vector<uint64_t> starts, InitialTableStarts(schema, options, aeus));
  return Add(name, [&](const Reservation& reservation) {
    std::vector<AeuId> owners = OwnersOf(starts.size(), aeus);
    std::unique_ptr<const routing::BitmapTable> holders;
    if (!schema.clustered()) holders = std::make_unique<routing::BitmapTable>(1, aeus, owners);
    return std::make_shared<ObjectEntry>(
        reservation.name, schema.clustered() ? ObjectKind::kTable : ObjectKind::kHeapTable,
        reservation.slot, reservation.id,
        std::make_unique<routing::RangeTable>(1, std::move(starts), std::move(owners)), KeyTypes{},
        ValueType::kUint64, std::move(layout), std::move(holders));
  });
}

absl::StatusOr<ObjectRef> ObjectAdmin::Add(absl::string_view name,
                                           absl::FunctionRef<ObjectRef(const Reservation&)> make) {
  ERIS_ASSIGN_OR_RETURN(const Reservation reservation, core_.catalogue.Reserve(name));
  if (!core_.in_flight.TryEnter()) {
    core_.catalogue.Release(reservation);
    return absl::UnavailableError("the engine is closing");
  }
  ObjectRef object = make(reservation);
  absl::Status installed = Install(*object);
  if (!installed.ok()) {
    Withdraw(*object);
    core_.catalogue.Release(reservation);
    core_.in_flight.Leave();
    return installed;
  }
  core_.catalogue.Publish(reservation, object);
  core_.in_flight.Leave();
  return object;
}

absl::Status ObjectAdmin::Install(ObjectEntry& entry) {
  const std::shared_ptr<const routing::RangeTable> table = entry.route.Pin();
  const auto partitions = static_cast<uint32_t>(table->size());
  std::vector<uint64_t> seeds(partitions);
  for (uint64_t& seed : seeds) {
    ERIS_ASSIGN_OR_RETURN(seed, PartitionSeed(entry.kind));
  }
  // Before the first command: whoever was sent one may have to give the object back.
  for (const AeuId aeu : table->owners()) entry.AddMember(aeu);
  ControlRequest request(core_, CommandType::kInstall, partitions);
  for (uint32_t i = 0; i < partitions; ++i) {
    const AeuId aeu = table->owners()[i];
    storage::Range range = table->RangeOf(i);
    // No row is routed by it.
    if (entry.kind == ObjectKind::kHeapTable) range.hi = {uint64_t{i} + 1, 0};
    request.Send(aeu, entry.route, InstallSegmentOf(entry, aeu, range, i, seeds[i]));
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
  const absl::string_view reason = state == KeyState::kNoMemory
                                       ? "has no memory left within the limit"
                                       : "did not take the command in time";
  return absl::ResourceExhaustedError(absl::StrCat(
      "AEU ", aeu.value, " ", reason, " (", core_.limits.memory_limit_bytes, " bytes) for ", what));
}

absl::Status ObjectAdmin::AddMember(ObjectEntry& entry, AeuId aeu) {
  if (entry.IsMember(aeu)) return absl::OkStatus();
  ERIS_ASSIGN_OR_RETURN(const uint64_t seed, PartitionSeed(entry.kind));
  const bool heap = entry.kind == ObjectKind::kHeapTable;
  const storage::Range own{{aeu.value, 0}, storage::Key{uint64_t{aeu.value} + 1, 0}};
  routing::InstallSegment segment =
      InstallSegmentOf(entry, aeu, heap ? own : storage::Range{{}, storage::Key{}}, 0, seed);
  segment.slot_only = !heap;
  ControlRequest request(core_, CommandType::kInstall, 1);
  request.Send(aeu, entry.route, segment);
  request.Await();
  ERIS_RETURN_IF_ERROR(
      Installed(request.state(0), aeu, absl::StrCat("a part of object \"", entry.name, "\"")));
  // Now that it can be asked.
  entry.AddMember(aeu);
  return absl::OkStatus();
}

void ObjectAdmin::Withdraw(ObjectEntry& entry) {
  std::vector<AeuId> aeus = entry.Members();
  while (!aeus.empty()) {
    ControlRequest request(core_, CommandType::kDrop, static_cast<uint32_t>(aeus.size()));
    for (uint32_t i = 0; i < aeus.size(); ++i) {
      request.Send(aeus[i], entry.route, routing::DropSegment{.position = i});
    }
    request.Await();
    std::vector<AeuId> again;
    for (uint32_t i = 0; i < aeus.size(); ++i) {
      if (request.state(i) == KeyState::kRefused) again.push_back(aeus[i]);
    }
    aeus = std::move(again);
  }
  entry.DropManagers();
}

absl::Status ObjectAdmin::Drop(absl::string_view name) {
  if (!core_.in_flight.TryEnter()) return absl::UnavailableError("the engine is closing");
  Reservation reservation;
  absl::StatusOr<ObjectRef> object = core_.catalogue.Withdraw(name, reservation);
  if (object.ok()) {
    (*object)->MarkDropped();
    core_.transfer_stop.Look();
    {
      base::MutexLock publisher(&(*object)->publisher_mu());
      Withdraw(**object);
    }
    core_.catalogue.Release(reservation);
  }
  core_.in_flight.Leave();
  return object.status();
}

}  // namespace eris::engine
