#include "engine/reads/shares.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/core/closing.h"
#include "engine/core/request.h"
#include "engine/core/snapshot.h"
#include "engine/objects/object_kinds.h"
#include "engine/reads/ended_part.h"
#include "engine/reads/open.h"
#include "engine/reads/query_checks.h"
#include "engine/reads/scanned_aeus.h"
#include "routing/table_scan_part.h"
#include "storage/table/plan/table_plan.h"

namespace eris::engine {
namespace {

using routing::PartOutcome;

struct Part final : routing::TableScanPart {
  Request* request = nullptr;

  // The completion function of the command; called by AEUs. It moves no chunk.
  static void Ended(routing::Reply* reply, uint32_t ended) noexcept {
    Request::Answered(static_cast<Part*>(reply)->request, ended);
  }
};
using Parts = std::vector<std::unique_ptr<Part>>;

absl::Status CheckShared(const Query& query) {
  if (query.share || !query.resume.empty() || query.limit > 0 || !query.aggregates.empty()) {
    return absl::InvalidArgumentError(
        "a query whose shares are asked for has no share, limit, resume token or aggregates");
  }
  if (query.snapshot != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "shares are of a snapshot: take one, and scan them all with it");
}

// Sends the parts, and waits until all AEUs have answered, also behind the deadline: then soon.
absl::Status Run(Core& core, const ObjectEntry& table, const Query& query, Parts& parts,
                 const std::vector<AeuId>& owners, absl::Time deadline) {
  const RequestPtr request(Request::Create(routing::CommandType::kTableScan,
                                           static_cast<uint32_t>(parts.size()), nullptr,
                                           core.administration));
  core.administration.EnterAgain();  // for the request
  std::vector<routing::TableScanPart*> list;
  for (const auto& part : parts) {
    part->request = request.get();
    list.push_back(part.get());
  }
  std::vector<AeuId> refused;
  refused.reserve(parts.size());
  request->Expect(static_cast<uint32_t>(parts.size()));
  const routing::TableScanSegment segment{list.data(), list.size()};
  const routing::CommandHeader header{.type = routing::CommandType::kTableScan,
                                      .slot = table.route.slot(),
                                      .object = table.route.object(),
                                      .table_version = table.route.Pin()->version(),
                                      .snapshot = query.snapshot->epoch(),
                                      .complete = &Part::Ended,
                                      .count = 1};
  core.control->Multicast(owners, header, std::as_bytes(std::span(&segment, 1)), refused);
  for (const AeuId aeu : refused) {
    routing::TableScanPart* const part = routing::PartOf(list, aeu);
    part->Finish(PartOutcome::kRefused, absl::OkStatus(), nullptr);
    Part::Ended(part, 1);
  }
  if (request->Await(deadline)) return absl::OkStatus();
  for (const auto& part : parts) part->SetCancelled();
  (void)request->Await(absl::InfiniteFuture());
  return base::LeanStatus(absl::StatusCode::kDeadlineExceeded,
                          "the deadline passed before every AEU had answered");
}

// From the first to the last key that the AEU owns now.
KeyRange RangeOf(const ObjectEntry& table, AeuId aeu) {
  KeyRange range;
  if (table.kind != ObjectKind::kTable) return range;
  const auto partitions = table.route.Pin();
  bool found = false;
  for (size_t i = 0; i < partitions->size(); ++i) {
    if (partitions->owners()[i] != aeu) continue;
    const KeyRange own = partitions->RangeOf(i).ToPublic();
    if (!std::exchange(found, true)) range = own;
    range.hi = own.hi;
    range.hi_second = own.hi_second;
  }
  return range;
}

absl::StatusOr<std::vector<ObjectShare>> TableShares(Core& core, ObjectEntry& table,
                                                     const Query& query, absl::Time deadline) {
  ERIS_RETURN_IF_ERROR(CheckTableQuery(table, query));
  Query counted{.filter = query.filter};
  counted.aggregates.push_back({.function = AggregateFunction::kCount, .name = "rows"});
  ERIS_ASSIGN_OR_RETURN(const auto plan, storage::TablePlan::Create(table.schema.columns, counted));
  if (!core.administration.TryEnter()) return EngineClosing();
  const InFlight::Entered entered(core.administration);
  // Before the members are read.
  table.step_gate().Pass(query.snapshot->epoch());
  std::vector<AeuId> owners = ScannedAeus(table);
#ifdef ERIS_PLANTED_MEMBER_LEFT_OUT
  std::erase_if(owners, [now = table.route.Pin()->owners()](AeuId aeu) {
    return std::find(now.begin(), now.end(), aeu) == now.end();
  });
#endif
  Parts parts;
  for (const AeuId owner : owners) {
    Part& part = *parts.emplace_back(std::make_unique<Part>());
    part.owner = owner;
    part.plan = plan;
    part.memory = core.run_memory.get();
    part.counts_rows = true;
    part.from.chosen = true;  // from its first row on: each segment is met as a whole
  }
  ERIS_RETURN_IF_ERROR(Run(core, table, query, parts, owners, deadline));
  std::vector<ObjectShare> shares;
  for (const auto& part : parts) {
    if (part->outcome() != PartOutcome::kAnswered) {
      return StatusOf(part->outcome(), core, table, "share", query.snapshot->epoch(),
                      query.snapshot.get());
    }
    ERIS_RETURN_IF_ERROR(part->status());
    if (part->rows_met == 0) continue;
    shares.push_back({.aeu = part->owner,
                      .numa_node = core.aeu_numa_nodes[part->owner.value],
                      .range = RangeOf(table, part->owner),
                      .rows = part->rows_met});
  }
  return shares;
}

absl::StatusOr<std::vector<ObjectShare>> IndexShares(Core& core, SessionNode& node,
                                                     const ObjectRef& index, const Query& query,
                                                     absl::Time deadline,
                                                     const SessionCredit& credit) {
  // Checks the query, too.
  ERIS_ASSIGN_OR_RETURN(const ScanState::Request request, IndexRequestOf(index, query));
  const auto partitions = index->route.Pin();
  std::vector<ObjectShare> shares;
  storage::Range rest = storage::Range::FromPublic(request.range);
  while (!rest.Empty()) {
    const size_t partition = partitions->PartitionOf(rest.lo.head);
    const storage::Range owned = partitions->RangeOf(partition);
    storage::Range own = rest;
    const bool is_last = !owned.hi || (rest.hi && *rest.hi <= *owned.hi);
    if (!is_last) own.hi = owned.hi;
    ERIS_ASSIGN_OR_RETURN(
        const RangeAggregate counted,
        Aggregate(core, node, index,
                  {.range = own.ToPublic(), .count_only = true, .snapshot = query.snapshot},
                  deadline, credit));
    const AeuId owner = partitions->owners()[partition];
    if (counted.count > 0) {
      shares.push_back({.aeu = owner,
                        .numa_node = core.aeu_numa_nodes[owner.value],
                        .range = own.ToPublic(),
                        .rows = counted.count});
    }
    if (is_last) break;
    rest.lo = *owned.hi;
  }
  return shares;
}

}  // namespace

absl::StatusOr<std::vector<ObjectShare>> SharesOf(Core& core, SessionNode& node,
                                                  const ObjectRef& object, const Query& query,
                                                  absl::Time deadline,
                                                  const SessionCredit& credit) {
  ERIS_RETURN_IF_ERROR(CheckShared(query));
  if (object->is_table()) return TableShares(core, *object, query, deadline);
  return IndexShares(core, node, object, query, deadline, credit);
}

}  // namespace eris::engine
