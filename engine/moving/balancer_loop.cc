#include "engine/moving/balancer_loop.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aeu/state/clock.h"
#include "balancer/load/imbalance.h"
#include "base/status_macros.h"
#include "engine/core/snapshot.h"
#include "engine/moving/plan_world.h"
#include "engine/options/balancer_limits.h"

namespace eris::engine {
namespace {

// How much older than allowed a snapshot may become: a sixteenth of the limit, unless an AEU finds
// it earlier.
absl::Duration AgesEvery(const Core& core) {
  const uint64_t age_ms = core.directory.snapshots().age_ns_max() / 1'000'000;
  return absl::Milliseconds(std::clamp<uint64_t>(age_ms / 16, 10, 60'000));
}

}  // namespace

BalancerLoop::BalancerLoop(Core& core, TransferExecutor& executor, Sampler sampler, Quiet quiet,
                           Busiest busiest, HomeCaller call_home, balancer::PlanWorld machine,
                           const BalancerOptions& options)
    : core_(core),
      executor_(executor),
      sampler_(std::move(sampler)),
      quiet_(std::move(quiet)),
      busiest_of_period_(std::move(busiest)),
      call_home_(std::move(call_home)),
      machine_(std::move(machine)),
      options_(options) {
  executor_.SetBudget(options.max_pause_us, options.max_bytes_per_s);
}

void BalancerLoop::Start() {
  thread_ = std::thread([this] { Run(); });
}

void BalancerLoop::Stop() {
  core_.transfer_stop.Close();
  if (thread_.joinable()) thread_.join();
}

void BalancerLoop::Run() {
  absl::Time looked = absl::Now();
  absl::Time ages_looked = looked;
  const absl::Duration ages_every = AgesEvery(core_);
  for (;;) {
    const uint64_t seen = core_.transfer_stop.changes();
    if (core_.transfer_stop.closed()) return;
    const BalancerOptions now = options();
    if (!now.enabled) ForgetLoads();
    const absl::Time next =
        now.enabled ? looked + absl::Milliseconds(now.period_ms) : absl::InfiniteFuture();
    // Checked here because sleeping AEUs check nothing.
    if (absl::Now() >= ages_looked + ages_every) {
      GiveUpAged(core_, aeu::NowNs());
      ages_looked = absl::Now();
    }
    if (absl::Now() < next) {
      core_.transfer_stop.Wait(seen, std::min(next, ages_looked + ages_every));
      continue;
    }
    try {
      RunCycle();
    } catch (const std::bad_alloc&) {  // there may be memory in the next period
    }
    looked = absl::Now();
  }
}

void BalancerLoop::RunCycle() {
  std::set<std::string> names;
  std::set<ObjectId> ids;
  busiest_ = busiest_of_period_();
  for (const ObjectRef& object : core_.catalogue.List()) {
    names.insert(object->name);
    ids.insert(object->route.object());
    BalanceObject(object);
  }
  std::erase_if(triggers_, [&](const auto& one) { return !ids.contains(one.first); });
  std::erase_if(looked_, [&](const auto& one) { return !ids.contains(one.first); });
  std::erase_if(idle_, [&](const auto& one) { return !ids.contains(one.first); });
  ForgetPlaced();
  {
    base::MutexLock lock(&mu_);
    std::erase_if(objects_, [&](const auto& one) { return !names.contains(one.first); });
    ++cycles_;
  }
  call_home_();
}

// Forgets dropped objects. Objects that were created during the cycle are in the list again.
void BalancerLoop::ForgetPlaced() {
  std::vector<ObjectId> known;
  {
    base::MutexLock lock(&mu_);
    for (const auto& [id, by] : placed_) known.push_back(id);
  }
  std::set<ObjectId> there;
  for (const ObjectRef& object : core_.catalogue.List()) there.insert(object->route.object());
  base::MutexLock lock(&mu_);
  for (const ObjectId id : known) {
    if (!there.contains(id)) placed_.erase(id);
  }
}

void BalancerLoop::BalanceObject(const ObjectRef& object) {
  const TransferStop::Ticket ticket = core_.transfer_stop.Begin({});
  const Look look = LookNow(*object, ticket);
  std::optional<BalancePlan> plan;
  bool turn = false;
  try {
    plan = LookAt(*object, look);
    // Does not wait for an operator's call that moves it: other objects must still be checked.
    turn = plan && TryTakeTurn(object->route.object());
  } catch (const std::bad_alloc&) {  // there may be memory in the next period
  }
  if (!turn) return;
  const Turn taken(*this, object->route.object());
  // The result is in the history; the next period finds what is left to do.
  if (!core_.administration.TryEnter()) return;
  const InFlight::Entered entered(core_.administration);
  // Another call may have moved these ranges since the check.
  if (LookNow(*object, ticket) != look) return;
  (void)Execute(*object, *plan, ticket);
  if (plan->algorithm != BalanceAlgorithm::kSize) NotePlaced(*object, balancer::PlacedBy::kLoad);
}

std::optional<BalancePlan> BalancerLoop::LookAt(const ObjectEntry& object, const Look& look) {
  Looked& looked = looked_[object.route.object()];
  const bool quiet = quiet_(object);
  balancer::IdleRows& idle = idle_[object.route.object()];
  const bool rows_due = idle.Due(quiet, busiest_, [&] {
    base::MutexLock lock(&mu_);
    return placed_[object.route.object()];
  }());
  // Also after an access, because an imbalance must last for some periods before it is acted on.
  if (!quiet || looked.look != look) looked = {look};
  if (looked.times >= kLooksEnough) {
    return rows_due && look.may_move ? LookAtRows(object, idle) : std::nullopt;
  }
  const absl::StatusOr<balancer::LoadSample> sample = sampler_(object);
  if (!sample.ok()) return std::nullopt;  // dropped
  const BalancePlan plan = PlanFor(object, *sample);
  const absl::string_view why_not =
      look.may_move ? Decide(object, *sample, plan) : "the balancer is paused";
  Show(object, *sample, plan, why_not);
  if (why_not.empty()) {
    looked.times = 0;
    return plan;
  }
  ++looked.times;
  return std::nullopt;
}

std::optional<BalancePlan> BalancerLoop::LookAtRows(const ObjectEntry& object,
                                                    balancer::IdleRows& idle) {
  const absl::StatusOr<balancer::LoadSample> sample = sampler_(object);
  if (!sample.ok()) return std::nullopt;  // dropped
  BalancePlan plan =
      balancer::MakePlan(object.name, *sample, BalanceAlgorithm::kSize, 0, WorldOf(object));
  if (!idle.Worth(plan, options().threshold)) return std::nullopt;
  return plan;
}

void BalancerLoop::ReservePlaced(const ObjectEntry& object) {
  base::MutexLock lock(&mu_);
  placed_.try_emplace(object.route.object());
}

void BalancerLoop::NotePlaced(const ObjectEntry& object, balancer::PlacedBy by) {
  base::MutexLock lock(&mu_);
  placed_[object.route.object()] = by;
}

BalancerLoop::Look BalancerLoop::LookNow(const ObjectEntry& object,
                                         const TransferStop::Ticket& ticket) const {
  const bool heap = object.kind == ObjectKind::kHeapTable;
  base::MutexLock lock(&mu_);
  return {.table_version = object.route.Pin()->version(),
          .holders_version = heap ? object.holders.Pin()->version() : 0,
          .asked = asked_,
          .may_move = core_.transfer_stop.Check(ticket).ok()};
}

BalancerOptions BalancerLoop::options() const {
  base::MutexLock lock(&mu_);
  return options_;
}

BalancePlan BalancerLoop::PlanFor(const ObjectEntry& object,
                                  const balancer::LoadSample& sample) const {
  const BalancerOptions now = options();
  return balancer::MakePlan(object.name, sample, now.algorithm, now.window, WorldOf(object));
}

balancer::PlanWorld BalancerLoop::WorldOf(const ObjectEntry& object) const {
  balancer::PlanWorld world = ForObject(machine_, object);
  world.remapped_share = executor_.history().RemappedShare(object.name);
  return world;
}

void BalancerLoop::Show(const ObjectEntry& object, const balancer::LoadSample& sample,
                        const BalancePlan& plan, absl::string_view why_not) {
  ObjectBalance balance{.object = object.name,
                        .algorithm = plan.algorithm,
                        .imbalance = plan.imbalance_before,
                        .loads = std::vector<double>(core_.directory.size()),
                        .reason = std::string(why_not)};
  if (plan.algorithm == BalanceAlgorithm::kSize) {
    for (const AeuShare& share : plan.shares) balance.loads[share.aeu.value] = share.load_before;
  } else {
    // The current load, including the moving part.
    const double window = sample.window_ns == 0 ? 1 : static_cast<double>(sample.window_ns);
    balance.loads = balancer::AeuLoadsNow(sample, core_.directory.size());
    for (double& load : balance.loads) load /= window;
    balance.imbalance = balancer::Imbalance(balance.loads);
  }
  base::MutexLock lock(&mu_);
  objects_[object.name] = std::move(balance);
}

void BalancerLoop::ForgetLoads() {
  base::MutexLock lock(&mu_);
  objects_.clear();
}

absl::string_view BalancerLoop::Decide(const ObjectEntry& object,
                                       const balancer::LoadSample& sample,
                                       const BalancePlan& plan) {
  const auto [trigger, first] = triggers_.try_emplace(object.route.object());
  if (first) return "it has not been watched for a whole period yet";
  return balancer::TriggerText(
      balancer::Decide(sample, plan, options().threshold, WorldOf(object), trigger->second));
}

bool BalancerLoop::TryTakeTurn(ObjectId object) {
  base::MutexLock lock(&mu_);
  return busy_.insert(object).second;
}

absl::Status BalancerLoop::TakeTurn(ObjectId object, const TransferStop::Ticket& ticket) {
  for (;;) {
    const uint64_t seen = core_.transfer_stop.changes();
    ERIS_RETURN_IF_ERROR(core_.transfer_stop.Check(ticket));
    try {
      if (TryTakeTurn(object)) return absl::OkStatus();
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("the system has no memory for another transfer");
    }
    core_.transfer_stop.Wait(seen, ticket.deadline);
  }
}

void BalancerLoop::EndTurn(ObjectId object) {
  {
    base::MutexLock lock(&mu_);
    busy_.erase(object);
  }
  core_.transfer_stop.Look();
}

absl::Status BalancerLoop::Execute(ObjectEntry& object, const BalancePlan& plan,
                                   const TransferStop::Ticket& ticket) {
  for (const PlannedTransfer& transfer : plan.transfers) {
    ERIS_RETURN_IF_ERROR(executor_.Run(object, transfer, ticket).status);
  }
  return absl::OkStatus();
}

absl::StatusOr<BalancePlan> BalancerLoop::SampleAndPlan(const ObjectEntry& object,
                                                        Planner planner) {
  try {
    ERIS_ASSIGN_OR_RETURN(const balancer::LoadSample sample, sampler_(object));
    return planner(object, sample, WorldOf(object));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory for a plan");
  }
}

absl::StatusOr<BalancePlan> BalancerLoop::Command(absl::string_view name,
                                                  const TransferStop::Limits& limits,
                                                  balancer::PlacedBy by, Planner planner) {
  if (!core_.administration.TryEnter()) return absl::UnavailableError("the engine is closing");
  const InFlight::Entered entered(core_.administration);
  const TransferStop::Call call(core_.transfer_stop, limits);
  const TransferStop::Ticket& ticket = call.ticket();
  ERIS_ASSIGN_OR_RETURN(const ObjectRef object, core_.catalogue.Find(name));
  ERIS_RETURN_IF_ERROR(TakeTurn(object->route.object(), ticket));
  const Turn taken(*this, object->route.object());
  absl::StatusOr<BalancePlan> plan = SampleAndPlan(*object, planner);
  absl::Status moved;
  if (plan.ok()) {
    ReservePlaced(*object);
    moved = Execute(*object, *plan, ticket);
    // An operator's choice counts even if the boundaries were already as requested.
    const bool chosen = by == balancer::PlacedBy::kOperator;
    if (chosen || !plan->transfers.empty()) NotePlaced(*object, by);
  }
  {
    base::MutexLock lock(&mu_);
    ++asked_;
  }
  if (!moved.ok()) return moved;
  return plan;
}

absl::StatusOr<BalancePlan> BalancerLoop::Plan(absl::string_view name) {
  ERIS_ASSIGN_OR_RETURN(const ObjectRef object, core_.catalogue.Find(name));
  return SampleAndPlan(*object,
                       [&](const ObjectEntry& entry, const balancer::LoadSample& sample,
                           const balancer::PlanWorld&) -> absl::StatusOr<BalancePlan> {
                         return PlanFor(entry, sample);
                       });
}

absl::StatusOr<BalancePlan> BalancerLoop::Rebalance(absl::string_view name,
                                                    const TransferStop::Limits& limits) {
  return Command(name, limits, balancer::PlacedBy::kLoad,
                 [&](const ObjectEntry& object, const balancer::LoadSample& sample,
                     const balancer::PlanWorld&) -> absl::StatusOr<BalancePlan> {
                   return PlanFor(object, sample);
                 });
}

absl::Status BalancerLoop::Presplit(absl::string_view name, const KeyRange& range, uint32_t parts,
                                    const TransferStop::Limits& limits) {
  return Command(name, limits, balancer::PlacedBy::kOperator,
                 [&](const ObjectEntry& object, const balancer::LoadSample& sample,
                     const balancer::PlanWorld& world) {
                   return balancer::PlanPresplit(object.name, sample, range, parts, world);
                 })
      .status();
}

absl::Status BalancerLoop::MoveRange(absl::string_view name, const KeyRange& range, AeuId to,
                                     std::optional<TransferKind> kind,
                                     const TransferStop::Limits& limits) {
  return Command(name, limits, balancer::PlacedBy::kOperator,
                 [&](const ObjectEntry& object, const balancer::LoadSample& sample,
                     const balancer::PlanWorld& world) {
                   return balancer::PlanMove(object.name, sample, range, to, kind, world);
                 })
      .status();
}

absl::Status BalancerLoop::Set(const BalancerOptions& options) {
  ERIS_RETURN_IF_ERROR(CheckBalancerOptions(options));
  base::MutexLock lock(&mu_);
  options_ = options;
  ++asked_;
  executor_.SetBudget(options.max_pause_us, options.max_bytes_per_s);  // the thread checks it too
  return absl::OkStatus();
}

BalancerStatus BalancerLoop::Status() const {
  BalancerStatus status;
  status.paused = core_.transfer_stop.paused();
  const TransferHistory::Totals totals = executor_.history().totals();
  status.transfers = totals.transfers;
  status.rows_moved = totals.rows_moved;
  status.bytes_copied = totals.bytes_copied;
  status.stalls = totals.stalls;
  status.running = executor_.history().Running();
  base::MutexLock lock(&mu_);
  status.options = options_;
  status.cycles = cycles_;
  for (const auto& [name, balance] : objects_) status.objects.push_back(balance);
  return status;
}

}  // namespace eris::engine
