// The balancer at work: looks at the objects' loads every period, asks whether that is worth
// anything, plans and moves; and does what operators ask for, of one object one thing at a time.
// Its thread belongs to no AEU and blocks where it has to. Paper: ERIS 3.3.
#ifndef ERIS_ENGINE_MOVING_BALANCER_LOOP_H_
#define ERIS_ENGINE_MOVING_BALANCER_LOOP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "balancer/load/idle_rows.h"
#include "balancer/load/load_sample.h"
#include "balancer/make_plan.h"
#include "balancer/trigger.h"
#include "base/mutex.h"
#include "engine/core/core.h"
#include "engine/core/transfer_stop.h"
#include "engine/moving/transfer_executor.h"
#include "engine/objects/object_entry.h"
#include "eris/balancer.h"

namespace eris::engine {

class BalancerLoop {
 public:
  // What the object's partitions have been asked lately. Errors: NotFound.
  using Sampler = std::function<absl::StatusOr<balancer::LoadSample>(const ObjectEntry&)>;

  // Once a period: whether a sample would tell what the last one has told, that nobody accesses the
  // object. Cheap.
  using Quiet = std::function<bool(const ObjectEntry&)>;

  // Once a period: the part of its time since the last call that the busiest AEU has worked.
  using Busiest = std::function<double()>;

  // `machine`: as MakePlanWorld says. Nothing happens by itself before Start.
  BalancerLoop(Core& core, TransferExecutor& executor, Sampler sampler, Quiet quiet,
               Busiest busiest, balancer::PlanWorld machine, const BalancerOptions& options);
  ~BalancerLoop() { Stop(); }
  BalancerLoop(const BalancerLoop&) = delete;
  BalancerLoop& operator=(const BalancerLoop&) = delete;

  void Start();
  // A transfer under way ends at the border of its chunk, and none begins any more. Blocks until
  // the thread has ended, not for those of operators. Idempotent, by one thread.
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

  // What a period does. For tests, which have no thread.
  void RunCycle();

 private:
  using Planner = absl::FunctionRef<absl::StatusOr<BalancePlan>(
      const ObjectEntry&, const balancer::LoadSample&, const balancer::PlanWorld&)>;

  // All that a look at an object depends on beside its loads.
  struct Look {
    uint64_t table_version = 0;
    uint64_t holders_version = 0;
    uint64_t asked = 0;
    bool may_move = false;
    bool operator==(const Look&) const = default;
  };
  // The last look, and how often it has been so, with nobody's access, and has moved nothing.
  struct Looked {
    Look look;
    uint32_t times = 0;
  };
  // By then the trigger has said what it will say for good.
  static constexpr uint32_t kLooksEnough = 3;

  void Run();
  void BalanceObject(const ObjectRef& object);
  // What is to be moved; nothing, mostly. An object that nobody accesses is not looked at again and
  // again. Throws std::bad_alloc.
  std::optional<BalancePlan> LookAt(const ObjectEntry& object, const Look& look);
  // The same for one that nobody uses: whether its rows are to be evened out.
  std::optional<BalancePlan> LookAtRows(const ObjectEntry& object, balancer::IdleRows& idle);
  Look LookNow(const ObjectEntry& object, const TransferStop::Ticket& ticket) const;
  BalancePlan PlanFor(const ObjectEntry& object, const balancer::LoadSample& sample) const;
  // What a period tells of the object, for Status; without periods there is nothing to tell.
  void Show(const ObjectEntry& object, const balancer::LoadSample& sample, const BalancePlan& plan,
            absl::string_view why_not);
  void ForgetPlaced();
  // So that NotePlaced needs no memory. Throws std::bad_alloc.
  void ReservePlaced(const ObjectEntry& object);
  void NotePlaced(const ObjectEntry& object, balancer::PlacedBy by);
  void ForgetLoads();
  // Why that is not worth moving anything; empty when it is, and the plan moves something.
  absl::string_view Decide(const ObjectEntry& object, const balancer::LoadSample& sample,
                           const BalancePlan& plan);
  // Errors: NotFound; ResourceExhausted: the general heap is out.
  absl::StatusOr<BalancePlan> SampleAndPlan(const ObjectEntry& object, Planner planner);
  // Plans and moves, when it is this call's turn. `by`: whose boundaries these are.
  absl::StatusOr<BalancePlan> Command(absl::string_view name, const TransferStop::Limits& limits,
                                      balancer::PlacedBy by, Planner planner);
  absl::Status Execute(ObjectEntry& object, const BalancePlan& plan,
                       const TransferStop::Ticket& ticket);
  // Nobody else plans for the object or moves it until EndTurn. Throw std::bad_alloc.
  [[nodiscard]] bool TryTakeTurn(ObjectId object);
  // Blocks until it is this call's turn. Errors: what stops the call.
  absl::Status TakeTurn(ObjectId object, const TransferStop::Ticket& ticket);
  void EndTurn(ObjectId object);
  // Ends a turn that has been taken.
  class Turn {
   public:
    Turn(BalancerLoop& loop, ObjectId object) : loop_(loop), object_(object) {}
    ~Turn() { loop_.EndTurn(object_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    BalancerLoop& loop_;
    const ObjectId object_;
  };

  // Immutable after construction.
  Core& core_;
  TransferExecutor& executor_;
  const Sampler sampler_;
  const Quiet quiet_;
  const Busiest busiest_of_period_;
  const balancer::PlanWorld machine_;

  mutable base::Mutex mu_;
  BalancerOptions options_ ABSL_GUARDED_BY(mu_);
  std::set<ObjectId> busy_ ABSL_GUARDED_BY(mu_);  // somebody's turn
  // How often options_ have been set, or a call has moved something.
  uint64_t asked_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t cycles_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, ObjectBalance> objects_ ABSL_GUARDED_BY(mu_);  // of the last period
  std::map<ObjectId, balancer::PlacedBy> placed_ ABSL_GUARDED_BY(mu_);

  // Owned by whoever runs the cycles.
  std::map<ObjectId, balancer::TriggerState> triggers_;
  std::map<ObjectId, Looked> looked_;
  std::map<ObjectId, balancer::IdleRows> idle_;
  double busiest_ = 0;

  std::thread thread_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_BALANCER_LOOP_H_
