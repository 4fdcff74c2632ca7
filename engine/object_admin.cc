#include "engine/object_admin.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/boundaries.h"
#include "engine/object_kinds.h"
#include "engine/request.h"

namespace eris::engine {
namespace {

using routing::CommandHeader;
using routing::CommandType;
using storage::KeyState;

template <class Segment>
std::span<const std::byte> BytesOf(const Segment& segment) {
  static_assert(sizeof(Segment) % 8 == 0);
  return {reinterpret_cast<const std::byte*>(&segment), sizeof segment};
}

// A request without a waiting object: it answers one state per command.
class ControlRequest {
 public:
  ControlRequest(Core& core, CommandType type, uint32_t commands)
      : core_(core), request_(Request::Create(type, commands, nullptr, core.in_flight)) {
    request_->Expect(commands);
  }
  ~ControlRequest() { request_->Unref(); }
  ControlRequest(const ControlRequest&) = delete;
  ControlRequest& operator=(const ControlRequest&) = delete;

  template <class Segment>
  void Send(AeuId aeu, const routing::ObjectRoute& route, const Segment& segment) {
    const CommandHeader header{.type = request_->type(),
                               .slot = route.slot(),
                               .object = route.object(),
                               .table_version = route.Pin()->version(),
                               .complete = &Request::Answered,
                               .context = request_,
                               .count = 1};
    if (core_.control->SendTo(aeu, header, BytesOf(segment))) return;
    request_->states[segment.position] = KeyState::kRefused;
    Request::Answered(request_, 1);
  }
  void Await() { request_->Await(absl::InfiniteFuture()); }
  KeyState state(uint32_t position) const { return request_->states[position]; }

 private:
  Core& core_;
  Request* const request_;
};

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
  core_.in_flight.EnterAgain();  // the request's
  ControlRequest request(core_, CommandType::kInstall, partitions);
  for (uint32_t i = 0; i < partitions; ++i) {
    const AeuId aeu = table->owners()[i];
    storage::Range range = table->RangeOf(i);
    // No row is routed by it.
    if (entry.kind == ObjectKind::kHeapTable) range.hi = {uint64_t{i} + 1, 0};
    request.Send(aeu, entry.route,
                 routing::InstallSegment{.range = range,
                                         .manager = &ManagerFor(entry, aeu),
                                         .route = &entry.route,
                                         .kind = entry.kind,
                                         .value_type = entry.value_type,
                                         .position = i,
                                         .seed = seeds[i],
                                         .two_parts = entry.key_types.two_parts(),
                                         .layout = entry.is_table() ? &entry.layout : nullptr});
  }
  request.Await();
  for (uint32_t i = 0; i < partitions; ++i) {
    if (request.state(i) == KeyState::kAbsent) continue;
    const absl::string_view reason = request.state(i) == KeyState::kNoMemory
                                         ? "has no memory left within the limit"
                                         : "did not take the command in time";
    return absl::ResourceExhaustedError(absl::StrCat("AEU ", table->owners()[i].value, " ", reason,
                                                     " (", core_.limits.memory_limit_bytes,
                                                     " bytes) for partition ", i));
  }
  return absl::OkStatus();
}

void ObjectAdmin::Withdraw(ObjectEntry& entry) {
  std::vector<AeuId> aeus = entry.route.Pin()->owners();
  std::sort(aeus.begin(), aeus.end());
  aeus.erase(std::unique(aeus.begin(), aeus.end()), aeus.end());
  while (!aeus.empty()) {
    core_.in_flight.EnterAgain();  // the request's
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
    Withdraw(**object);
    core_.catalogue.Release(reservation);
  }
  core_.in_flight.Leave();
  return object.status();
}

}  // namespace eris::engine
