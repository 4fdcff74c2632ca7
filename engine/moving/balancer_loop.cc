#include "engine/moving/balancer_loop.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aeu/state/clock.h"
#include "balancer/load/imbalance.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/core/closing.h"
#include "engine/core/snapshot.h"
#include "engine/moving/plan_world.h"
#include "engine/options/balancer_limits.h"
#include "eris/errors.h"

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
  std::map<ObjectId, Family> families;
  busiest_ = busiest_of_period_();
  for (const ObjectRef& object : core_.catalogue.List()) {
    names.insert(object->name);
    families[object->family].push_back(object);
  }
  for (auto& [id, family] : families) {
    OldestFirst(family);
    BalanceFamily(family);
  }
  std::erase_if(triggers_, [&](const auto& one) { return !families.contains(one.first); });
  std::erase_if(looked_, [&](const auto& one) { return !families.contains(one.first); });
  std::erase_if(idle_, [&](const auto& one) { return !families.contains(one.first); });
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
  for (const ObjectRef& object : core_.catalogue.List()) there.insert(object->family);
  base::MutexLock lock(&mu_);
  for (const ObjectId id : known) {
    if (!there.contains(id)) placed_.erase(id);
  }
}

void BalancerLoop::BalanceFamily(const Family& family) {
  const ObjectId id = family.front()->family;
  const TransferStop::Ticket ticket = core_.transfer_stop.Begin({});
  const Look look = LookNow(family, ticket);
  std::optional<BalancePlan> plan;
  bool turn = false;
  try {
    plan = LookAt(family, look);
    // Does not wait for an operator's call that moves it: other objects must still be checked.
    turn = (plan || (look.may_move && !look.in_line)) && TryTakeTurn(id);
  } catch (const std::bad_alloc&) {  // there may be memory in the next period
  }
  if (!turn) return;
  const Turn taken(*this, id);
  // The result is in the history; the next period finds what is left to do.
  if (!core_.administration.TryEnter()) return;
  const InFlight::Entered entered(core_.administration);
  // Another call may have moved these ranges since the check.
  if (LookNow(family, ticket) != look) return;
  if (!plan) {
    (void)BringIntoLine(family, {}, ticket);
    return;
  }
  (void)Execute(family, *plan, ticket);
  if (plan->algorithm != BalanceAlgorithm::kSize) NotePlaced(id, balancer::PlacedBy::kLoad);
}

std::optional<BalancePlan> BalancerLoop::LookAt(const Family& family, const Look& look) {
  const ObjectId id = family.front()->family;
  Looked& looked = looked_[id];
  const bool quiet = AllQuiet(family);
  balancer::IdleRows& idle = idle_[id];
  const bool rows_due = idle.Due(quiet, busiest_, PlacedNow(*family.front()));
  const bool may_move = look.may_move && look.in_line;
  // Also after an access, because an imbalance must last for some periods before it is acted on.
  if (!quiet || looked.look != look) looked = {look};
  if (looked.times >= kLooksEnough) {
    return rows_due && may_move ? LookAtRows(family, idle) : std::nullopt;
  }
  const absl::StatusOr<balancer::FamilyPlan> sampled = SampleFamily(family, {});
  if (!sampled.ok()) return std::nullopt;  // dropped
  BalancePlan plan = PlanFor(family.front()->name, *sampled);
  const absl::string_view why_not = !look.may_move  ? "the balancer is paused"
                                    : !look.in_line ? balancer::kFollowFirst
                                                    : Decide(id, *sampled, plan);
  Show(family, sampled->sample(), plan, why_not);
  if (why_not.empty() && sampled->Spread(plan).ok()) {
    looked.times = 0;
    return plan;
  }
  ++looked.times;
  return std::nullopt;
}

std::optional<BalancePlan> BalancerLoop::LookAtRows(const Family& family,
                                                    balancer::IdleRows& idle) {
  const absl::StatusOr<balancer::FamilyPlan> sampled = SampleFamily(family, {});
  if (!sampled.ok()) return std::nullopt;  // dropped
  BalancePlan plan = balancer::MakePlan(family.front()->name, sampled->sample(),
                                        BalanceAlgorithm::kSize, 0, sampled->world());
  if (!idle.Worth(plan, options().threshold) || !sampled->Spread(plan).ok()) return std::nullopt;
  return plan;
}

bool BalancerLoop::AllQuiet(const Family& family) const {
  bool quiet = true;
  // Each is asked: the answer also tells its sampler that a period has passed.
  for (const ObjectRef& object : family) quiet &= quiet_(*object);
  return quiet;
}

void BalancerLoop::ReservePlaced(ObjectId family) {
  base::MutexLock lock(&mu_);
  placed_.try_emplace(family);
}

balancer::PlacedBy BalancerLoop::PlacedNow(const ObjectEntry& object) {
  base::MutexLock lock(&mu_);
  const balancer::PlacedBy moved = placed_[object.family];
  const bool creators = moved == balancer::PlacedBy::kNobody && object.bounds_chosen;
  return creators ? balancer::PlacedBy::kCreator : moved;
}

void BalancerLoop::NotePlaced(ObjectId family, balancer::PlacedBy by) {
  base::MutexLock lock(&mu_);
  placed_[family] = by;
}

BalancerLoop::Look BalancerLoop::LookNow(const Family& family,
                                         const TransferStop::Ticket& ticket) const {
  Look look;
  for (const ObjectRef& object : family) {
    const bool heap = object->kind == ObjectKind::kHeapTable;
    look.versions.emplace_back(object->route.object(), object->route.Pin()->version());
    if (heap) look.versions.emplace_back(object->route.object(), object->holders.Pin()->version());
  }
  look.may_move = core_.transfer_stop.Check(ticket).ok();
  look.in_line = InLine(family);
  base::MutexLock lock(&mu_);
  look.asked = asked_;
  return look;
}

BalancerOptions BalancerLoop::options() const {
  base::MutexLock lock(&mu_);
  return options_;
}

BalancePlan BalancerLoop::PlanFor(const std::string& name,
                                  const balancer::FamilyPlan& family) const {
  const BalancerOptions now = options();
  return balancer::MakePlan(name, family.sample(), now.algorithm, now.window, family.world());
}

balancer::PlanWorld BalancerLoop::WorldOf(const ObjectEntry& object, uint64_t grain) const {
  balancer::PlanWorld world = ForObject(machine_, object);
  world.remapped_share = executor_.history().RemappedShare(object.name);
  world.grain = grain;
  return world;
}

void BalancerLoop::Show(const Family& family, const balancer::LoadSample& sample,
                        const BalancePlan& plan, absl::string_view why_not) {
  ObjectBalance balance{.object = {},
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
  for (const ObjectRef& object : family) {
    balance.object = object->name;
    objects_[object->name] = balance;
  }
}

void BalancerLoop::ForgetLoads() {
  base::MutexLock lock(&mu_);
  objects_.clear();
}

absl::string_view BalancerLoop::Decide(ObjectId family, const balancer::FamilyPlan& sampled,
                                       const BalancePlan& plan) {
  const auto [trigger, first] = triggers_.try_emplace(family);
  if (first) return "it has not been watched for a whole period yet";
  return balancer::TriggerText(balancer::Decide(sampled.sample(), plan, options().threshold,
                                                sampled.world(), trigger->second));
}

bool BalancerLoop::TryTakeTurn(ObjectId family) {
  base::MutexLock lock(&mu_);
  return busy_.insert(family).second;
}

absl::Status BalancerLoop::TakeTurn(ObjectId family, const TransferStop::Ticket& ticket) {
  for (;;) {
    const uint64_t seen = core_.transfer_stop.changes();
    ERIS_RETURN_IF_ERROR(core_.transfer_stop.Check(ticket));
    try {
      if (TryTakeTurn(family)) return absl::OkStatus();
    } catch (const std::bad_alloc&) {
      return base::NoMemory("the system has no memory for another transfer");
    }
    core_.transfer_stop.Wait(seen, ticket.deadline);
  }
}

void BalancerLoop::EndTurn(ObjectId family) {
  {
    base::MutexLock lock(&mu_);
    busy_.erase(family);
  }
  core_.transfer_stop.Look();
}

absl::Status BalancerLoop::Execute(const Family& family, const BalancePlan& plan,
                                   const TransferStop::Ticket& ticket) {
  for (const PlannedTransfer& transfer : plan.transfers) {
    const auto object = std::find_if(family.begin(), family.end(), [&](const ObjectRef& one) {
      return one->name == transfer.object;
    });
    if (object == family.end()) continue;
    const absl::Status moved = executor_.Run(**object, transfer, ticket).status;
    if (absl::IsNotFound(moved) && transfer.object != plan.object) continue;
    if (moved.ok() || transfer.object == plan.object) {
      ERIS_RETURN_IF_ERROR(moved);
      continue;
    }
    return WithText(moved, absl::StrCat("object \"", transfer.object, "\", beside \"", plan.object,
                                        "\": ", moved.message()));
  }
  return absl::OkStatus();
}

absl::Status BalancerLoop::BringIntoLine(const Family& family, absl::string_view name,
                                         const TransferStop::Ticket& ticket) {
  // The next round is for members that have been dropped in this one.
  for (int round = 0; round < kRoundsIntoLine; ++round) {
    if (InLine(family)) return absl::OkStatus();
    BalancePlan plan;
    try {
      ERIS_ASSIGN_OR_RETURN(const balancer::FamilyPlan sampled, SampleFamily(family, name));
      plan.object = std::string(name);
      plan.transfers = sampled.IntoLine();
    } catch (const std::bad_alloc&) {
      return base::NoMemory("the system has no memory for a plan");
    }
    ERIS_RETURN_IF_ERROR(Execute(family, plan, ticket));
  }
  if (InLine(family)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("ranges of objects beside \"", name, "\" have still to follow"));
}

absl::Status BalancerLoop::MoveApart(const Family& family, absl::string_view name, Planner planner,
                                     const TransferStop::Ticket& ticket) {
  BalancePlan all;
  try {
    all.object = std::string(name);
    ERIS_ASSIGN_OR_RETURN(const balancer::FamilyPlan sampled, SampleFamily(family, name));
    ERIS_ASSIGN_OR_RETURN(all.transfers, sampled.Apart(planner));
  } catch (const std::bad_alloc&) {
    return base::NoMemory("the system has no memory for a plan");
  }
  ERIS_RETURN_IF_ERROR(Execute(family, all, ticket));
  return BringIntoLine(family, name, ticket);
}

absl::StatusOr<balancer::FamilyPlan> BalancerLoop::SampleFamily(const Family& family,
                                                                absl::string_view wanted) const {
  const uint64_t grain = GrainOf(family);
  std::vector<balancer::FamilyMember> members;
  for (const ObjectRef& object : family) {
    absl::StatusOr<balancer::LoadSample> sample = sampler_(*object);
    if (sample.ok()) {
      members.push_back({object->name, *std::move(sample), WorldOf(*object, grain)});
    } else if (family.size() == 1 || object->name == wanted) {
      return sample.status();
    }
  }
  if (members.empty()) return absl::NotFoundError("all objects beside each other are dropped");
  return balancer::FamilyPlan(std::move(members));
}

absl::StatusOr<BalancePlan> BalancerLoop::SampleAndPlan(const Family& family,
                                                        absl::string_view name,
                                                        Planner planner) const {
  try {
    ERIS_ASSIGN_OR_RETURN(const balancer::FamilyPlan sampled, SampleFamily(family, name));
    return planner(sampled);
  } catch (const std::bad_alloc&) {
    return base::NoMemory("the system has no memory for a plan");
  }
}

absl::StatusOr<BalancePlan> BalancerLoop::Command(absl::string_view name,
                                                  const TransferStop::Limits& limits,
                                                  balancer::PlacedBy by, Planner planner,
                                                  bool apart) {
  if (!core_.administration.TryEnter()) {
    return EngineClosing();
  }
  const InFlight::Entered entered(core_.administration);
  const TransferStop::Call call(core_.transfer_stop, limits);
  const TransferStop::Ticket& ticket = call.ticket();
  ERIS_ASSIGN_OR_RETURN(const ObjectRef object, core_.catalogue.Find(name));
  const ObjectId id = object->family;
  ERIS_RETURN_IF_ERROR(TakeTurn(id, ticket));
  const Turn taken(*this, id);
  const Family family = FamilyOf(core_.catalogue, id);
  if (std::find(family.begin(), family.end(), object) == family.end()) {
    return Error(ErrorReason::kObjectDropped,
                 absl::StrCat("object \"", name, "\" has been dropped"));
  }
  absl::Status moved = BringIntoLine(family, name, ticket);
  // If that does not help either, the first error tells why they are out of line.
  if (!moved.ok() && apart && MoveApart(family, name, planner, ticket).ok()) {
    moved = absl::OkStatus();
  }
  absl::StatusOr<BalancePlan> plan(BalancePlan{});
  if (moved.ok()) plan = SampleAndPlan(family, name, planner);
  if (moved.ok() && plan.ok()) {
    ReservePlaced(id);
    moved = Execute(family, *plan, ticket);
    // An operator's choice counts even if the boundaries were already as requested.
    const bool chosen = by == balancer::PlacedBy::kOperator;
    if (chosen || !plan->transfers.empty()) NotePlaced(id, by);
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
  return SampleAndPlan(FamilyOf(core_.catalogue, object->family), name,
                       [&](const balancer::FamilyPlan& family) -> absl::StatusOr<BalancePlan> {
                         BalancePlan plan = PlanFor(std::string(name), family);
                         if (family.ComesIntoLine(plan)) return plan;
                         ERIS_RETURN_IF_ERROR(family.Spread(plan));
                         return plan;
                       });
}

absl::StatusOr<BalancePlan> BalancerLoop::Rebalance(absl::string_view name,
                                                    const TransferStop::Limits& limits) {
  return Command(name, limits, balancer::PlacedBy::kLoad,
                 [&](const balancer::FamilyPlan& family) -> absl::StatusOr<BalancePlan> {
                   BalancePlan plan = PlanFor(std::string(name), family);
                   ERIS_RETURN_IF_ERROR(family.Spread(plan));
                   return plan;
                 });
}

absl::Status BalancerLoop::Presplit(absl::string_view name, const KeyRange& range, uint32_t parts,
                                    const TransferStop::Limits& limits) {
  return Command(name, limits, balancer::PlacedBy::kOperator,
                 [&](const balancer::FamilyPlan& family) -> absl::StatusOr<BalancePlan> {
                   ERIS_ASSIGN_OR_RETURN(BalancePlan plan,
                                         balancer::PlanPresplit(std::string(name), family.sample(),
                                                                range, parts, family.world()));
                   ERIS_RETURN_IF_ERROR(family.Spread(plan));
                   return plan;
                 })
      .status();
}

absl::Status BalancerLoop::MoveRange(absl::string_view name, const KeyRange& range, AeuId to,
                                     std::optional<TransferKind> kind,
                                     const TransferStop::Limits& limits) {
  return Command(
             name, limits, balancer::PlacedBy::kOperator,
             [&](const balancer::FamilyPlan& family) -> absl::StatusOr<BalancePlan> {
               ERIS_ASSIGN_OR_RETURN(BalancePlan plan,
                                     balancer::PlanMove(std::string(name), family.sample(), range,
                                                        to, std::nullopt, family.world()));
               ERIS_RETURN_IF_ERROR(family.Spread(plan, kind));
               return plan;
             },
             /*apart=*/true)
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
