// The running balancer: checks the objects' loads every period, decides whether a change is
// worthwhile, plans and moves. Also executes operators' requests; one operation per family
// (engine/objects/family.h) at a time: objects beside each other are sampled, planned and moved as
// one. A transfer that fails for one of them leaves it cut otherwise; then nothing else moves until
// it has followed, or MoveRange has taken the others back. Its thread belongs to no AEU and may
// block. Paper: ERIS 3.3.
#ifndef ERIS_ENGINE_MOVING_BALANCER_LOOP_H_
#define ERIS_ENGINE_MOVING_BALANCER_LOOP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "balancer/family_plan.h"
#include "balancer/load/idle_rows.h"
#include "balancer/load/load_sample.h"
#include "balancer/make_plan.h"
#include "balancer/trigger.h"
#include "base/mutex.h"
#include "engine/core/core.h"
#include "engine/core/transfer_stop.h"
#include "engine/moving/transfer_executor.h"
#include "engine/objects/family.h"
#include "engine/objects/object_entry.h"
#include "eris/balancer.h"

namespace eris::engine {

class BalancerLoop {
 public:
  // Returns the recent load of the object's partitions. Errors: NotFound.
  using Sampler = std::function<absl::StatusOr<balancer::LoadSample>(const ObjectEntry&)>;

  // Called once per period: whether a sample would be the same as the last one, with no access to
  // the object. Cheap.
  using Quiet = std::function<bool(const ObjectEntry&)>;

  // Called once per period: the fraction of the time since the last call that the busiest AEU has
  // worked.
  using Busiest = std::function<double()>;

  // Called at the end of a period: asks AEUs for memory that is left on other NumaNodes. May block
  // until they have answered. May throw std::bad_alloc.
  using HomeCaller = std::function<void()>;

  // `machine`: from MakePlanWorld. Starts no period before Start.
  BalancerLoop(Core& core, TransferExecutor& executor, Sampler sampler, Quiet quiet,
               Busiest busiest, HomeCaller call_home, balancer::PlanWorld machine,
               const BalancerOptions& options);
  ~BalancerLoop() { Stop(); }
  BalancerLoop(const BalancerLoop&) = delete;
  BalancerLoop& operator=(const BalancerLoop&) = delete;

  void Start();
  // A running transfer ends at a chunk boundary, and no new one begins. Blocks until the thread has
  // ended, but does not wait for operators' calls. Idempotent, from one thread.
  void Stop();

  // As the functions of Engine.
  BalancerStatus Status() const;
  absl::Status Set(const BalancerOptions& options);
  BalancerOptions options() const;
  void Pause() { core_.transfer_stop.Pause(); }
  void Resume() { core_.transfer_stop.Resume(); }
  absl::StatusOr<BalancePlan> Plan(absl::string_view name);
  absl::StatusOr<BalancePlan> Rebalance(absl::string_view name, const TransferStop::Limits& limits);
  absl::Status Presplit(absl::string_view name, const KeyRange& range, uint32_t parts,
                        const TransferStop::Limits& limits);
  absl::Status MoveRange(absl::string_view name, const KeyRange& range, AeuId to,
                         std::optional<TransferKind> kind, const TransferStop::Limits& limits);

  // The work of one period. For tests without the thread.
  void RunCycle();

 private:
  using Planner = balancer::FamilyPlan::Planner;

  // Everything besides its loads that a decision on a family depends on.
  struct Look {
    // Versions of the members' tables, and of holders for a heap table.
    std::vector<std::pair<ObjectId, uint64_t>> versions{};
    uint64_t asked = 0;
    bool may_move = false;
    bool in_line = true;
    bool operator==(const Look&) const = default;
  };
  // The last state, and how often it was the same, without access and without a move.
  struct Looked {
    Look look;
    uint32_t times = 0;
  };
  // After this many equal checks the trigger's decision no longer changes.
  static constexpr uint32_t kLooksEnough = 3;

  static constexpr int kRoundsIntoLine = 4;

  void Run();
  void BalanceFamily(const Family& family);
  // The moves that are needed; usually none. A family without access is not checked again and
  // again. Throws std::bad_alloc.
  std::optional<BalancePlan> LookAt(const Family& family, const Look& look);
  // The same for an unused family: whether to even out its rows.
  std::optional<BalancePlan> LookAtRows(const Family& family, balancer::IdleRows& idle);
  bool AllQuiet(const Family& family) const;
  Look LookNow(const Family& family, const TransferStop::Ticket& ticket) const;
  balancer::PlanWorld WorldOf(const ObjectEntry& object, uint64_t grain) const;
  BalancePlan PlanFor(const std::string& name, const balancer::FamilyPlan& family) const;
  // Publishes a period's result for Status; without periods there is none.
  void Show(const Family& family, const balancer::LoadSample& sample, const BalancePlan& plan,
            absl::string_view why_not);
  void ForgetPlaced();
  // So that NotePlaced needs no memory. Throws std::bad_alloc.
  void ReservePlaced(ObjectId family);
  void NotePlaced(ObjectId family, balancer::PlacedBy by);
  // What has placed the boundaries of the object's family. Throws std::bad_alloc.
  balancer::PlacedBy PlacedNow(const ObjectEntry& object);
  void ForgetLoads();
  // Why the plan is not worth executing; empty if it is, and if it moves something.
  absl::string_view Decide(ObjectId family, const balancer::FamilyPlan& sampled,
                           const BalancePlan& plan);
  // The present load. Members that have been dropped are left out; an object alone, or `wanted`, is
  // NotFound. Throws std::bad_alloc.
  absl::StatusOr<balancer::FamilyPlan> SampleFamily(const Family& family,
                                                    absl::string_view wanted) const;
  // What `planner` wants, for all members. Errors: NotFound; ResourceExhausted (the general heap
  // has no memory).
  absl::StatusOr<BalancePlan> SampleAndPlan(const Family& family, absl::string_view name,
                                            Planner planner) const;
  // Plans and moves, when it is this call's turn. `by`: the cause that is recorded for the
  // boundaries. `apart`: the planner's result for each member alone puts them in line, too.
  absl::StatusOr<BalancePlan> Command(absl::string_view name, const TransferStop::Limits& limits,
                                      balancer::PlacedBy by, Planner planner, bool apart = false);
  // Members that have been dropped are passed over, except plan.object. Errors name the member, if
  // it is another one.
  absl::Status Execute(const Family& family, const BalancePlan& plan,
                       const TransferStop::Ticket& ticket);
  // Moves what members have still to follow. REQUIRES: it is this call's turn.
  absl::Status BringIntoLine(const Family& family, absl::string_view name,
                             const TransferStop::Ticket& ticket);
  // For members that cannot be brought into line: what `planner` wants, for each alone, and then
  // into line. REQUIRES: it is this call's turn.
  absl::Status MoveApart(const Family& family, absl::string_view name, Planner planner,
                         const TransferStop::Ticket& ticket);
  // No other call plans for the family or moves it until EndTurn. Throw std::bad_alloc.
  [[nodiscard]] bool TryTakeTurn(ObjectId family);
  // Blocks until it is this call's turn. Errors: the reason that stops the call.
  absl::Status TakeTurn(ObjectId family, const TransferStop::Ticket& ticket);
  void EndTurn(ObjectId family);
  // Ends a turn that has been taken.
  class Turn {
   public:
    Turn(BalancerLoop& loop, ObjectId family) : loop_(loop), family_(family) {}
    ~Turn() { loop_.EndTurn(family_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    BalancerLoop& loop_;
    const ObjectId family_;
  };

  // Immutable after construction.
  Core& core_;
  TransferExecutor& executor_;
  const Sampler sampler_;
  const Quiet quiet_;
  const Busiest busiest_of_period_;
  const HomeCaller call_home_;
  const balancer::PlanWorld machine_;

  mutable base::Mutex mu_;
  BalancerOptions options_ ABSL_GUARDED_BY(mu_);
  std::set<ObjectId> busy_ ABSL_GUARDED_BY(mu_);  // families with a running turn
  // How often options_ have been set, or a call has moved ranges.
  uint64_t asked_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t cycles_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, ObjectBalance> objects_ ABSL_GUARDED_BY(mu_);   // of the last period
  std::map<ObjectId, balancer::PlacedBy> placed_ ABSL_GUARDED_BY(mu_);  // by family

  // Owned by the thread that runs the cycles; by family.
  std::map<ObjectId, balancer::TriggerState> triggers_;
  std::map<ObjectId, Looked> looked_;
  std::map<ObjectId, balancer::IdleRows> idle_;
  double busiest_ = 0;

  std::thread thread_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_BALANCER_LOOP_H_
