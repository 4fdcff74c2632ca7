// An engine for tests of the server: ordered maps behind one mutex, completions on one thread, and
// the means to hold requests back as a slow AEU would. Answers what include/eris/engine.h promises.
#ifndef ERIS_TESTS_UNIT_SERVER_FAKE_ENGINE_H_
#define ERIS_TESTS_UNIT_SERVER_FAKE_ENGINE_H_

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "eris/engine.h"
#include "tests/unit/server/fake_rows.h"

namespace eris::server {

inline bool Contains(const KeyRange& range, const FakeKey& key) {
  return key >= FakeKey(range.lo, range.lo_second) &&
         (!range.hi || key < FakeKey(*range.hi, range.hi_second));
}

class FakeEngine final : public Engine {
 public:
  FakeEngine();
  ~FakeEngine() override;

  absl::StatusOr<ObjectInfo> Create(absl::string_view name, const CreateOptions& options) override;
  absl::StatusOr<std::shared_ptr<Snapshot>> TakeSnapshot() override;
  absl::Status Drop(absl::string_view name) override;
  // FailedPrecondition if the object does not have `rows` rows. Writes are not counted.
  absl::Status DropIfWritten(absl::string_view name, ObjectId id, uint64_t rows) override;
  absl::StatusOr<ObjectInfo> Describe(absl::string_view name) override;
  std::vector<ObjectInfo> List() override;
  std::unique_ptr<Session> NewSession() override;
  absl::StatusOr<std::unique_ptr<Session>> NewSession(NumaNodeId numa_node) override;
  // On which NumaNode all threads are, and belong new sessions.
  void MoveThreadsTo(NumaNodeId numa_node) { here_.store(numa_node); }
  // Each call of NumaNodeHere, also for a new session, answers the next of so many.
  void TakeTurns(uint32_t numa_nodes) { turns_.store(numa_nodes); }
  NumaNodeId NumaNodeHere() override {
    const uint32_t turns = turns_.load();
    return turns == 0 ? here_.load() : NumaNodeId{turn_.fetch_add(1) % turns};
  }
  void DeferCallbacks() override {}
  void RunCallbacks() override {}
  EngineStats Stats() override;
  using Engine::Memory;
  MemoryStats Memory(const MemoryStatsOptions& options) override;
  absl::StatusOr<MemoryVerification> VerifyMemory(const VerifyMemoryOptions& options,
                                                  absl::Time deadline) override;
  std::string ExplainTopology() const override { return "a fake machine\n"; }
  // fake_balancer.cc has these. Nothing moves: what was asked for is kept for the test.
  BalancerStatus Balancer() override;
  std::vector<TransferRecord> TransferHistory() override;
  absl::StatusOr<HotRanges> FindHotRanges(absl::string_view name, uint32_t ranges_max) override;
  absl::Status SetBalancer(const BalancerOptions& options) override;
  absl::Status SetTaskScheduling(TaskScheduling scheduling) override {
    scheduling_ = scheduling;
    return absl::OkStatus();
  }
  TaskScheduling scheduling() const { return scheduling_; }
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

  // While held, requests and scan slices are taken but not completed; cancelling completes them.
  void Hold();
  void Release();
  // Completes what is held now, and goes on holding.
  void ReleaseHeld();
  // Refuses the following requests with `status`, as a full incoming buffer would.
  void RefuseWith(absl::Status status);
  // Writes refuse these (first parts of) keys from now on, as at the memory limit, and execute the
  // others.
  void RefuseKeys(std::set<uint64_t> keys);

  // What a test looks at. Requests taken and not completed, scans alive, chunks not given back.
  int held() const;
  int scans_open() const { return Get(&FakeEngine::scans_open_); }
  int chunks_out() const { return Get(&FakeEngine::chunks_out_); }
  int sessions_made() const { return Get(&FakeEngine::sessions_made_); }
  absl::Time last_deadline() const { return Get(&FakeEngine::last_deadline_); }
  // Blocks until `condition` of the numbers above holds; false after ten seconds.
  bool AwaitHeld(int n) const {
    return Await([&] { return held() == n; });
  }
  static bool Await(const std::function<bool()>& condition);

  // Snapshots alive, those of scans too; what was asked last.
  int snapshots_held() const { return snapshots_held_.load(std::memory_order_relaxed); }
  // Without its snapshot, which it would keep.
  Query last_query() const { return Get(&FakeEngine::last_query_); }
  bool last_query_had_snapshot() const { return Get(&FakeEngine::last_query_had_snapshot_); }
  CreateOptions last_create() const { return Get(&FakeEngine::last_create_); }

  // The balancer's calls. While held, calls that move ranges wait as for a long copy, until a pause
  // or their deadline.
  void HoldMoves(bool hold);
  // While held, VerifyMemory does not return.
  void HoldVerifying(bool hold);
  int verifying() const { return Get(&FakeEngine::verifying_); }
  // While held, OpenScan does not return, as while AEUs take nothing.
  void HoldOpening(bool hold);
  int opening() const { return Get(&FakeEngine::opening_); }
  // Calls of OpenScan so far, refused ones too.
  int opens() const { return Get(&FakeEngine::opens_); }
  void SetHistory(std::vector<TransferRecord> history);
  struct Move {
    std::string object{};
    KeyRange range{};
    uint32_t parts = 0;  // of Presplit
    AeuId to{};
    std::optional<TransferKind> kind{};
    absl::Time deadline{};
    MoveStop* stop = nullptr;  // only as long as the call is inside
  };
  Move last_move() const { return Get(&FakeEngine::last_move_); }
  // Calls that move: begun, and inside now.
  int moves() const { return Get(&FakeEngine::moves_); }
  int moving() const { return Get(&FakeEngine::moving_); }
  uint64_t balancer_pauses() const { return Get(&FakeEngine::balancer_pauses_); }

  size_t rows_per_chunk = 1000;  // set before the first scan

 private:
  friend class FakeSession;
  friend class FakeScan;
  friend class FakePending;
  friend class FakeSnapshot;
  // Shared with snapshots; a write copies them first.
  using SharedRows = std::shared_ptr<FakeRows>;
  struct Entry {
    ObjectInfo info;
    Object handle;
    SharedRows rows = std::make_shared<FakeRows>();
    uint64_t appended = 0;
  };

  TaskScheduling scheduling_{};
  // A request taken: `run` completes it for real, `fail` with a status. Exactly one is called,
  // once.
  struct Request {
    std::function<void()> run;
    std::function<void(absl::Status)> fail;
    bool ended = false;  // guarded by the engine's mutex
  };

  template <class Value>
  Value Get(Value FakeEngine::*member) const {
    base::MutexLock lock(&mu_);
    return this->*member;
  }
  absl::Status MoveNow(const Move& move);
  absl::Status AwaitMove(const Move& move, const bool& stopped);
  void Remember(const Query& query) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Takes a request, or completes it at once. `request` is neither held nor ended.
  std::shared_ptr<Pending> Take(std::shared_ptr<Request> request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RunCompletions();
  // Errors: NotFound, also where another object has the name.
  absl::StatusOr<Entry*> Find(const Object& object) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What refuses a request before it is taken.
  absl::Status Check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static FakeRows& Writable(Entry& entry);
  FakeRow WriteOne(Entry& entry, WriteMode mode, size_t i, FakeRow cells,
                   const std::vector<FakeRow>& expected, BatchResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<Snapshot> Snap() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Post(std::function<void()> completion) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable base::Mutex mu_;
  base::CondVar changed_;
  std::map<std::string, Entry> objects_ ABSL_GUARDED_BY(mu_);
  uint32_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  bool hold_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status refuse_ ABSL_GUARDED_BY(mu_);
  std::set<uint64_t> refused_keys_ ABSL_GUARDED_BY(mu_);
  Query last_query_ ABSL_GUARDED_BY(mu_);
  bool last_query_had_snapshot_ ABSL_GUARDED_BY(mu_) = false;
  CreateOptions last_create_ ABSL_GUARDED_BY(mu_);
  // Shared: counted by snapshots, read by tests.
  std::atomic<int> snapshots_held_{0};
  std::deque<std::shared_ptr<Request>> held_ ABSL_GUARDED_BY(mu_);
  std::atomic<NumaNodeId> here_{NumaNodeId{0}};
  std::atomic<uint32_t> turns_{0};  // 0: here_
  std::atomic<uint32_t> turn_{0};
  std::deque<std::function<void()>> completions_ ABSL_GUARDED_BY(mu_);
  int scans_open_ ABSL_GUARDED_BY(mu_) = 0;
  int chunks_out_ ABSL_GUARDED_BY(mu_) = 0;
  int sessions_made_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time last_deadline_ ABSL_GUARDED_BY(mu_);
  BalancerOptions balancer_options_ ABSL_GUARDED_BY(mu_);
  std::vector<TransferRecord> history_ ABSL_GUARDED_BY(mu_);
  Move last_move_ ABSL_GUARDED_BY(mu_);
  int moves_ ABSL_GUARDED_BY(mu_) = 0;
  int moving_ ABSL_GUARDED_BY(mu_) = 0;
  bool hold_moves_ ABSL_GUARDED_BY(mu_) = false;
  int verifying_ ABSL_GUARDED_BY(mu_) = 0;
  bool hold_verifying_ ABSL_GUARDED_BY(mu_) = false;
  int opening_ ABSL_GUARDED_BY(mu_) = 0;
  int opens_ ABSL_GUARDED_BY(mu_) = 0;
  bool hold_opening_ ABSL_GUARDED_BY(mu_) = false;
  bool balancer_paused_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t balancer_pauses_ ABSL_GUARDED_BY(mu_) = 0;
  std::thread completion_thread_;
};

}  // namespace eris::server

#endif  // ERIS_TESTS_UNIT_SERVER_FAKE_ENGINE_H_
