#include "engine/sessions/session_impl.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "engine/core/snapshot.h"
#include "engine/objects/object_kinds.h"
#include "engine/reads/aggregate_call.h"
#include "engine/reads/join_state.h"
#include "engine/reads/scan_state.h"
#include "engine/sessions/async_call.h"
#include "engine/sessions/batch_checks.h"

namespace eris::engine {
namespace {

using routing::CommandType;

std::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

// Keys, values and states of the request, and the command on its way.
constexpr int64_t BytesPerKey(CommandType type, bool two_parts) {
  int64_t bytes = 8 + 8 + 1 + 20;
  if (two_parts) bytes += 8 + 8;
  if (routing::HasValues(type) && routing::AnswersValues(type)) bytes += 8;
  if (routing::HasExpected(type)) bytes += 8 + 8;
  return bytes;
}

absl::Status CheckShapes(CommandType type, const WriteBatch& batch) {
  const size_t n = batch.keys.size();
  ERIS_RETURN_IF_ERROR(CheckEqual("values", batch.values.size(), n));
  if (routing::HasExpected(type)) return CheckEqual("expected values", batch.expected.size(), n);
  if (batch.expected.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected values belong to compare-and-set alone: ", batch.expected.size(),
                   " for another mode"));
}

BatchColumns ColumnsOf(const WriteBatch& batch) {
  return {batch.keys.first(), batch.values, batch.expected, batch.keys.second()};
}

class ScanImpl final : public Scan {
 public:
  ~ScanImpl() override {
    if (state_ == nullptr) return;
    state_->Cancel(base::LeanStatus(absl::StatusCode::kCancelled, "the scan was destroyed"));
    state_->Unref();
  }
  absl::StatusOr<std::optional<ScanChunk>> Next(absl::Time deadline) override {
    return state_->Next(deadline);
  }
  void NextAsync(Callback done) override { state_->NextAsync(std::move(done)); }
  void Cancel() override {
    state_->Cancel(base::LeanStatus(absl::StatusCode::kCancelled, "the scan was cancelled"));
  }
  // Takes over the caller's reference. Made before there is one, so that it cannot be lost.
  void Hold(ScanState* state) { state_ = state; }

 private:
  ScanState* state_ = nullptr;
};

class JoinImpl final : public Join {
 public:
  ~JoinImpl() override {
    if (state_ == nullptr) return;
    state_->Cancel(base::LeanStatus(absl::StatusCode::kCancelled, "the join was destroyed"));
    state_->Unref();
  }
  absl::StatusOr<std::optional<JoinChunk>> Next(absl::Time deadline) override {
    return state_->Next(deadline);
  }
  void NextAsync(Callback done) override { state_->NextAsync(std::move(done)); }
  void Cancel() override {
    state_->Cancel(base::LeanStatus(absl::StatusCode::kCancelled, "the join was cancelled"));
  }
  void Hold(JoinState* state) { state_ = state; }  // as ScanImpl

 private:
  JoinState* state_ = nullptr;
};

absl::Status CheckValues(const std::optional<ValueRange>& values) {
  if (!values || !values->Inverted()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("inverted range of values: last ", values->last, " is below lo ", values->lo));
}

absl::Status CheckDirection(ScanDirection direction) {
  if (direction == ScanDirection::kForward || direction == ScanDirection::kBackward) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("scan direction ", static_cast<int>(direction), " is neither 0 nor 1"));
}

// Where the blocking Aggregate waits. Shared with the callback, which may come after the deadline.
class AggregateResult {
 public:
  void Set(absl::StatusOr<RangeAggregate> result) {
    base::MutexLock lock(&mu_);
    result_.emplace(std::move(result));
    set_.Signal();
  }
  // nullopt: `deadline` has passed.
  std::optional<absl::StatusOr<RangeAggregate>> Await(absl::Time deadline) {
    base::MutexLock lock(&mu_);
    while (!result_) {
      if (set_.WaitWithDeadline(&mu_, deadline)) break;
    }
    return result_;
  }

 private:
  base::Mutex mu_;
  base::CondVar set_;
  std::optional<absl::StatusOr<RangeAggregate>> result_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

SessionImpl::SessionImpl(Core& core)
    : core_(core),
      port_(SessionPort::Create(core.directory, core.session_port_options(), core.resends)),
      credit_(std::make_shared<std::atomic<int64_t>>(
          static_cast<int64_t>(core.options.session_in_flight_bytes_max))),
      // relaxed: any number does.
      next_holder_(core.sessions.fetch_add(1, std::memory_order_relaxed)) {}

SessionImpl::Remembered* SessionImpl::Recall(absl::string_view name) {
  if (last_ != nullptr && last_->first == name) return &last_->second;
  const auto found = objects_.find(View(name));
  if (found == objects_.end()) return nullptr;
  last_ = &*found;
  return &found->second;
}

void SessionImpl::Forget(absl::string_view name) {
  last_ = nullptr;
  const auto found = objects_.find(View(name));
  if (found != objects_.end()) objects_.erase(found);
}

void SessionImpl::ForgetIdle() {
  last_ = nullptr;
  std::erase_if(objects_, [](const auto& named) {
    const std::shared_ptr<SendOrder>& order = named.second.order;
    return order == nullptr || order->Idle();
  });
}

std::shared_ptr<SendOrder> SessionImpl::OrderOf(const ObjectRef& object) {
  // It has been resolved for this request.
  std::shared_ptr<SendOrder>& order = Recall(object->name)->order;
  if (order == nullptr) order = std::make_shared<SendOrder>(core_.resends, port_, object);
  return order;
}

absl::StatusOr<ObjectRef> SessionImpl::Resolve(absl::string_view name) {
  if (const Remembered* remembered = Recall(name)) {
    if (!remembered->object->dropped()) return remembered->object;
    absl::Status dropped;
    if (remembered->described) {
      dropped = absl::NotFoundError(absl::StrCat("object ", name, " has been dropped"));
    }
    Forget(name);
    ERIS_RETURN_IF_ERROR(dropped);
  }
  ERIS_ASSIGN_OR_RETURN(ObjectRef object, core_.catalogue.Find(name));
  if (objects_.size() >= kSessionNamesMax) ForgetIdle();
  objects_.emplace(std::string(name), Remembered{object});
  return object;
}

absl::StatusOr<ObjectRef> SessionImpl::ResolveIndex(absl::string_view name) {
  ERIS_ASSIGN_OR_RETURN(ObjectRef object, Resolve(name));
  ERIS_RETURN_IF_ERROR(CheckNoTable(*object));
  return object;
}

absl::StatusOr<KeyTypes> SessionImpl::KeyTypesOf(absl::string_view object) try {
  // Who asks is told of the object that there is now.
  if (Remembered* remembered = Recall(object)) remembered->described = false;
  ERIS_ASSIGN_OR_RETURN(const ObjectRef entry, ResolveIndex(object));
  Recall(object)->described = true;
  return entry->key_types;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status SessionImpl::TakeCredit(int64_t bytes, absl::string_view what) {
  // relaxed: a count, no data.
  const int64_t left = credit_->fetch_sub(bytes, std::memory_order_relaxed);
  if (left >= bytes) return absl::OkStatus();
  credit_->fetch_add(bytes, std::memory_order_relaxed);
  return absl::ResourceExhaustedError(
      absl::StrCat("this session may have ", core_.options.session_in_flight_bytes_max,
                   " bytes in flight; ", left, " are left, the ", what, " needs ", bytes));
}

absl::StatusOr<RequestPtr> SessionImpl::Begin(CommandType type, absl::string_view object,
                                              const KeyColumns& key_columns, ColumnType form,
                                              int64_t more_bytes) {
  const size_t keys = key_columns.size();
  if (key_columns.two_parts()) {
    ERIS_RETURN_IF_ERROR(CheckEqual("second parts", key_columns.second().size(), keys));
  }
  if (keys == 0) return absl::InvalidArgumentError("a batch needs at least one key");
  if (keys > kBatchKeysMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a batch has at most ", kBatchKeysMax, " keys, this one has ", keys));
  }
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, ResolveIndex(object));
  if (type != CommandType::kErase) ERIS_RETURN_IF_ERROR(CheckForm(*entry, form));
  ERIS_RETURN_IF_ERROR(CheckParts(*entry, key_columns));
  const int64_t bytes =
      BytesPerKey(type, key_columns.two_parts()) * static_cast<int64_t>(keys) + more_bytes;
  ERIS_RETURN_IF_ERROR(TakeCredit(bytes, "batch"));
  if (!core_.in_flight.TryEnter()) {
    credit_->fetch_add(bytes, std::memory_order_relaxed);
    return absl::UnavailableError("the engine is closing");
  }
  RequestPtr request;
  try {
    request.reset(
        Request::Create(type, static_cast<uint32_t>(keys), std::move(entry), core_.in_flight));
  } catch (const std::bad_alloc&) {
    credit_->fetch_add(bytes, std::memory_order_relaxed);
    core_.in_flight.Leave();
    return NoMemoryFor(keys);
  }
  request->HoldCredit(credit_, bytes);
  return request;
}

absl::Status SessionImpl::RunToEnd(Request& request, const BatchColumns& columns,
                                   absl::Time deadline) {
  std::shared_ptr<SendOrder> order;
  try {
    order = OrderOf(request.object());
    request.PutIn(order, columns);
    order->Send(request);
  } catch (const std::bad_alloc&) {
    return NoMemoryFor(columns.keys.size());
  }
  if (request.Await(deadline)) return absl::OkStatus();
  order->Abandon(request);
  const bool reads = request.type() == CommandType::kLookup;
  return absl::DeadlineExceededError(
      reads ? "the deadline passed before every AEU had answered"
            : "the deadline passed before every AEU had answered: the outcome is unknown");
}

absl::Status SessionImpl::Lookup(absl::string_view object, const KeyColumns& keys,
                                 absl::Span<uint64_t> values, absl::Span<uint8_t> found,
                                 absl::Time deadline) try {
  ERIS_RETURN_IF_ERROR(CheckEqual("values", values.size(), keys.size()));
  ERIS_RETURN_IF_ERROR(CheckEqual("found bytes", found.size(), keys.size()));
  ERIS_ASSIGN_OR_RETURN(RequestPtr request, Begin(CommandType::kLookup, object, keys));
  ERIS_RETURN_IF_ERROR(
      RunToEnd(*request, {.keys = keys.first(), .seconds = keys.second()}, deadline));
  uint32_t refused = 0;
  absl::Status status = request->Outcome(core_.limits, refused);
  if (status.ok()) {
    std::memcpy(values.data(), request->value_bytes().data(), request->value_bytes().size());
    request->CopyPresence(found);
  }
  return status;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status SessionImpl::RunWrite(CommandType type, absl::string_view object,
                                   const WriteBatch& batch, const WriteColumns& out,
                                   absl::Time deadline) {
  ERIS_ASSIGN_OR_RETURN(RequestPtr request, Begin(type, object, batch.keys));
  ERIS_RETURN_IF_ERROR(RunToEnd(*request, ColumnsOf(batch), deadline));
  // Also when some keys were refused: the others took effect.
  request->CopyPresence(out.existed);
  request->CopyApplied(out.applied);
  request->CopyExecuted(out.executed);
  if (!out.values.empty()) {
    std::memcpy(out.values.data(), request->value_bytes().data(), request->value_bytes().size());
  }
  uint32_t refused = 0;
  return request->Outcome(core_.limits, refused);
}

absl::Status SessionImpl::Upsert(absl::string_view object, const KeyColumns& keys,
                                 absl::Span<const uint64_t> values, absl::Span<uint8_t> existed,
                                 absl::Time deadline) try {
  ERIS_RETURN_IF_ERROR(CheckEqual("values", values.size(), keys.size()));
  ERIS_RETURN_IF_ERROR(CheckOutput("existed bytes", existed.size(), keys.size()));
  return RunWrite(CommandType::kUpsert, object, {.keys = keys, .values = values},
                  {.existed = existed}, deadline);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status SessionImpl::Erase(absl::string_view object, const KeyColumns& keys,
                                absl::Span<uint8_t> existed, absl::Time deadline) try {
  ERIS_RETURN_IF_ERROR(CheckOutput("existed bytes", existed.size(), keys.size()));
  return RunWrite(CommandType::kErase, object, {.keys = keys}, {.existed = existed}, deadline);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status SessionImpl::Write(absl::string_view object, const WriteBatch& batch,
                                const WriteColumns& out, absl::Time deadline) try {
  const size_t n = batch.keys.size();
  ERIS_RETURN_IF_ERROR(CheckOutput("applied bytes", out.applied.size(), n));
  ERIS_RETURN_IF_ERROR(CheckOutput("existed bytes", out.existed.size(), n));
  ERIS_RETURN_IF_ERROR(CheckOutput("values out", out.values.size(), n));
  ERIS_RETURN_IF_ERROR(CheckOutput("executed bytes", out.executed.size(), n));
  for (const auto bytes : {out.applied, out.existed, out.executed}) {
    std::fill(bytes.begin(), bytes.end(), 0);
  }
  std::fill(out.values.begin(), out.values.end(), 0);
  ERIS_ASSIGN_OR_RETURN(const CommandType type, TypeOf(batch.mode));
  ERIS_RETURN_IF_ERROR(CheckShapes(type, batch));
  return RunWrite(type, object, batch, out, deadline);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::StartAsync(CommandType type,
                                                                 absl::string_view object,
                                                                 const WriteBatch& batch,
                                                                 Callback done) {
  ERIS_ASSIGN_OR_RETURN(RequestPtr request, Begin(type, object, batch.keys));
  return Start(std::move(request), ColumnsOf(batch), std::move(done));
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::Start(RequestPtr request,
                                                            const BatchColumns& columns,
                                                            Callback done) {
  std::shared_ptr<AsyncCall> call;
  std::shared_ptr<SendOrder> order;
  try {
    order = OrderOf(request->object());
    call = std::make_shared<AsyncCall>(core_, request.get(), columns, std::move(done));
    (void)request.release();  // the call's
  } catch (const std::bad_alloc&) {
    return NoMemoryFor(columns.keys.size());
  }
  ERIS_RETURN_IF_ERROR(call->Start(std::move(order)));
  return call;
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::LookupAsync(absl::string_view object,
                                                                  const KeyColumns& keys,
                                                                  Callback done) try {
  return StartAsync(CommandType::kLookup, object, {.keys = keys}, std::move(done));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::UpsertAsync(absl::string_view object,
                                                                  const KeyColumns& keys,
                                                                  absl::Span<const uint64_t> values,
                                                                  Callback done) try {
  ERIS_RETURN_IF_ERROR(CheckEqual("values", values.size(), keys.size()));
  return StartAsync(CommandType::kUpsert, object, {.keys = keys, .values = values},
                    std::move(done));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::EraseAsync(absl::string_view object,
                                                                 const KeyColumns& keys,
                                                                 Callback done) try {
  return StartAsync(CommandType::kErase, object, {.keys = keys}, std::move(done));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::WriteAsync(absl::string_view object,
                                                                 const WriteBatch& batch,
                                                                 Callback done) try {
  ERIS_ASSIGN_OR_RETURN(const CommandType type, TypeOf(batch.mode));
  ERIS_RETURN_IF_ERROR(CheckShapes(type, batch));
  return StartAsync(type, object, batch, std::move(done));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::unique_ptr<Scan>> SessionImpl::OpenScan(absl::string_view object,
                                                            const ScanOptions& options) try {
  ERIS_RETURN_IF_ERROR(CheckRange("range", options.range));
  ERIS_RETURN_IF_ERROR(CheckValues(options.values));
  ERIS_RETURN_IF_ERROR(CheckDirection(options.direction));
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, ResolveIndex(object));
  ERIS_RETURN_IF_ERROR(CheckKeyOrder(*entry, "be scanned"));
  ERIS_RETURN_IF_ERROR(CheckParts(*entry, options.range));
  if (options.values) ERIS_RETURN_IF_ERROR(CheckForm(*entry, ColumnType::kUint64));
  if (core_.in_flight.closed()) return absl::UnavailableError("the engine is closing");
  auto scan = std::make_unique<ScanImpl>();
  ERIS_ASSIGN_OR_RETURN(ScanState * state, ScanState::Create(core_, std::move(entry), options));
  scan->Hold(state);
  return scan;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<RangeAggregate> SessionImpl::Aggregate(absl::string_view object,
                                                      const AggregateOptions& options,
                                                      absl::Time deadline) try {
  const auto result = std::make_shared<AggregateResult>();
  ERIS_ASSIGN_OR_RETURN(
      const std::shared_ptr<Pending> pending,
      AggregateAsync(object, options, [result](absl::StatusOr<RangeAggregate> aggregate) {
        result->Set(std::move(aggregate));
      }));
  core_.completions.RunDeferred();  // perhaps that very one
  if (auto aggregate = result->Await(deadline)) return *std::move(aggregate);
  const absl::Status late = base::LeanStatus(absl::StatusCode::kDeadlineExceeded,
                                             "the deadline passed before every AEU had answered");
  pending->Cancel(late);
  return late;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::AggregateAsync(
    absl::string_view object, const AggregateOptions& options, AggregateCallback done) try {
  ERIS_RETURN_IF_ERROR(CheckRange("range", options.range));
  ERIS_RETURN_IF_ERROR(CheckValues(options.values));
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, ResolveIndex(object));
  ERIS_RETURN_IF_ERROR(CheckKeyOrder(*entry, "be aggregated"));
  ERIS_RETURN_IF_ERROR(CheckParts(*entry, options.range));
  if (options.values || !options.count_only) {
    ERIS_RETURN_IF_ERROR(CheckForm(*entry, ColumnType::kUint64));
  }
  ERIS_ASSIGN_OR_RETURN(std::shared_ptr<Snapshot> snapshot, SnapshotFor(core_, options.snapshot));
  const auto partitions = static_cast<int64_t>(entry->route.Pin()->size());
  const int64_t bytes = AggregateCall::kBytesPerPartition * partitions;
  ERIS_RETURN_IF_ERROR(TakeCredit(bytes, "aggregate"));
  if (!core_.in_flight.TryEnter()) {
    credit_->fetch_add(bytes, std::memory_order_relaxed);
    return absl::UnavailableError("the engine is closing");
  }
  std::shared_ptr<AggregateCall> call;
  try {
    call = std::make_shared<AggregateCall>(core_, std::move(entry), options, std::move(snapshot),
                                           credit_, bytes, std::move(done));
  } catch (const std::bad_alloc&) {
    credit_->fetch_add(bytes, std::memory_order_relaxed);
    core_.in_flight.Leave();
    return absl::ResourceExhaustedError("the system has no memory for an aggregate");
  }
  call->Start();
  return call;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::unique_ptr<Join>> SessionImpl::OpenJoin(absl::string_view outer,
                                                            absl::string_view inner,
                                                            const JoinOptions& options) try {
  ERIS_RETURN_IF_ERROR(CheckRange("range", options.range));
  if (options.inner_values)
    ERIS_RETURN_IF_ERROR(CheckRange("range of inner values", *options.inner_values));
  ERIS_ASSIGN_OR_RETURN(ObjectRef outer_entry, ResolveIndex(outer));
  ERIS_RETURN_IF_ERROR(CheckKeyOrder(*outer_entry, "be the outer side of a join"));
  ERIS_ASSIGN_OR_RETURN(ObjectRef inner_entry, ResolveIndex(inner));
  ERIS_RETURN_IF_ERROR(CheckForm(*outer_entry, ColumnType::kUint64));
  ERIS_RETURN_IF_ERROR(CheckForm(*inner_entry, ColumnType::kUint64));
  ERIS_RETURN_IF_ERROR(CheckOnePart(*outer_entry, "be a side of a join"));
  ERIS_RETURN_IF_ERROR(CheckOnePart(*inner_entry, "be a side of a join"));
  ERIS_RETURN_IF_ERROR(CheckParts(*outer_entry, options.range));
  if (options.inner_values) ERIS_RETURN_IF_ERROR(CheckParts(*inner_entry, *options.inner_values));
  if (core_.in_flight.closed()) return absl::UnavailableError("the engine is closing");
  auto join = std::make_unique<JoinImpl>();
  ERIS_ASSIGN_OR_RETURN(JoinState * state, JoinState::Create(core_, std::move(outer_entry),
                                                             std::move(inner_entry), options));
  join->Hold(state);
  return join;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

}  // namespace eris::engine
