#include "engine/sessions/session_impl.h"

#include <atomic>
#include <new>
#include <typeinfo>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/core/closing.h"
#include "engine/query/open_query.h"
#include "engine/reads/open.h"
#include "engine/reads/shares.h"
#include "engine/sessions/batch_call.h"
#include "eris/errors.h"

namespace eris::engine {
namespace {

absl::Status Late(const Request& request) {
  return absl::DeadlineExceededError(
      routing::Writes(request.type())
          ? "the deadline passed before every AEU had answered: the outcome is unknown"
          : "the deadline passed before every AEU had answered");
}

}  // namespace

SessionImpl::SessionImpl(Core& core, SessionNode& node)
    : core_(core),
      node_(node),
      port_(SessionPort::Create(core.directory, core.session_port_options(node.numa_node),
                                core.resends, node.points)),
      credit_(MakeSessionCredit(static_cast<int64_t>(core.options.session_in_flight_bytes_max))),
      // relaxed: any number will do.
      next_holder_(core.sessions.fetch_add(1, std::memory_order_relaxed)) {}

absl::StatusOr<Object> SessionImpl::Open(absl::string_view name) try {
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, core_.catalogue.Find(name));
  return Object(std::move(entry));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<ObjectRef> SessionImpl::Resolve(const Object& object) {
  if (!object) {
    return absl::InvalidArgumentError("the call has no object: Session::Open gives one");
  }
  const Object::State& state = *object.state();
  const auto* const entry =
      typeid(state) == typeid(ObjectEntry) ? static_cast<const ObjectEntry*>(&state) : nullptr;
  if (entry == nullptr || entry->catalogue != &core_.catalogue) {
    return absl::InvalidArgumentError(
        absl::StrCat("object \"", state.name, "\" has been opened in another engine"));
  }
  // Handles are const; the engine's entries are not.
  if (!entry->dropped()) return const_cast<ObjectEntry*>(entry)->shared_from_this();
  last_ = nullptr;
  orders_.erase(entry->id);
  return Error(ErrorReason::kObjectDropped,
               absl::StrCat("object \"", entry->name, "\" has been dropped"));
}

std::shared_ptr<SendOrder> SessionImpl::OrderOf(const ObjectRef& object) {
  if (last_ != nullptr && last_->first == object->id) return last_->second;
  auto found = orders_.find(object->id);
  if (found == orders_.end()) {
    if (orders_.size() >= kOrdersMax) {
      last_ = nullptr;
      std::erase_if(orders_, [](const auto& order) { return order.second->Idle(); });
    }
    auto order = std::make_shared<SendOrder>(core_.resends, port_, object);
    found = orders_.emplace(object->id, std::move(order)).first;
  }
  last_ = &*found;
  return found->second;
}

absl::StatusOr<RequestPtr> SessionImpl::Begin(const Object& object, const BatchInput& input) {
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, Resolve(object));
  ERIS_ASSIGN_OR_RETURN(CheckedBatch checked, CheckBatch(*entry, input));
  const int64_t bytes = checked.credit_bytes;
  absl::Status taken = TakeCredit(core_, *credit_, bytes, "batch");
  // Answers that are home are still in flight until somebody has taken them.
  if (!taken.ok() && routing::CollectAnswers(port_->answers().blocks())) {
    taken = TakeCredit(core_, *credit_, bytes, "batch");
  }
  ERIS_RETURN_IF_ERROR(taken);
  if (!node_.in_flight.TryEnter()) {
    credit_->fetch_add(bytes, std::memory_order_relaxed);
    return EngineClosing();
  }
  RequestPtr request;
  try {
    request.reset(Request::Create(checked.type, checked.count, std::move(entry), node_.in_flight));
  } catch (const std::bad_alloc&) {
    credit_->fetch_add(bytes, std::memory_order_relaxed);
    node_.in_flight.Leave();
    throw;
  }
  request->HoldCredit(credit_, bytes);  // its destructor returns everything
  FillRequest(input, std::move(checked), *request);
  return request;
}

bool SessionImpl::SendAndAwait(Request& request, absl::Time deadline) {
  // Until the answers are there: others of this session's answers are not taken home while the
  // result is made.
  const AnswerPoint::Attendance attendance(port_->answers());
  request.AwaitAt(port_->answers().blocks());
  const std::shared_ptr<SendOrder> order = OrderOf(request.object());
  Send(*port_, order, request, next_holder_++);
  core_.session_nodes.GiveDeferred();
  if (request.Await(deadline)) return true;
  order->Abandon(request);
  if (request.table() == nullptr) return false;
  // The rows belong to the caller: everything begun must end before the call returns.
  request.Await(absl::InfiniteFuture());
  return request.AllExecuted();
}

BatchResult SessionImpl::Run(const Object& object, const BatchInput& input,
                             absl::Time deadline) try {
  absl::StatusOr<RequestPtr> begun = Begin(object, input);
  if (!begun.ok()) return Refused(begun.status(), input.rows.rows);
  Request& request = **begun;
  if (!SendAndAwait(request, deadline)) return Refused(Late(request), input.rows.rows);
  return ResultOf(request, core_.limits);
} catch (const std::bad_alloc&) {
  return Refused(NoMemoryFor(input.rows.rows), input.rows.rows);
}

Session::StartedCall SessionImpl::Start(const Object& object, const BatchInput& input,
                                        Callback done) try {
  ERIS_ASSIGN_OR_RETURN(RequestPtr request, Begin(object, input));
  std::shared_ptr<SendOrder> order = OrderOf(request->object());
  const auto call = std::make_shared<BatchCall>(core_, node_, std::move(request), std::move(done));
  call->Start(*port_, std::move(order), next_holder_++);
  return call;
} catch (const std::bad_alloc&) {
  return NoMemoryFor(input.rows.rows);
}

BatchResult SessionImpl::Lookup(const Object& object, const LookupBatch& batch,
                                absl::Time deadline) {
  return Run(object, BatchInput(batch, /*async=*/false), deadline);
}

BatchResult SessionImpl::Write(const Object& object, const WriteBatch& batch, absl::Time deadline) {
  return Run(object, BatchInput(batch, /*async=*/false), deadline);
}

Session::StartedCall SessionImpl::LookupAsync(const Object& object, const LookupBatch& batch,
                                              Callback done) {
  return Start(object, BatchInput(batch, /*async=*/true), std::move(done));
}

Session::StartedCall SessionImpl::WriteAsync(const Object& object, const WriteBatch& batch,
                                             Callback done) {
  return Start(object, BatchInput(batch, /*async=*/true), std::move(done));
}

absl::StatusOr<std::unique_ptr<Scan>> SessionImpl::OpenScan(const Object& object,
                                                            const Query& query) try {
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, Resolve(object));
  return engine::OpenScan(core_, node_, std::move(entry), query);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<Schema> SessionImpl::AnswerSchema(const Object& object, const Query& query) try {
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, Resolve(object));
  return engine::AnswerSchema(core_, std::move(entry), query);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::vector<ObjectShare>> SessionImpl::Shares(const Object& object,
                                                             const Query& query,
                                                             absl::Time deadline) try {
  ERIS_ASSIGN_OR_RETURN(const ObjectRef entry, Resolve(object));
  return SharesOf(core_, node_, entry, query, deadline, credit_);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::unique_ptr<Scan>> SessionImpl::OpenQuery(const QueryPlan& plan,
                                                             const QueryOptions& options) try {
  return engine::OpenQuery(core_, node_, plan, options);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::string> SessionImpl::ExplainQuery(const QueryPlan& plan) try {
  return engine::ExplainQuery(core_, plan);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::unique_ptr<Scan>> SessionImpl::OpenAnalysis(const QueryPlan& plan,
                                                                const QueryOptions& options) try {
  return engine::OpenAnalysis(core_, node_, plan, options);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<RangeAggregate> SessionImpl::Aggregate(const Object& object,
                                                      const AggregateOptions& options,
                                                      absl::Time deadline) try {
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, Resolve(object));
  return engine::Aggregate(core_, node_, std::move(entry), options, deadline, credit_);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

Session::StartedCall SessionImpl::AggregateAsync(const Object& object,
                                                 const AggregateOptions& options,
                                                 AggregateCallback done) try {
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, Resolve(object));
  return engine::AggregateAsync(core_, node_, std::move(entry), options, std::move(done), credit_);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::unique_ptr<Scan>> SessionImpl::OpenJoin(const Object& outer,
                                                            const Object& inner,
                                                            const JoinOptions& options) try {
  ERIS_ASSIGN_OR_RETURN(ObjectRef outer_entry, Resolve(outer));
  ERIS_ASSIGN_OR_RETURN(ObjectRef inner_entry, Resolve(inner));
  return engine::OpenJoin(core_, node_, std::move(outer_entry), std::move(inner_entry), options);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<uint64_t> SessionImpl::ScanInto(const Object& table, const Query& query,
                                               const Object& target, absl::Time deadline) try {
  ERIS_ASSIGN_OR_RETURN(ObjectRef from, Resolve(table));
  ERIS_ASSIGN_OR_RETURN(ObjectRef to, Resolve(target));
  return engine::ScanInto(core_, node_, std::move(from), query, std::move(to), deadline);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

Session::StartedCall SessionImpl::ScanIntoAsync(const Object& table, const Query& query,
                                                const Object& target, ScanIntoCallback done) try {
  ERIS_ASSIGN_OR_RETURN(ObjectRef from, Resolve(table));
  ERIS_ASSIGN_OR_RETURN(ObjectRef to, Resolve(target));
  return engine::ScanIntoAsync(core_, node_, std::move(from), query, std::move(to),
                               std::move(done));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

}  // namespace eris::engine
