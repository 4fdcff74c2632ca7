// A service whose calls get their requests as bytes, and only when they ask for them. For gRPC they
// are bidirectional streams; on the wire they match the service's description.
#ifndef ERIS_SERVER_CALLS_RAW_SERVICE_H_
#define ERIS_SERVER_CALLS_RAW_SERVICE_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <deque>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "server/access/access.h"
#include "server/access/permit.h"
#include "server/access/policy.h"
#include "server/calls/raw_reactor.h"
#include "server/guard/rpc_status.h"
#include "server/overload/client_shares.h"

namespace eris::server {

// A call with its permit. The permit is set before gRPC starts the first operation of the call: a
// step that follows one of them finds it.
class GuardedCall : public RawReactor {
 public:
  void SetPermit(Permit permit) {
    permit_ = std::move(permit);
    OnPermit();
  }

 protected:
  // The call has its permit. Operations that it starts in here run when gRPC takes the call over.
  virtual void OnPermit() {}

  // Who counts as one client (client_shares.h): the caller of a token or certificate, otherwise the
  // address.
  std::string ClientOf(const grpc::CallbackServerContext& context) const {
    const std::string name = permit_.caller_name();
    return name.empty() ? ClientOfPeer(context.peer()) : name;
  }

  Permit permit_;  // until it is set, it allows nothing
};

// A call that ends before it has read anything.
class EndedCall final : public GuardedCall {
 public:
  explicit EndedCall(const absl::Status& status) { Finish(ToRpcStatus(status)); }

 private:
  void OnDone() override { delete this; }
};

// Begins a call if its caller may make it: `make(context)` returns a GuardedCall.
template <class Make>
RawReactor* BeginGuarded(Access& access, const MethodPolicy& policy,
                         grpc::CallbackServerContext& context, const Make& make) {
  absl::StatusOr<Permit> permit = access.Enter(context, policy);
  if (!permit.ok()) return new EndedCall(permit.status());  // gRPC owns it
  GuardedCall* const call = make(context);
  call->SetPermit(*std::move(permit));
  return call;
}

// Api: for example v1::Data.
template <class Api>
class RawService : public Api::Service {
 public:
  // Both outlive the service.
  RawService(Access* access, CallWatch* watch) : access_(*access), watch_(*watch) {}

  // Whether Serve has been called for each of its methods, as required.
  bool ServesAll() const { return served_ == Description().method_count(); }

 protected:
  // `make(context)` begins a call of `method` and returns its GuardedCall. A method without a
  // policy does not compile (tests/house/policy_probe.cc).
  template <class Make>
  void Serve(const char* method, Policy policy, Make make) {
    const google::protobuf::MethodDescriptor* found = Description().FindMethodByName(method);
    ERIS_CHECK(found != nullptr);
    ++served_;
    const MethodPolicy& bound = policies_.emplace_back(std::move(policy), *found);
    // This is how grpcpp itself streams calls with one request. The second call installs the
    // handler.
    if (!found->client_streaming()) this->MarkMethodStreamed(found->index(), nullptr);
    this->MarkMethodRawCallback(
        found->index(), new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                            [this, &bound, make = std::move(make),
                             counted = watch_.metrics.Add(
                                 absl::StrCat(Api::service_full_name(), "/", method),
                                 AnswersRequests(*found))](grpc::CallbackServerContext* context) {
                              watch_.metrics.Begin(counted);
                              RawReactor* const call = BeginGuarded(access_, bound, *context, make);
                              call->SetWatch(&watch_, counted, context);
                              return call;
                            }));
  }

 private:
  // A stream of eris.v1 in which each request has its answer. (Those of Arrow Flight have totals.)
  static bool AnswersRequests(const google::protobuf::MethodDescriptor& method) {
    return method.client_streaming() &&
           absl::string_view(Api::service_full_name()).rfind("eris.v1.", 0) == 0;
  }
  static const google::protobuf::ServiceDescriptor& Description() {
    const google::protobuf::ServiceDescriptor* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            Api::service_full_name());
    ERIS_CHECK(service != nullptr);
    return *service;
  }

  Access& access_;
  CallWatch& watch_;
  std::deque<MethodPolicy> policies_;  // a deque, so that they never move
  int served_ = 0;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_RAW_SERVICE_H_
