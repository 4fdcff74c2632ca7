// The composition root: reads the machine, starts the AEUs, owns the catalogue. Implements
// eris::Engine.
#ifndef ERIS_ENGINE_ENGINE_IMPL_H_
#define ERIS_ENGINE_ENGINE_IMPL_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aeu/aeu.h"
#include "aeu/aeu_thread.h"
#include "balancer/load/load_sampler.h"
#include "base/mutex.h"
#include "engine/core/core.h"
#include "engine/moving/balancer_loop.h"
#include "engine/moving/home_calls.h"
#include "engine/moving/object_admin.h"
#include "engine/moving/step_sender.h"
#include "engine/moving/transfer_executor.h"
#include "engine/options/resolve_options.h"
#include "eris/engine.h"
#include "memory/memory_system.h"

namespace eris::engine {

class EngineImpl final : public Engine {
 public:
  enum class Threads : uint8_t {
    kStart,  // one per AEU
    kNone,   // the caller steps the AEUs by hand (tests)
  };
  static absl::StatusOr<std::unique_ptr<EngineImpl>> Open(const Options& options, Threads threads);
  ~EngineImpl() override;

  absl::StatusOr<ObjectInfo> Create(absl::string_view name, const CreateOptions& options) override;
  absl::Status Drop(absl::string_view name) override;
  absl::Status DropIfWritten(absl::string_view name, ObjectId id, uint64_t rows) override;
  absl::StatusOr<ObjectInfo> Describe(absl::string_view name) override;
  std::vector<ObjectInfo> List() override;
  std::unique_ptr<Session> NewSession() override;
  absl::StatusOr<std::unique_ptr<Session>> NewSession(NumaNodeId numa_node) override;
  NumaNodeId NumaNodeHere() override { return core_.session_nodes.Here().numa_node; }
  void DeferCallbacks() override;
  void RunCallbacks() override;
  absl::StatusOr<std::shared_ptr<Snapshot>> TakeSnapshot() override;
  EngineStats Stats() override;
  using Engine::Memory;
  MemoryStats Memory(const MemoryStatsOptions& options) override;
  absl::StatusOr<MemoryVerification> VerifyMemory(const VerifyMemoryOptions& options,
                                                  absl::Time deadline) override;
  std::string ExplainTopology() const override;
  std::vector<std::string> Notes() const override { return notes_; }
  BalancerStatus Balancer() override;
  std::vector<TransferRecord> TransferHistory() override;
  absl::StatusOr<HotRanges> FindHotRanges(absl::string_view name, uint32_t ranges_max) override;
  absl::Status SetBalancer(const BalancerOptions& options) override;
  absl::Status SetTaskScheduling(TaskScheduling scheduling) override;
  void PauseBalancer() override;
  void ResumeBalancer() override;
  absl::StatusOr<BalancePlan> PlanBalance(absl::string_view name) override;
  absl::StatusOr<BalancePlan> Rebalance(absl::string_view name, absl::Time deadline,
                                        MoveStop* stop) override;
  absl::Status Presplit(absl::string_view name, const KeyRange& range, uint32_t parts,
                        absl::Time deadline, MoveStop* stop) override;
  absl::Status MoveRange(absl::string_view name, const KeyRange& range, AeuId to,
                         std::optional<TransferKind> kind, absl::Time deadline,
                         MoveStop* stop) override;
  void Close() override;

  // For tests and the balancer.
  Core& core() { return core_; }
  memory::MemorySystem& memory() { return memory_; }
  BalancerLoop& balancer_loop() { return *balancer_; }
  HomeCalls& home_calls() { return *home_calls_; }
  TransferExecutor& transfers() { return *transfers_; }
  aeu::Aeu& aeu(AeuId id) { return *aeus_[id.value]; }
  // The recent load of the object's partitions, from balancer::LoadSampler.
  // Errors: NotFound.
  absl::StatusOr<balancer::LoadSample> SampleLoad(absl::string_view name);
  uint32_t aeu_count() const { return static_cast<uint32_t>(aeus_.size()); }

 private:
  explicit EngineImpl(ResolvedOptions resolved);
  absl::Status Start(Threads threads);
  std::unique_ptr<aeu::Aeu> MakeAeu(AeuId id) const;
  // Each thread makes its own AEU.
  void StartThreads();
  void ShowLoads();
  void MakeBalancer();
  // Makes the remaining state of a new object before it can be found; returns the result of Create.
  // Throws std::bad_alloc, with nothing made.
  ObjectInfo Introduce(const ObjectRef& object);
  void BeginSampling(ObjectId object);
  void EndSampling(ObjectId object);
  // As balancer::LoadSampler::StaysQuiet. O(AEUs).
  bool LoadStaysQuiet(const ObjectEntry& object);
  uint64_t SamplingPeriodNs() const;
  void CollectNotes();
  // While nothing is running: every sent key has been delivered, and answered or forwarded.
  bool NothingLost() const;
  ObjectInfo DescribeOne(const ObjectRef& object);
  // All objects by name. Adds to `of_aeus`, by AeuId, what each AEU has of all together.
  std::vector<ObjectInfo> DescribeAll(std::vector<aeu::ObjectTotals>& of_aeus);

  const ResolvedOptions resolved_;
  memory::MemorySystem memory_;
  Core core_;
  // The extents of each AEU's incoming buffers, by AeuId; nullptr if there was no memory.
  std::vector<void*> buffer_extents_;
  std::vector<std::unique_ptr<aeu::Aeu>> aeus_;  // by AeuId
  std::vector<std::unique_ptr<aeu::AeuThread>> threads_;
  std::unique_ptr<ObjectAdmin> admin_;
  std::vector<std::string> notes_;
  bool pinned_ = true;  // the system has pinned the AEUs to their cpus

  std::unique_ptr<AeuStepSender> step_sender_;
  std::unique_ptr<TransferExecutor> transfers_;
  std::unique_ptr<HomeCalls> home_calls_;
  std::unique_ptr<BalancerLoop> balancer_;

  base::Mutex samplers_mu_;
  // Made with the object, not by a call that samples one while it is being dropped.
  std::map<ObjectId, balancer::LoadSampler> samplers_ ABSL_GUARDED_BY(samplers_mu_);

  base::Mutex close_mu_;  // one Close at a time
  bool closed_ ABSL_GUARDED_BY(close_mu_) = false;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_ENGINE_IMPL_H_
