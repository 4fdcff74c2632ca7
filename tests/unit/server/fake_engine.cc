#include "tests/unit/server/fake_engine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace eris {

ScanChunk::ScanChunk(std::shared_ptr<Buffer> buffer) : buffer_(std::move(buffer)) {}
ScanChunk::ScanChunk(ScanChunk&&) noexcept = default;
ScanChunk& ScanChunk::operator=(ScanChunk&&) noexcept = default;
ScanChunk::~ScanChunk() = default;
absl::Span<const uint64_t> ScanChunk::keys() const { return buffer_->keys; }
absl::Span<const uint64_t> ScanChunk::second_keys() const { return buffer_->second_keys; }
absl::Span<const uint64_t> ScanChunk::values() const { return buffer_->values; }
absl::string_view ScanChunk::bytes(size_t) const { return {}; }
const std::optional<KeyRange>& ScanChunk::rest() const { return buffer_->rest; }

}  // namespace eris

namespace eris::server {

namespace {
absl::Status Unknown(absl::string_view name) {
  return absl::NotFoundError(absl::StrCat("no object ", name));
}
absl::Status Closing() { return absl::UnavailableError("the engine is closing"); }
}  // namespace

// A request taken: `run` completes it for real, `fail` with a status. Exactly one is called, once.
struct FakeEngine::Request {
  std::function<void()> run;
  std::function<void(absl::Status)> fail;
  bool ended = false;  // guarded by the engine's mutex
};

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

class FakeScan final : public Scan {
 public:
  FakeScan(FakeEngine* engine, std::string object, const ScanOptions& options)
      : engine_(engine),
        object_(std::move(object)),
        options_(options),
        rest_(options.range),
        left_(options.limit) {}
  ~FakeScan() override {
    Cancel();
    base::MutexLock lock(&engine_->mu_);
    --engine_->scans_open_;
  }
  absl::StatusOr<std::optional<ScanChunk>> Next(absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  void NextAsync(Callback done) override {
    auto callback = std::make_shared<Callback>(std::move(done));
    auto request = std::make_shared<FakeEngine::Request>();
    request->run = [this, callback] { std::move (*callback)(Slice()); };
    request->fail = [callback](absl::Status status) { std::move (*callback)(std::move(status)); };
    base::MutexLock lock(&engine_->mu_);
    if (cancelled_) {
      request->ended = true;
      engine_->Post([request] { request->fail(absl::CancelledError("scan cancelled")); });
      return;
    }
    if (engine_->hold_) {
      under_way_ = request;
      engine_->held_.push_back(request);
      return;
    }
    request->ended = true;
    engine_->Post([request] { request->run(); });
  }
  void Cancel() override {
    base::MutexLock lock(&engine_->mu_);
    cancelled_ = true;
    auto request = std::move(under_way_);
    if (request == nullptr || request->ended) return;
    request->ended = true;
    std::erase(engine_->held_, request);
    engine_->Post([request] { request->fail(absl::CancelledError("scan cancelled")); });
  }

 private:
  absl::StatusOr<std::optional<ScanChunk>> Slice() {
    base::MutexLock lock(&engine_->mu_);
    const auto found = engine_->objects_.find(object_);
    if (found == engine_->objects_.end()) return Unknown(object_);
    auto buffer = std::make_shared<ScanChunk::Buffer>();
    const auto& rows = found->second.rows;
    const bool two_parts = found->second.info.key_type.two_parts();
    if (!rest_) return std::optional<ScanChunk>();
    // All that is left, in the scan's order.
    std::vector<std::pair<FakeEngine::Key, uint64_t>> left;
    for (const auto& row : rows) {
      if (FakeEngine::Contains(*rest_, row.first) &&
          (!options_.values || options_.values->Contains(row.second))) {
        left.push_back(row);
      }
    }
    const bool backward = options_.direction == ScanDirection::kBackward;
    if (backward) std::reverse(left.begin(), left.end());
    size_t count = std::min(left.size(), engine_->rows_per_chunk);
    if (left_ != 0) count = std::min<size_t>(count, left_);
    if (count == 0) return std::optional<ScanChunk>();
    for (size_t i = 0; i < count; ++i) {
      buffer->keys.push_back(left[i].first.first);
      if (two_parts) buffer->second_keys.push_back(left[i].first.second);
      if (!options_.keys_only) buffer->values.push_back(left[i].second);
    }
    const bool limit_reached = left_ == count;
    if (left_ != 0) left_ -= count;
    if (count == left.size() || limit_reached) {
      rest_.reset();
    } else if (backward) {
      const auto [first, second] = left[count].first;
      const bool next_first = !two_parts || second == ~uint64_t{0};
      rest_->hi = next_first ? first + 1 : first;
      rest_->hi_second = next_first ? 0 : second + 1;
    } else {
      std::tie(rest_->lo, rest_->lo_second) = left[count].first;
    }
    buffer->rest = rest_;
    ++engine_->chunks_out_;
    buffer->on_destroy = [engine = engine_] {
      base::MutexLock destroy_lock(&engine->mu_);
      --engine->chunks_out_;
    };
    return std::optional<ScanChunk>(ScanChunk(std::move(buffer)));
  }

  FakeEngine* const engine_;
  const std::string object_;
  const ScanOptions options_;
  std::optional<KeyRange> rest_;
  uint64_t left_;
  bool cancelled_ = false;  // guarded by the engine's mutex, as the next
  std::shared_ptr<FakeEngine::Request> under_way_;
};

class FakeSession final : public Session {
 public:
  explicit FakeSession(FakeEngine* engine) : engine_(engine) {}

  absl::Status Lookup(absl::string_view, const KeyColumns&, absl::Span<uint64_t>,
                      absl::Span<uint8_t>, absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::Status Upsert(absl::string_view, const KeyColumns&, absl::Span<const uint64_t>,
                      absl::Span<uint8_t>, absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::Status Erase(absl::string_view, const KeyColumns&, absl::Span<uint8_t>,
                     absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::Status Write(absl::string_view, const WriteBatch&, const WriteColumns&,
                     absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::StatusOr<std::shared_ptr<Pending>> LookupAsync(absl::string_view object,
                                                       const KeyColumns& keys,
                                                       Callback done) override {
    return Begin(object, keys, std::move(done),
                 [](auto& rows, const auto& key, size_t i, auto& result) {
                   const auto row = rows.find(key);
                   if (row == rows.end()) return false;
                   std::memcpy(result.values.data() + 8 * i, &row->second, 8);
                   return true;
                 });
  }
  absl::StatusOr<std::shared_ptr<Pending>> UpsertAsync(absl::string_view object,
                                                       const KeyColumns& keys,
                                                       absl::Span<const uint64_t> values,
                                                       Callback done) override {
    std::vector<uint64_t> copy(values.begin(), values.end());
    return Begin(object, keys, std::move(done),
                 [copy = std::move(copy)](auto& rows, const auto& key, size_t i, auto&) {
                   return !rows.insert_or_assign(key, copy[i]).second;
                 });
  }
  absl::StatusOr<std::shared_ptr<Pending>> EraseAsync(absl::string_view object,
                                                      const KeyColumns& keys,
                                                      Callback done) override {
    return Begin(object, keys, std::move(done),
                 [](auto& rows, const auto& key, size_t, auto&) { return rows.erase(key) == 1; });
  }
  absl::StatusOr<std::shared_ptr<Pending>> WriteAsync(absl::string_view object,
                                                      const WriteBatch& batch,
                                                      Callback done) override {
    const bool compares = batch.mode == WriteMode::kCompareAndSet;
    if (batch.expected.size() != (compares ? batch.keys.size() : 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(batch.expected.size(), " expected values for ", batch.keys.size(), " keys"));
    }
    std::vector<uint64_t> values(batch.values.begin(), batch.values.end());
    std::vector<uint64_t> expected(batch.expected.begin(), batch.expected.end());
    return Begin(object, batch.keys, std::move(done),
                 [engine = engine_, mode = batch.mode, values = std::move(values),
                  expected = std::move(expected)](auto& rows, const auto& key, size_t i,
                                                  BatchResult& result) {
                   return engine->WriteOne(rows, key, i, mode, values, expected, result);
                 });
  }
  // Byte strings are tested with a real engine.
  absl::StatusOr<ValueType> ValueTypeOf(absl::string_view) override { return ValueType::kUint64; }
  absl::Status LookupBytes(absl::string_view, absl::Span<const uint64_t>, BytesColumn&,
                           absl::Span<uint8_t>, absl::Span<uint8_t>, absl::Time) override {
    return absl::UnimplementedError("the fake has no byte strings");
  }
  absl::Status UpsertBytes(absl::string_view, absl::Span<const uint64_t>,
                           absl::Span<const absl::string_view>, absl::Span<uint8_t>,
                           absl::Time) override {
    return absl::UnimplementedError("the fake has no byte strings");
  }
  absl::Status WriteBytes(absl::string_view, const BytesWriteBatch&, const BytesWriteColumns&,
                          absl::Time) override {
    return absl::UnimplementedError("the fake has no byte strings");
  }
  absl::StatusOr<std::shared_ptr<Pending>> LookupBytesAsync(absl::string_view,
                                                            absl::Span<const uint64_t>, uint64_t,
                                                            Callback) override {
    return absl::UnimplementedError("the fake has no byte strings");
  }
  absl::StatusOr<std::shared_ptr<Pending>> UpsertBytesAsync(absl::string_view,
                                                            absl::Span<const uint64_t>,
                                                            absl::Span<const absl::string_view>,
                                                            Callback) override {
    return absl::UnimplementedError("the fake has no byte strings");
  }
  absl::StatusOr<std::shared_ptr<Pending>> WriteBytesAsync(absl::string_view,
                                                           const BytesWriteBatch&,
                                                           Callback) override {
    return absl::UnimplementedError("the fake has no byte strings");
  }
  absl::StatusOr<std::unique_ptr<Scan>> OpenScan(absl::string_view object,
                                                 const ScanOptions& options) override {
    if (options.range.Inverted()) {
      return absl::InvalidArgumentError("inverted range");
    }
    base::MutexLock lock(&engine_->mu_);
    if (engine_->closed_) return Closing();
    if (!engine_->objects_.contains(std::string(object))) return Unknown(object);
    ++engine_->scans_open_;
    return std::make_unique<FakeScan>(engine_, std::string(object), options);
  }
  absl::StatusOr<RangeAggregate> Aggregate(absl::string_view, const AggregateOptions&,
                                           absl::Time) override {
    return absl::UnimplementedError("the server does not block");
  }
  absl::StatusOr<std::shared_ptr<Pending>> AggregateAsync(absl::string_view object,
                                                          const AggregateOptions& options,
                                                          AggregateCallback done) override {
    base::MutexLock lock(&engine_->mu_);
    if (engine_->closed_) return Closing();
    if (!engine_->refuse_.ok()) return engine_->refuse_;
    if (!engine_->objects_.contains(std::string(object))) return Unknown(object);
    auto callback = std::make_shared<AggregateCallback>(std::move(done));
    auto request = std::make_shared<FakeEngine::Request>();
    request->run = [engine = engine_, name = std::string(object), options, callback] {
      RangeAggregate sum;
      {
        base::MutexLock run_lock(&engine->mu_);
        for (const auto& [key, value] : engine->objects_[name].rows) {
          if (!FakeEngine::Contains(options.range, key)) continue;
          if (options.values && !options.values->Contains(value)) continue;
          if (options.count_only) {
            ++sum.count;
          } else {
            sum.Add({1, value, value, value, 0, key.first, key.first, key.second, key.second});
          }
        }
      }
      std::move (*callback)(sum);
    };
    request->fail = [callback](absl::Status status) { std::move (*callback)(std::move(status)); };
    if (engine_->hold_) {
      engine_->held_.push_back(request);
    } else {
      request->ended = true;
      engine_->Post([request] { request->run(); });
    }
    return std::make_shared<FakePending>(engine_, std::move(request));
  }
  absl::StatusOr<KeyTypes> KeyTypesOf(absl::string_view object) override {
    base::MutexLock lock(&engine_->mu_);
    const auto found = engine_->objects_.find(std::string(object));
    if (found == engine_->objects_.end()) return Unknown(object);
    return found->second.info.key_type;
  }
  // No service asks for joins.
  absl::StatusOr<std::unique_ptr<Join>> OpenJoin(absl::string_view, absl::string_view,
                                                 const JoinOptions&) override {
    return absl::UnimplementedError("the fake joins nothing");
  }

 private:
  template <class Operation>
  absl::StatusOr<std::shared_ptr<Pending>> Begin(absl::string_view object, const KeyColumns& keys,
                                                 Callback done, Operation operation) {
    base::MutexLock lock(&engine_->mu_);
    if (engine_->closed_) return Closing();
    if (!engine_->refuse_.ok()) return engine_->refuse_;
    const auto known = engine_->objects_.find(std::string(object));
    if (known == engine_->objects_.end()) return Unknown(object);
    if (known->second.info.key_type.two_parts() != keys.two_parts() ||
        (keys.two_parts() && keys.first().size() != keys.second().size())) {
      return absl::InvalidArgumentError("the fake was given keys of the wrong width");
    }
    std::vector<FakeEngine::Key> copy;
    for (size_t i = 0; i < keys.size(); ++i) {
      copy.emplace_back(keys.first()[i], keys.two_parts() ? keys.second()[i] : 0);
    }
    auto callback = std::make_shared<Callback>(std::move(done));
    auto request = std::make_shared<FakeEngine::Request>();
    request->run = [engine = engine_, name = std::string(object), copy = std::move(copy), callback,
                    operation] {
      BatchResult result;
      result.count = static_cast<uint32_t>(copy.size());
      result.values.resize(copy.size() * 8);
      result.present.resize((copy.size() + 7) / 8);
      {
        base::MutexLock run_lock(&engine->mu_);
        const auto found = engine->objects_.find(name);
        if (found == engine->objects_.end()) result.status = Unknown(name);
        for (size_t i = 0; i < copy.size() && found != engine->objects_.end(); ++i) {
          if (operation(found->second.rows, copy[i], i, result)) {
            result.present[i >> 3] = static_cast<char>(result.present[i >> 3] | (1 << (i & 7)));
          }
        }
      }
      std::move (*callback)(std::move(result));
    };
    request->fail = [callback](absl::Status status) {
      BatchResult result;
      result.status = std::move(status);
      std::move (*callback)(std::move(result));
    };
    if (engine_->hold_) {
      engine_->held_.push_back(request);
    } else {
      request->ended = true;
      engine_->Post([request] { request->run(); });
    }
    return std::make_shared<FakePending>(engine_, std::move(request));
  }

  FakeEngine* const engine_;
};

bool FakeEngine::Contains(const KeyRange& range, const Key& key) {
  return key >= Key(range.lo, range.lo_second) &&
         (!range.hi || key < Key(*range.hi, range.hi_second));
}

// The key was there before.
bool FakeEngine::WriteOne(Rows& rows, const Key& key, size_t i, WriteMode mode,
                          const std::vector<uint64_t>& values,
                          const std::vector<uint64_t>& expected, BatchResult& result) {
  const auto set = [&](std::string& bits) {
    bits[i >> 3] = static_cast<char>(bits[i >> 3] | (1 << (i & 7)));
  };
  result.applied.resize(result.present.size());
  result.executed.resize(result.present.size());
  if (refused_keys_.contains(key.first)) {
    ++result.refused;
    result.status = absl::ResourceExhaustedError("the fake has no memory for some keys");
    return false;
  }
  set(result.executed);
  const auto row = rows.find(key);
  const bool there = row != rows.end();
  uint64_t answer = there ? row->second : 0;
  bool applies = true;
  if (mode == WriteMode::kInsertIfAbsent) applies = !there;
  if (mode == WriteMode::kReplaceIfPresent) applies = there;
  if (mode == WriteMode::kCompareAndSet) applies = there && row->second == expected[i];
  const uint64_t stored = mode == WriteMode::kAdd ? answer + values[i] : values[i];
  if (mode == WriteMode::kAdd) answer = stored;
  if (applies) {
    rows[key] = stored;
    set(result.applied);
  }
  std::memcpy(result.values.data() + 8 * i, &answer, 8);
  return there;
}

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
  where->second.info.name = std::string(name);
  where->second.info.id = ObjectId{next_id_++};
  where->second.info.key_type = options.key_type;
  where->second.info.kind = options.kind;
  where->second.info.partition_starts = {0};
  for (uint64_t point : options.split_points) {
    where->second.info.partition_starts.push_back(point);
  }
  for (uint32_t i = 0; i < where->second.info.partition_starts.size(); ++i) {
    where->second.info.partition_owners.push_back(AeuId{i});
  }
  return where->second.info;
}

absl::Status FakeEngine::Drop(absl::string_view name) {
  base::MutexLock lock(&mu_);
  return objects_.erase(std::string(name)) == 1 ? absl::OkStatus() : Unknown(name);
}

absl::StatusOr<ObjectInfo> FakeEngine::Describe(absl::string_view name) {
  base::MutexLock lock(&mu_);
  const auto found = objects_.find(std::string(name));
  if (found == objects_.end()) return Unknown(name);
  ObjectInfo info = found->second.info;
  info.keys = found->second.rows.size();
  return info;
}

std::vector<ObjectInfo> FakeEngine::List() {
  base::MutexLock lock(&mu_);
  std::vector<ObjectInfo> infos;
  for (const auto& [name, object] : objects_) infos.push_back(object.info);
  return infos;
}

std::unique_ptr<Session> FakeEngine::NewSession() {
  base::MutexLock lock(&mu_);
  ++sessions_made_;
  return std::make_unique<FakeSession>(this);
}

EngineStats FakeEngine::Stats() {
  EngineStats stats;
  stats.aeus.resize(2);
  stats.aeus[0].keys = 7;
  stats.aeus[1].id = AeuId{1};
  stats.numa_nodes.resize(1);
  stats.numa_nodes[0].bound = true;
  stats.objects = List();
  stats.memory_limit_bytes = 1 << 20;
  return stats;
}

MemoryStats FakeEngine::Memory() {
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
  return MemoryVerification{.numa_nodes = {std::move(one)}};
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
  base::MutexLock lock(&mu_);
  hold_ = false;
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
int FakeEngine::scans_open() const {
  base::MutexLock lock(&mu_);
  return scans_open_;
}
int FakeEngine::chunks_out() const {
  base::MutexLock lock(&mu_);
  return chunks_out_;
}
int FakeEngine::sessions_made() const {
  base::MutexLock lock(&mu_);
  return sessions_made_;
}
absl::Time FakeEngine::last_deadline() const {
  base::MutexLock lock(&mu_);
  return last_deadline_;
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
