#include "server/overload/health_watches.h"

#include <grpc/grpc.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace eris::server {
namespace {

using grpc::experimental::InterceptionHookPoints;

constexpr absl::string_view kWatch = "/grpc.health.v1.Health/Watch";

// One Watch. It holds its share until the call has ended.
class HealthWatch final : public grpc::experimental::Interceptor {
 public:
  HealthWatch(grpc_call* call, ClientShares* shares, std::string client)
      : call_(call), all_(shares->held()), max_(shares->max()) {
    hold_ = shares->TryTake(std::move(client));
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (!hold_ &&
        methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      // gRPC's handler then finds a call that has been cancelled.
      const std::string why = absl::StrCat("clients hold ", all_, " health watches; the limit is ",
                                           max_, ", and no client gets more than are left");
      grpc_call_cancel_with_status(call_, GRPC_STATUS_RESOURCE_EXHAUSTED, why.c_str(), nullptr);
    }
    methods->Proceed();
  }

 private:
  grpc_call* const call_;  // gRPC's, which outlives this
  const size_t all_;
  const size_t max_;
  ClientShares::Hold hold_;
};

}  // namespace

grpc::experimental::Interceptor* HealthWatches::CreateServerInterceptor(
    grpc::experimental::ServerRpcInfo* info) {
  if (info->method() == nullptr || info->method() != kWatch) return nullptr;
  grpc::ServerContextBase& context = *info->server_context();
  return new HealthWatch(context.c_call(), &shares_, ClientOfPeer(context.peer()));
}

}  // namespace eris::server
