// A session: one calling thread's Port into the engine. Implements eris::Session.
#ifndef ERIS_ENGINE_SESSIONS_SESSION_IMPL_H_
#define ERIS_ENGINE_SESSIONS_SESSION_IMPL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/core/core.h"
#include "engine/core/send_order.h"
#include "engine/core/session_credit.h"
#include "engine/sessions/batch_request.h"
#include "eris/session.h"

namespace eris::engine {

class SessionImpl final : public Session {
 public:
  SessionImpl(Core& core, SessionNode& node);

  NumaNodeId numa_node() const override { return node_.numa_node; }
  absl::StatusOr<Object> Open(absl::string_view name) override;
  BatchResult Lookup(const Object& object, const LookupBatch& batch, absl::Time deadline) override;
  BatchResult Write(const Object& object, const WriteBatch& batch, absl::Time deadline) override;
  StartedCall LookupAsync(const Object& object, const LookupBatch& batch, Callback done) override;
  StartedCall WriteAsync(const Object& object, const WriteBatch& batch, Callback done) override;
  absl::StatusOr<std::unique_ptr<Scan>> OpenScan(const Object& object, const Query& query) override;
  absl::StatusOr<Schema> AnswerSchema(const Object& object, const Query& query) override;
  absl::StatusOr<std::unique_ptr<Scan>> OpenQuery(const QueryPlan& plan,
                                                  const QueryOptions& options) override;
  absl::StatusOr<std::vector<ObjectShare>> Shares(const Object& object, const Query& query,
                                                  absl::Time deadline) override;
  absl::StatusOr<std::string> ExplainQuery(const QueryPlan& plan) override;
  absl::StatusOr<std::unique_ptr<Scan>> OpenAnalysis(const QueryPlan& plan,
                                                     const QueryOptions& options) override;
  absl::StatusOr<RangeAggregate> Aggregate(const Object& object, const AggregateOptions& options,
                                           absl::Time deadline) override;
  StartedCall AggregateAsync(const Object& object, const AggregateOptions& options,
                             AggregateCallback done) override;
  absl::StatusOr<std::unique_ptr<Scan>> OpenJoin(const Object& outer, const Object& inner,
                                                 const JoinOptions& options) override;
  absl::StatusOr<uint64_t> ScanInto(const Object& table, const Query& query, const Object& target,
                                    absl::Time deadline) override;
  StartedCall ScanIntoAsync(const Object& table, const Query& query, const Object& target,
                            ScanIntoCallback done) override;

 private:
  // The session keeps orders for at most this many objects, plus those with running requests.
  static constexpr size_t kOrdersMax = 1024;
  using Orders = std::map<ObjectId, std::shared_ptr<SendOrder>>;

  // Errors: InvalidArgument (no object, or another engine's), NotFound (dropped).
  absl::StatusOr<ObjectRef> Resolve(const Object& object);
  // A request ready to be filled and sent, with credit taken and the NumaNode's in_flight entered.
  // Errors: those of Session::Lookup and Write for refused calls. Throws std::bad_alloc; then
  // nothing has happened.
  absl::StatusOr<RequestPtr> Begin(const Object& object, const BatchInput& input);
  // False: the deadline has passed, and the request has been abandoned. Throws std::bad_alloc; then
  // nothing has been sent.
  bool SendAndAwait(Request& request, absl::Time deadline);
  BatchResult Run(const Object& object, const BatchInput& input, absl::Time deadline);
  StartedCall Start(const Object& object, const BatchInput& input, Callback done);
  // The order of the session's requests for the object. Throws std::bad_alloc.
  std::shared_ptr<SendOrder> OrderOf(const ObjectRef& object);

  Core& core_;
  SessionNode& node_;
  const std::shared_ptr<SessionPort> port_;
  // Not an Abseil hash table, which does not survive std::bad_alloc.
  Orders orders_;
  // The one used last: most sessions use one object.
  Orders::value_type* last_ = nullptr;
  const SessionCredit credit_;
  // For a heap table: which AEU gets the next rows; sessions begin at different ones.
  uint64_t next_holder_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_SESSIONS_SESSION_IMPL_H_
