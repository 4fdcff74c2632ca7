#include "engine/engine_impl.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aeu/state/clock.h"
#include "base/check.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/core/closing.h"
#include "engine/core/reader_state.h"
#include "engine/core/snapshot.h"
#include "engine/memory_report.h"
#include "engine/moving/load_reading.h"
#include "engine/moving/plan_world.h"
#include "engine/sessions/session_impl.h"
#include "eris/errors.h"
#include "topology/placement.h"

namespace eris {

absl::StatusOr<std::unique_ptr<Engine>> Engine::Open(const Options& options) {
  return engine::EngineImpl::Open(options, engine::EngineImpl::Threads::kStart);
}

absl::StatusOr<std::string> ExplainTopology(const Options& options) try {
  ERIS_ASSIGN_OR_RETURN(engine::ResolvedOptions resolved, engine::ResolveOptions(options));
  return absl::StrCat(topology::Explain(resolved.topology, resolved.plan),
                      engine::ExplainMemory(resolved));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

}  // namespace eris

namespace eris::engine {

namespace {

// The readers get the error.
void CancelAll(OpenRegistry<ReaderState>& open) {
  for (ReaderState* one = open.TakeNext(nullptr); one != nullptr;) {
    one->Cancel(EngineClosing());
    ReaderState* const next = open.TakeNext(one);
    one->Unref();
    one = next;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<EngineImpl>> EngineImpl::Open(const Options& options,
                                                             Threads threads) try {
  ERIS_ASSIGN_OR_RETURN(ResolvedOptions resolved, ResolveOptions(options));
  resolved.memory.keeper = threads == Threads::kStart;
  std::unique_ptr<EngineImpl> engine(new EngineImpl(std::move(resolved)));
  ERIS_RETURN_IF_ERROR(engine->Start(threads));
  return engine;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
} catch (const std::system_error& error) {
  return absl::ResourceExhaustedError(
      absl::StrCat(error.what(),
                   "; the system's limits for threads are pids.max of the cgroup, "
                   "RLIMIT_NPROC and kernel.threads-max"));
}

EngineImpl::EngineImpl(ResolvedOptions resolved)
    : resolved_(std::move(resolved)),
      memory_(resolved_.topology, resolved_.memory),
      core_(resolved_.topology, resolved_.options.placement != Placement::kNone) {
  const Options& options = resolved_.options;
  core_.options = options;
  core_.memory = &memory_;
  core_.limits = {.memory_limit_bytes = options.memory_limit_bytes,
                  .memory_limit_source = resolved_.memory_limit_source,
                  .send_wait_ms_max = options.send_wait_ms_max};
  core_.chunks = std::make_shared<ScanChunkPool>(options.scan_chunks_max);
  core_.port_blocks = std::make_unique<routing::BlockAllowance>(resolved_.memory_plan.port_bytes);
  core_.run_memory = std::make_unique<storage::RunMemory>(resolved_.memory_plan.query_bytes);
  core_.query_memory = std::make_unique<storage::RunMemory>(options.query_bytes_max);
  // As many bytes as the chunks of other scans; at least two pieces.
  core_.table_chunks = std::make_shared<TableChunkPool>(std::max(2u, options.scan_chunks_max / 2));
  core_.directory.snapshots().SetLimits(options.version_bytes_max,
                                        uint64_t{options.snapshot_age_ms_max} * 1'000'000);
}

EngineImpl::~EngineImpl() {
  Close();
  // AEUs end before the managers and buffers that they use; objects that were not dropped end with
  // them.
  aeus_.clear();
  core_.query_memories.DropAll();
  for (const ObjectRef& object : core_.catalogue.List()) object->DropManagers();
  core_.control.reset();
  const size_t bytes = 2 * resolved_.options.incoming_buffer_bytes;
  for (size_t i = 0; i < buffer_extents_.size(); ++i) {
    memory_.pool(resolved_.plan.aeus[i].numa_node).ReturnExtent(buffer_extents_[i], bytes);
  }
}

absl::Status EngineImpl::Start(Threads threads) {
  const size_t half_bytes = resolved_.options.incoming_buffer_bytes;
  std::vector<NumaNodeId> numa_nodes;
  // First: an extent that has been taken must find its place, or nothing would give it back.
  buffer_extents_.reserve(resolved_.plan.aeus.size());
  for (const topology::AeuPlace& place : resolved_.plan.aeus) {
    void* extent = memory_.pool(place.numa_node)
                       .TakeExtent(2 * half_bytes, memory::NumaNodePool::Pages::kOnTouch);
    if (extent == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("incoming buffers of ", resolved_.plan.aeus.size(), " AEUs with ",
                       2 * half_bytes, " bytes each do not fit the memory limit of ",
                       resolved_.options.memory_limit_bytes, " bytes"));
    }
    buffer_extents_.push_back(extent);
    numa_nodes.push_back(place.numa_node);
    core_.directory.Add(std::make_unique<routing::AeuEndpoint>(static_cast<std::byte*>(extent),
                                                               half_bytes, place.numa_node));
  }
  core_.control = std::make_unique<ControlPort>(core_.directory, core_.port_options());
  core_.aeu_numa_nodes = numa_nodes;
  core_.tasks = std::make_unique<tasks::TaskScheduler>(
      tasks::GroupCores(resolved_.topology, resolved_.plan.aeus), resolved_.options.task_scheduling,
      [this](uint32_t aeu) { core_.directory[AeuId{aeu}].waker.Wake(); });
  admin_ = std::make_unique<ObjectAdmin>(core_, memory_, std::move(numa_nodes));
  aeus_.reserve(resolved_.plan.aeus.size());
  if (threads == Threads::kNone) {
    for (const topology::AeuPlace& place : resolved_.plan.aeus) aeus_.push_back(MakeAeu(place.aeu));
    ShowLoads();
    MakeBalancer();
    return absl::OkStatus();
  }
  StartThreads();
  ShowLoads();
  MakeBalancer();
  balancer_->Start();
  CollectNotes();
  return absl::OkStatus();
}

std::unique_ptr<aeu::Aeu> EngineImpl::MakeAeu(AeuId id) const {
  // All AEUs together: a part of the reserve.
  routing::PortOptions port = core_.port_options();
  port.numa_node = resolved_.plan.aeus[id.value].numa_node;
  const uint64_t share = resolved_.memory_plan.process_bytes / 32 / resolved_.plan.aeus.size();
  port.pool_bytes_max = std::clamp<uint64_t>(share, 2 * port.outgoing_bytes, port.pool_bytes_max);
  return std::make_unique<aeu::Aeu>(id, core_.directory, port, core_.tasks.get());
}

void EngineImpl::StartThreads() {
  // AEUs spin only if each is pinned to a core of its own and at least one core is left for
  // clients, on each NumaNode, where its completion thread needs one. Otherwise a spinning AEU
  // takes the core of another AEU or of the client that feeds it.
  std::set<int32_t> cpus;
  for (const topology::AeuPlace& place : resolved_.plan.aeus) cpus.insert(place.cpu);
  // Under a cgroup's cpu quota, spinning AEUs would use up the time of the other threads.
  const double quota = resolved_.topology.limits().cpu_quota;
  const bool left = resolved_.topology.synthetic()
                        ? cpus.size() < resolved_.topology.allowed_cpus().size()
                        : topology::LeavesCpusOnEachNumaNode(resolved_.topology, resolved_.plan);
  const bool spin = cpus.size() == resolved_.plan.aeus.size() && !cpus.contains(-1) && left &&
                    (quota <= 0 || static_cast<double>(cpus.size()) < quota);
  for (const topology::AeuPlace& place : resolved_.plan.aeus) {
    aeu::AeuThreadOptions options;
    options.name = absl::StrCat("eris-aeu-", place.aeu.value);
    if (place.cpu >= 0) options.cpu = static_cast<uint32_t>(place.cpu);
    if (!resolved_.topology.synthetic()) {
      options.numa_node = resolved_.topology.numa_nodes()[place.numa_node.value];
    }
    if (!spin) options.spin_ns = 0;
    options.budget.scan_ns = uint64_t{resolved_.options.scan_slice_us} * 1000;
    std::unique_ptr<aeu::Aeu> aeu;
    const auto make = [&] {
      aeu = MakeAeu(place.aeu);
      return aeu.get();
    };
    threads_.push_back(std::make_unique<aeu::AeuThread>(make, core_.directory[place.aeu], options));
    aeus_.push_back(std::move(aeu));
  }
}

void EngineImpl::ShowLoads() {
  for (const auto& aeu : aeus_) core_.load_boards.push_back(&aeu->loads());
}

void EngineImpl::MakeBalancer() {
  step_sender_ = std::make_unique<AeuStepSender>(core_, *admin_);
  transfers_ = std::make_unique<TransferExecutor>(core_, *step_sender_);
  const auto sample = [this](const ObjectEntry& object) -> absl::StatusOr<balancer::LoadSample> {
    ERIS_ASSIGN_OR_RETURN(balancer::LoadSample load, SampleLoad(object.name));
    if (load.object == object.route.object()) return load;
    return Error(ErrorReason::kObjectDropped,
                 absl::StrCat("object \"", object.name, "\" has been dropped"));
  };
  const auto quiet = [this](const ObjectEntry& object) { return LoadStaysQuiet(object); };
  std::vector<NumaNodeId> pools;
  for (const topology::AeuPlace& place : resolved_.plan.aeus) {
    pools.push_back(memory_.pool(place.numa_node).id());
  }
  home_calls_ = std::make_unique<HomeCalls>(
      core_, std::move(pools), [this](NumaNodeId id) { return memory_.pool(id).RoomBytes(); },
      [this](AeuId id) {
        const aeu::LoadCounters& counters = aeus_[id.value]->counters();
        return HomeCalls::Figures{.left = counters.objects_left.Read(),
                                  .under_way = counters.homecomings.Read()};
      });
  // Interleaved memory has no home.
  const bool interleaved = resolved_.options.memory_placement == MemoryPlacement::kInterleaved;
  balancer_ = std::make_unique<BalancerLoop>(
      core_, *transfers_, sample, quiet,
      [this, before = std::vector<uint64_t>(aeus_.size()), looked_ns = aeu::NowNs()]() mutable {
        const uint64_t now_ns = aeu::NowNs();
        const auto passed_ns = static_cast<double>(std::max<uint64_t>(now_ns - looked_ns, 1));
        looked_ns = now_ns;
        double busiest = 0;
        for (size_t i = 0; i < aeus_.size(); ++i) {
          const uint64_t busy_ns = aeus_[i]->counters().busy_ns.Read();
          busiest = std::max(busiest, static_cast<double>(busy_ns - before[i]) / passed_ns);
          before[i] = busy_ns;
        }
        return busiest;
      },
      [this, interleaved] {
        if (!interleaved) home_calls_->Look();
      },
      MakePlanWorld(resolved_), resolved_.options.balancer);
}

void EngineImpl::CollectNotes() {
  notes_ = resolved_.plan.notes;
  for (size_t i = 0; i < threads_.size(); ++i) {
    const absl::Status bound = threads_[i]->binding_status();
    if (bound.ok()) continue;
    notes_.push_back(absl::StrCat("AEUs run unpinned: ", bound.message()));
    pinned_ = false;
    break;  // reported once: the other AEUs get the same answer
  }
  const absl::Status pinned = core_.session_nodes.binding_status();
  if (pinned_ && !pinned.ok()) {  // otherwise the reason has been said
    notes_.push_back(absl::StrCat("completion threads run unpinned: ", pinned.message()));
  }
  if (const absl::Status bound = memory_.binding_status(); !bound.ok()) {
    notes_.push_back(absl::StrCat("memory is not bound to NumaNodes: ", bound.message()));
  }
}

void EngineImpl::BeginSampling(ObjectId object) {
  base::MutexLock lock(&samplers_mu_);
  samplers_.try_emplace(object, aeu::NowNs());
}

void EngineImpl::EndSampling(ObjectId object) {
  base::MutexLock lock(&samplers_mu_);
  samplers_.erase(object);
}

absl::StatusOr<balancer::LoadSample> EngineImpl::SampleLoad(absl::string_view name) {
  ERIS_ASSIGN_OR_RETURN(const ObjectRef object, core_.catalogue.Find(name));
  const LoadReading reading = ReadLoads(*object, aeus_);
  const uint64_t period_ns = SamplingPeriodNs();
  base::MutexLock lock(&samplers_mu_);
  const auto sampler = samplers_.find(object->route.object());
  if (sampler == samplers_.end()) {
    return absl::NotFoundError(absl::StrCat("object \"", name, "\" comes or goes"));
  }
  return sampler->second.Sample(object->route.object(), reading.partitions, reading.aeus,
                                aeu::NowNs(), period_ns);
}

bool EngineImpl::LoadStaysQuiet(const ObjectEntry& object) {
  uint64_t keys = 0;
  for (const auto& aeu : aeus_) keys += aeu->loads().KeysOf(object.route.object());
  const uint64_t period_ns = SamplingPeriodNs();
  base::MutexLock lock(&samplers_mu_);
  const auto sampler = samplers_.find(object.route.object());
  return sampler != samplers_.end() && sampler->second.StaysQuiet(keys, aeu::NowNs(), period_ns);
}

// Sampled load loses half its weight after each period.
uint64_t EngineImpl::SamplingPeriodNs() const {
  return uint64_t{balancer_->options().period_ms} * 1'000'000;
}

void EngineImpl::DeferCallbacks() {
  core_.session_nodes.Defer();
  routing::TurnVisits::Want(true);
}

void EngineImpl::RunCallbacks() {
  routing::TurnVisits::Want(false);
  core_.session_nodes.RunDeferred();
}

std::unique_ptr<Session> EngineImpl::NewSession() {
  return std::make_unique<SessionImpl>(core_, core_.session_nodes.Here());
}

absl::StatusOr<std::unique_ptr<Session>> EngineImpl::NewSession(NumaNodeId numa_node) try {
  const size_t numa_nodes = resolved_.topology.numa_nodes().size();
  if (numa_node.value >= numa_nodes) {
    return absl::InvalidArgumentError(absl::StrCat("NumaNode ", numa_node.value, " of ", numa_nodes,
                                                   ": the machine's have the numbers 0 to ",
                                                   numa_nodes - 1));
  }
  return std::make_unique<SessionImpl>(core_, core_.session_nodes.NearestTo(numa_node));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Snapshot>> EngineImpl::TakeSnapshot() try {
  return engine::TakeSnapshot(core_);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

EngineStats EngineImpl::Stats() {
  EngineStats stats;
  std::vector<aeu::ObjectTotals> of_aeus(aeus_.size());
  stats.objects = DescribeAll(of_aeus);
  std::map<NumaNodeId, uint64_t> used_by_pool;
  for (const topology::AeuPlace& place : resolved_.plan.aeus) {
    const aeu::Aeu& aeu = *aeus_[place.aeu.value];
    const aeu::LoadCounters& counters = aeu.counters();
    AeuStats one{.id = place.aeu,
                 .numa_node = place.numa_node,
                 .cpu = pinned_ ? place.cpu : -1,
                 .turns = counters.turns.Read(),
                 .parks = counters.parks.Read(),
                 .busy_ns = counters.busy_ns.Read(),
                 .commands = counters.commands.Read(),
                 .keys = counters.keys.Read(),
                 .rows_scanned = counters.rows_scanned.Read(),
                 .routing = aeu.Routing(),
                 .tasks = core_.tasks->Stats(aeu.id().value),
                 .bytes_brought_home = counters.bytes_brought_home.Read(),
                 .bytes_remapped = counters.bytes_remapped.Read(),
                 .homecomings = counters.homecomings.Read(),
                 .homecomings_refused = counters.homecomings_refused.Read()};
    one.memory_bytes = of_aeus[place.aeu.value].memory_bytes;
    one.rows = of_aeus[place.aeu.value].rows;
    used_by_pool[memory_.pool(place.numa_node).id()] += one.memory_bytes;
    stats.aeus.push_back(one);
  }
  for (const topology::NumaNode& node : resolved_.topology.numa_nodes()) {
    NumaNodeStats one{.id = node.id};
    if (memory_.has_own_pool(node.id)) {
      const memory::NumaNodePool& pool = memory_.pool(node.id);
      one.reserved_bytes = pool.reserved_bytes();
      one.used_bytes = used_by_pool[node.id];
      one.bound = !resolved_.topology.synthetic() && pool.binding_status().ok();
    }
    stats.numa_nodes.push_back(one);
  }
  stats.memory_limit_bytes = resolved_.options.memory_limit_bytes;
  stats.scans_open = core_.scans.size();
  stats.scan_chunks_in_use = core_.chunks->in_use() + core_.table_chunks->in_use();
  stats.requests_in_flight = core_.in_flight.count();
  const routing::SentBetween sent = core_.directory.ports().Sent();
  for (NumaNodeStats& one : stats.numa_nodes) {
    one.keys_sent_to.assign(stats.numa_nodes.size(), 0);
    if (one.id.value >= sent.size()) continue;
    std::ranges::copy(sent[one.id.value], one.keys_sent_to.begin());
  }
  // The registry includes the AEUs' Ports.
  const routing::PortFigures all = core_.directory.ports().Total();
  stats.sessions_routing = {.sent = all.sent, .refused = all.refused, .wakes = all.wakes};
  for (const AeuStats& one : stats.aeus) {
    stats.sessions_routing.sent -= one.routing.sent;
    stats.sessions_routing.refused -= one.routing.refused;
    stats.sessions_routing.wakes -= one.routing.wakes;
  }
  return stats;
}

BalancerStatus EngineImpl::Balancer() { return balancer_->Status(); }

std::vector<TransferRecord> EngineImpl::TransferHistory() { return transfers_->history().Newest(); }

absl::StatusOr<HotRanges> EngineImpl::FindHotRanges(absl::string_view name,
                                                    uint32_t ranges_max) try {
  if (ranges_max < 1 || ranges_max > kHotRangesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("ranges_max is ", ranges_max, ", must be between 1 and ", kHotRangesMax));
  }
  ERIS_ASSIGN_OR_RETURN(const ObjectRef object, core_.catalogue.Find(name));
  ERIS_ASSIGN_OR_RETURN(const balancer::LoadSample sample, SampleLoad(name));
  return HotRangesOf(sample, object->kind == ObjectKind::kHeapTable, ranges_max);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status EngineImpl::SetBalancer(const BalancerOptions& options) try {
  return balancer_->Set(options);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status EngineImpl::SetTaskScheduling(TaskScheduling scheduling) {
  ERIS_RETURN_IF_ERROR(CheckTaskScheduling(scheduling));
  core_.tasks->SetScheduling(scheduling);
  return absl::OkStatus();
}

void EngineImpl::PauseBalancer() { balancer_->Pause(); }

void EngineImpl::ResumeBalancer() { balancer_->Resume(); }

absl::StatusOr<BalancePlan> EngineImpl::PlanBalance(absl::string_view name) try {
  return balancer_->Plan(name);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<BalancePlan> EngineImpl::Rebalance(absl::string_view name, absl::Time deadline,
                                                  MoveStop* stop) try {
  return balancer_->Rebalance(name, {deadline, stop});
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status EngineImpl::Presplit(absl::string_view name, const KeyRange& range, uint32_t parts,
                                  absl::Time deadline, MoveStop* stop) try {
  return balancer_->Presplit(name, range, parts, {deadline, stop});
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status EngineImpl::MoveRange(absl::string_view name, const KeyRange& range, AeuId to,
                                   std::optional<TransferKind> kind, absl::Time deadline,
                                   MoveStop* stop) try {
  return balancer_->MoveRange(name, range, to, kind, {deadline, stop});
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

void EngineImpl::Close() {
  ERIS_CHECK(!core_.session_nodes.OnCompletionThread());  // it would wait for itself
  base::MutexLock lock(&close_mu_);
  if (closed_) return;
  closed_ = true;
  core_.in_flight.Close();
  if (balancer_) balancer_->Stop();
  CancelAll(core_.scans);
  CancelAll(core_.joins);
  CancelAll(core_.queries);
  core_.in_flight.AwaitNone();
  threads_.clear();
  core_.session_nodes.Stop();
  core_.resends.Stop();
  ERIS_DCHECK(NothingLost());
}

bool EngineImpl::NothingLost() const {
  uint64_t delivered = 0;
  for (const auto& aeu : aeus_) {
    const RoutingStats routing = aeu->Routing();
    if (routing.delivered != routing.answered + routing.forwarded) return false;
    delivered += routing.delivered;
  }
  return core_.directory.ports().Total().sent == delivered;
}

}  // namespace eris::engine
