#include "tests/unit/server/fake_engine.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "eris/errors.h"

namespace eris::server {
namespace {
absl::Status Unknown(absl::string_view name) {
  return Error(ErrorReason::kObjectUnknown, absl::StrCat("no object ", name),
               {.field = "object", .value = std::string(name)});
}
absl::Status Closing() { return absl::UnavailableError("the engine is closing"); }
}  // namespace

class FakePending final : public Pending {
 public:
  FakePending(FakeEngine* engine, std::shared_ptr<FakeEngine::Request> request)
      : engine_(engine), request_(std::move(request)) {}
  void Cancel(absl::Status status) override {
    base::MutexLock lock(&engine_->mu_);
    if (request_->ended) return;
    request_->ended = true;
    std::erase(engine_->held_, request_);
    engine_->Post([request = request_, status] { request->fail(status); });
  }

 private:
  FakeEngine* const engine_;
  const std::shared_ptr<FakeEngine::Request> request_;
};

// The rows of all objects, by id.
class FakeSnapshot final : public Snapshot {
 public:
  explicit FakeSnapshot(std::atomic<int>* held) : held_(*held) {
    held_.fetch_add(1, std::memory_order_relaxed);  // relaxed, here and below: a count for tests
  }
  ~FakeSnapshot() override { held_.fetch_sub(1, std::memory_order_relaxed); }
  uint64_t epoch() const override { return 1; }
  bool aborted() const override { return false; }

  std::map<ObjectId, std::shared_ptr<const FakeRows>> rows;

 private:
  std::atomic<int>& held_;
};

std::shared_ptr<const FakeRows> RowsIn(const Snapshot& snapshot, ObjectId object) {
  const auto& rows = static_cast<const FakeSnapshot&>(snapshot).rows;
  const auto found = rows.find(object);
  return found == rows.end() ? std::make_shared<const FakeRows>() : found->second;
}

std::shared_ptr<Snapshot> FakeEngine::Snap() {
  auto snapshot = std::make_shared<FakeSnapshot>(&snapshots_held_);
  for (const auto& [name, entry] : objects_) snapshot->rows[entry.info.id] = entry.rows;
  return snapshot;
}

FakeRows& FakeEngine::Writable(Entry& entry) {
  if (entry.rows.use_count() > 1) entry.rows = std::make_shared<FakeRows>(*entry.rows);
  return *entry.rows;
}

absl::StatusOr<FakeEngine::Entry*> FakeEngine::Find(const Object& object) {
  const auto found = objects_.find(object.name());
  if (found == objects_.end() || found->second.info.id != object.id())
    return Unknown(object.name());
  return &found->second;
}

absl::Status FakeEngine::Check() const { return closed_ ? Closing() : refuse_; }

void FakeEngine::RefuseKeys(std::set<uint64_t> keys) {
  base::MutexLock lock(&mu_);
  refused_keys_ = std::move(keys);
}

FakeEngine::FakeEngine() : completion_thread_([this] { RunCompletions(); }) {}

FakeEngine::~FakeEngine() {
  Close();
  {
    base::MutexLock lock(&mu_);
    stop_ = true;
  }
  changed_.SignalAll();
  completion_thread_.join();
}

absl::StatusOr<ObjectInfo> FakeEngine::Create(absl::string_view name,
                                              const CreateOptions& options) {
  if (options.expected.Inverted()) {
    return absl::InvalidArgumentError("inverted range");
  }
  base::MutexLock lock(&mu_);
  auto [where, added] = objects_.try_emplace(std::string(name));
  if (!added) return absl::AlreadyExistsError(absl::StrCat("object ", name, " exists"));
  last_create_ = options;
  ObjectInfo& info = where->second.info;
  info.name = std::string(name);
  info.id = ObjectId{next_id_++};
  info.schema = options.schema;
  info.kind = options.kind;
  info.partition_starts = {0};
  for (uint64_t point : options.split_points) info.partition_starts.push_back(point);
  for (uint32_t i = 0; i < info.partition_starts.size(); ++i) {
    info.partition_owners.push_back(AeuId{i});
  }
  where->second.handle =
      Object(std::make_shared<Object::State>(info.name, info.id, info.kind, info.schema));
  return info;
}

std::shared_ptr<Pending> FakeEngine::Take(std::shared_ptr<Request> request) {
  if (hold_) {
    held_.push_back(request);
  } else {
    request->ended = true;
    Post([request] { request->run(); });
  }
  return std::make_shared<FakePending>(this, std::move(request));
}

absl::StatusOr<std::shared_ptr<Snapshot>> FakeEngine::TakeSnapshot() {
  base::MutexLock lock(&mu_);
  if (!refuse_.ok()) return refuse_;
  return Snap();
}

void FakeEngine::Remember(const Query& query) {
  last_query_ = query;
  last_query_had_snapshot_ = query.snapshot != nullptr;
  last_query_.snapshot.reset();
}

absl::Status FakeEngine::Drop(absl::string_view name) {
  base::MutexLock lock(&mu_);
  return objects_.erase(std::string(name)) == 1 ? absl::OkStatus() : Unknown(name);
}

absl::Status FakeEngine::DropIfWritten(absl::string_view name, ObjectId id, uint64_t rows) {
  const absl::StatusOr<ObjectInfo> info = Describe(name);
  if (!info.ok() || info->id != id) return Unknown(name);
  if (info->keys != rows) return absl::FailedPreconditionError("written by others");
  return Drop(name);
}

absl::StatusOr<ObjectInfo> FakeEngine::Describe(absl::string_view name) {
  base::MutexLock lock(&mu_);
  const auto found = objects_.find(std::string(name));
  if (found == objects_.end()) return Unknown(name);
  ObjectInfo info = found->second.info;
  info.keys = found->second.rows->size();
  return info;
}

std::vector<ObjectInfo> FakeEngine::List() {
  base::MutexLock lock(&mu_);
  std::vector<ObjectInfo> infos;
  for (const auto& [name, object] : objects_) infos.push_back(object.info);
  return infos;
}

EngineStats FakeEngine::Stats() {
  EngineStats stats;
  stats.aeus.resize(2);
  stats.aeus[0].keys = 7;
  stats.aeus[1].id = AeuId{1};
  stats.numa_nodes.resize(1);
  stats.numa_nodes[0].bound = true;
  stats.numa_nodes[0].keys_sent_to = {61};
  stats.objects = List();
  stats.memory_limit_bytes = 1 << 20;
  return stats;
}

MemoryStats FakeEngine::Memory(const MemoryStatsOptions&) {
  return {.limit_bytes = 1 << 20,
          .reserved_bytes = 1001,
          .superblock_bytes = 1002,
          .pages = {"small", "huge"},
          .numa_nodes = {{.id = NumaNodeId{3},
                          .bound = true,
                          .reserved_bytes = 1,
                          .in_use_bytes = 2,
                          .buffers_bytes = 3,
                          .kept_bytes = 4,
                          .ready_bytes = 5,
                          .reserved_huge_bytes = 6,
                          .mapped_bytes = 7}},
          .objects = {{.object = "orders",
                       .id = ObjectId{9},
                       .numa_node = NumaNodeId{3},
                       .committed_bytes = 11,
                       .used_bytes = 12,
                       .cached_bytes = 13,
                       .spare_bytes = 14,
                       .header_bytes = 15,
                       .extent_bytes = 16,
                       .spilled_bytes = 17,
                       .classes = {{.block_bytes = 64, .used_blocks = 5, .cached_blocks = 6}}}}};
}

absl::StatusOr<MemoryVerification> FakeEngine::VerifyMemory(const VerifyMemoryOptions& options,
                                                            absl::Time deadline) {
  if (options.pages_max > kVerifyPagesMax) return absl::InvalidArgumentError("too many pages");
  {
    base::MutexLock lock(&mu_);
    if (closed_) return Closing();
    last_deadline_ = deadline;
    ++verifying_;
    while (hold_verifying_) changed_.Wait(&mu_);
    --verifying_;
  }
  NumaNodePlacement one{.id = NumaNodeId{3},
                        .bound = true,
                        .os_numa_nodes = {8, 9},
                        .pages_asked = options.pages_max,
                        .pages_local = 2,
                        .pages_elsewhere = 3,
                        .pages_absent = 4,
                        .located = {{.os_numa_node = 8, .pages = 2, .local = true},
                                    {.os_numa_node = 1, .pages = 3, .addresses = {4096, 8192}}},
                        .resident_bytes = 21,
                        .anonymous_huge_bytes = 22,
                        .shared_huge_bytes = 23,
                        .reserved_huge_bytes = 24};
  MemoryVerification verification{.numa_nodes = {std::move(one)}};
  if (options.rows) {
    verification.rows = {{.object = "o",
                          .aeu = AeuId{31},
                          .numa_node = NumaNodeId{3},
                          .bytes = 32,
                          .remote_bytes = 33}};
  }
  return verification;
}

void FakeEngine::HoldOpening(bool hold) {
  base::MutexLock lock(&mu_);
  hold_opening_ = hold;
  changed_.SignalAll();
}

void FakeEngine::HoldVerifying(bool hold) {
  base::MutexLock lock(&mu_);
  hold_verifying_ = hold;
  changed_.SignalAll();
}

void FakeEngine::Close() {
  Release();
  base::MutexLock lock(&mu_);
  closed_ = true;
  while (!completions_.empty()) changed_.Wait(&mu_);
}

void FakeEngine::Hold() {
  base::MutexLock lock(&mu_);
  hold_ = true;
}

void FakeEngine::Release() {
  {
    base::MutexLock lock(&mu_);
    hold_ = false;
  }
  ReleaseHeld();
}

void FakeEngine::ReleaseHeld() {
  base::MutexLock lock(&mu_);
  for (auto& request : held_) {
    request->ended = true;
    Post([request] { request->run(); });
  }
  held_.clear();
}

void FakeEngine::RefuseWith(absl::Status status) {
  base::MutexLock lock(&mu_);
  refuse_ = std::move(status);
}

int FakeEngine::held() const {
  base::MutexLock lock(&mu_);
  return static_cast<int>(held_.size());
}

bool FakeEngine::Await(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void FakeEngine::Post(std::function<void()> completion) {
  completions_.push_back(std::move(completion));
  changed_.SignalAll();
}

void FakeEngine::RunCompletions() {
  base::MutexLock lock(&mu_);
  while (!stop_ || !completions_.empty()) {
    if (completions_.empty()) {
      changed_.Wait(&mu_);
      continue;
    }
    {
      std::function<void()> completion = completions_.front();
      mu_.Unlock();
      completion();
      completion = nullptr;
      mu_.Lock();
    }
    completions_.pop_front();
    changed_.SignalAll();
  }
}

}  // namespace eris::server
