#include "engine/session_impl.h"

#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/async_call.h"
#include "engine/control_port.h"
#include "engine/join_state.h"
#include "engine/scan_state.h"

namespace eris::engine {
namespace {

using routing::CommandType;

// Names that a session remembers; beyond it the memory starts anew.
constexpr size_t kObjectsRemembered = 1024;

// Keys, values and states of the request, and the command on its way.
constexpr int64_t kBytesPerKey = 8 + 8 + 1 + 20;

absl::Status CheckEqual(absl::string_view what, size_t got, size_t keys) {
  if (got == keys) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("as many ", what, " as keys are needed: ", got, " for ", keys, " keys"));
}

absl::Status NoMemoryFor(size_t keys) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the system has no memory for the reply columns of ", keys, " keys"));
}

class ScanImpl final : public Scan {
 public:
  explicit ScanImpl(ScanState* state) : state_(state) {}
  ~ScanImpl() override {
    state_->Cancel(absl::CancelledError("the scan was destroyed"));
    state_->Unref();
  }
  absl::StatusOr<std::optional<ScanChunk>> Next(absl::Time deadline) override {
    return state_->Next(deadline);
  }
  void NextAsync(Callback done) override { state_->NextAsync(std::move(done)); }
  void Cancel() override { state_->Cancel(absl::CancelledError("the scan was cancelled")); }

 private:
  ScanState* const state_;
};

class JoinImpl final : public Join {
 public:
  explicit JoinImpl(JoinState* state) : state_(state) {}
  ~JoinImpl() override {
    state_->Cancel(absl::CancelledError("the join was destroyed"));
    state_->Unref();
  }
  absl::StatusOr<std::optional<JoinChunk>> Next(absl::Time deadline) override {
    return state_->Next(deadline);
  }
  void NextAsync(Callback done) override { state_->NextAsync(std::move(done)); }
  void Cancel() override { state_->Cancel(absl::CancelledError("the join was cancelled")); }

 private:
  JoinState* const state_;
};

absl::Status CheckRange(absl::string_view what, const KeyRange& range) {
  if (!range.hi || *range.hi >= range.lo) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("inverted ", what, ": hi ", *range.hi, " is below lo ", range.lo));
}

}  // namespace

SessionImpl::SessionImpl(Core& core)
    : core_(core),
      port_(core.directory, core.port_options()),
      credit_(std::make_shared<std::atomic<int64_t>>(
          static_cast<int64_t>(core.options.session_in_flight_bytes_max))) {}

absl::StatusOr<ObjectRef> SessionImpl::Resolve(absl::string_view name) {
  const auto remembered = objects_.find(name);
  if (remembered != objects_.end()) {
    if (!remembered->second->dropped()) return remembered->second;
    objects_.erase(remembered);
  }
  ERIS_ASSIGN_OR_RETURN(ObjectRef object, core_.catalogue.Find(name));
  if (objects_.size() == kObjectsRemembered) objects_.clear();
  objects_.emplace(std::string(name), object);
  return object;
}

absl::StatusOr<Request*> SessionImpl::Begin(CommandType type, absl::string_view object,
                                            size_t keys) {
  if (keys == 0) return absl::InvalidArgumentError("a batch needs at least one key");
  if (keys > kBatchKeysMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a batch has at most ", kBatchKeysMax, " keys, this one has ", keys));
  }
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, Resolve(object));
  const int64_t bytes = kBytesPerKey * static_cast<int64_t>(keys);
  // relaxed: a count, no data.
  const int64_t left = credit_->fetch_sub(bytes, std::memory_order_relaxed);
  if (left < bytes) {
    credit_->fetch_add(bytes, std::memory_order_relaxed);
    return absl::ResourceExhaustedError(
        absl::StrCat("this session may have ", core_.options.session_in_flight_bytes_max,
                     " bytes in flight; ", left, " are left, the batch needs ", bytes));
  }
  if (!core_.in_flight.TryEnter()) {
    credit_->fetch_add(bytes, std::memory_order_relaxed);
    return absl::UnavailableError("the engine is closing");
  }
  Request* request = nullptr;
  try {
    request = Request::Create(type, static_cast<uint32_t>(keys), std::move(entry), core_.in_flight);
  } catch (const std::bad_alloc&) {
    credit_->fetch_add(bytes, std::memory_order_relaxed);
    core_.in_flight.Leave();
    return NoMemoryFor(keys);
  }
  request->HoldCredit(credit_, bytes);
  return request;
}

absl::Status SessionImpl::RunToEnd(Request* request, absl::Span<const uint64_t> keys,
                                   absl::Span<const uint64_t> values, absl::Time deadline) {
  routing::KeyedCommand command{.type = request->type(),
                                .keys = keys,
                                .values = values,
                                .complete = &Request::Answered,
                                .context = request};
  std::vector<uint32_t> positions;
  std::vector<uint64_t> moved_keys;
  std::vector<uint64_t> moved_values;
  for (uint32_t resends = 0;; ++resends) {
    request->Expect(static_cast<uint32_t>(command.keys.size()));
    SendKeyed(port_, request->object()->route, command);
    if (!request->Await(deadline)) {
      request->SetCancelled();
      request->Unref();
      return absl::DeadlineExceededError(
          request->type() == CommandType::kLookup
              ? "the deadline passed before every AEU had answered"
              : "the deadline passed before every AEU had answered: the outcome is unknown");
    }
    positions = request->MovedPositions();
    if (positions.empty() || resends == kResendsMax) return absl::OkStatus();
    moved_keys.clear();
    moved_values.clear();
    for (const uint32_t position : positions) {
      moved_keys.push_back(keys[position]);
      if (!values.empty()) moved_values.push_back(values[position]);
    }
    command.keys = moved_keys;
    command.values = moved_values;
    command.positions = positions;
  }
}

absl::Status SessionImpl::Lookup(absl::string_view object, absl::Span<const uint64_t> keys,
                                 absl::Span<uint64_t> values, absl::Span<uint8_t> found,
                                 absl::Time deadline) {
  ERIS_RETURN_IF_ERROR(CheckEqual("values", values.size(), keys.size()));
  ERIS_RETURN_IF_ERROR(CheckEqual("found bytes", found.size(), keys.size()));
  ERIS_ASSIGN_OR_RETURN(Request * request, Begin(CommandType::kLookup, object, keys.size()));
  ERIS_RETURN_IF_ERROR(RunToEnd(request, keys, {}, deadline));
  uint32_t refused = 0;
  absl::Status status = request->Outcome(core_.limits, refused);
  if (status.ok()) {
    std::memcpy(values.data(), request->value_bytes().data(), request->value_bytes().size());
    request->CopyPresence(found);
  }
  request->Unref();
  return status;
}

absl::Status SessionImpl::RunWrite(CommandType type, absl::string_view object,
                                   absl::Span<const uint64_t> keys,
                                   absl::Span<const uint64_t> values, absl::Span<uint8_t> existed,
                                   absl::Time deadline) {
  if (!existed.empty())
    ERIS_RETURN_IF_ERROR(CheckEqual("existed bytes", existed.size(), keys.size()));
  ERIS_ASSIGN_OR_RETURN(Request * request, Begin(type, object, keys.size()));
  ERIS_RETURN_IF_ERROR(RunToEnd(request, keys, values, deadline));
  uint32_t refused = 0;
  absl::Status status = request->Outcome(core_.limits, refused);
  // Also when some keys were refused: the others took effect.
  request->CopyPresence(existed);
  request->Unref();
  return status;
}

absl::Status SessionImpl::Upsert(absl::string_view object, absl::Span<const uint64_t> keys,
                                 absl::Span<const uint64_t> values, absl::Span<uint8_t> existed,
                                 absl::Time deadline) {
  ERIS_RETURN_IF_ERROR(CheckEqual("values", values.size(), keys.size()));
  return RunWrite(CommandType::kUpsert, object, keys, values, existed, deadline);
}

absl::Status SessionImpl::Erase(absl::string_view object, absl::Span<const uint64_t> keys,
                                absl::Span<uint8_t> existed, absl::Time deadline) {
  return RunWrite(CommandType::kErase, object, keys, {}, existed, deadline);
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::StartAsync(CommandType type,
                                                                 absl::string_view object,
                                                                 absl::Span<const uint64_t> keys,
                                                                 absl::Span<const uint64_t> values,
                                                                 Callback done) {
  ERIS_ASSIGN_OR_RETURN(Request * request, Begin(type, object, keys.size()));
  std::shared_ptr<AsyncCall> call;
  try {
    call = std::make_shared<AsyncCall>(core_, request, keys, values, std::move(done));
  } catch (const std::bad_alloc&) {
    request->Unref();
    return NoMemoryFor(keys.size());
  }
  call->Start(port_);
  return call;
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::LookupAsync(absl::string_view object,
                                                                  absl::Span<const uint64_t> keys,
                                                                  Callback done) {
  return StartAsync(CommandType::kLookup, object, keys, {}, std::move(done));
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::UpsertAsync(absl::string_view object,
                                                                  absl::Span<const uint64_t> keys,
                                                                  absl::Span<const uint64_t> values,
                                                                  Callback done) {
  ERIS_RETURN_IF_ERROR(CheckEqual("values", values.size(), keys.size()));
  return StartAsync(CommandType::kUpsert, object, keys, values, std::move(done));
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::EraseAsync(absl::string_view object,
                                                                 absl::Span<const uint64_t> keys,
                                                                 Callback done) {
  return StartAsync(CommandType::kErase, object, keys, {}, std::move(done));
}

absl::StatusOr<std::unique_ptr<Scan>> SessionImpl::OpenScan(absl::string_view object,
                                                            const ScanOptions& options) {
  ERIS_RETURN_IF_ERROR(CheckRange("range", options.range));
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, Resolve(object));
  if (core_.in_flight.closed()) return absl::UnavailableError("the engine is closing");
  ERIS_ASSIGN_OR_RETURN(ScanState * state, ScanState::Create(core_, std::move(entry), options));
  return std::make_unique<ScanImpl>(state);
}

absl::StatusOr<std::unique_ptr<Join>> SessionImpl::OpenJoin(absl::string_view outer,
                                                            absl::string_view inner,
                                                            const JoinOptions& options) {
  ERIS_RETURN_IF_ERROR(CheckRange("range", options.range));
  if (options.inner_values)
    ERIS_RETURN_IF_ERROR(CheckRange("range of inner values", *options.inner_values));
  ERIS_ASSIGN_OR_RETURN(ObjectRef outer_entry, Resolve(outer));
  ERIS_ASSIGN_OR_RETURN(ObjectRef inner_entry, Resolve(inner));
  if (core_.in_flight.closed()) return absl::UnavailableError("the engine is closing");
  ERIS_ASSIGN_OR_RETURN(JoinState * state, JoinState::Create(core_, std::move(outer_entry),
                                                             std::move(inner_entry), options));
  return std::make_unique<JoinImpl>(state);
}

}  // namespace eris::engine
