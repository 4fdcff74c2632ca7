// A service whose calls get their requests as bytes, and when they ask for them: to gRPC they are
// streams in both directions, on the wire they are what the service's description says.
#ifndef ERIS_SERVER_CALLS_RAW_SERVICE_H_
#define ERIS_SERVER_CALLS_RAW_SERVICE_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <string>
#include <utility>

#include "base/check.h"

namespace eris::server {

using RawReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// Api: v1::Data, say.
template <class Api>
class RawService : public Api::Service {
 public:
  // Whether there has been a Serve for each of its methods, as there has to be.
  bool ServesAll() const { return served_ == Description().method_count(); }

 protected:
  // `make(context)` begins a call of `method` and returns its RawReactor.
  template <class Make>
  void Serve(const char* method, Make make) {
    const google::protobuf::MethodDescriptor* found = Description().FindMethodByName(method);
    ERIS_CHECK(found != nullptr);
    ++served_;
    // The way in which grpcpp itself streams calls of one request. The handler comes with the
    // second call.
    if (!found->client_streaming()) this->MarkMethodStreamed(found->index(), nullptr);
    this->MarkMethodRawCallback(
        found->index(),
        new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
            [make = std::move(make)](grpc::CallbackServerContext* context) -> RawReactor* {
              return make(*context);
            }));
  }

 private:
  static const google::protobuf::ServiceDescriptor& Description() {
    const google::protobuf::ServiceDescriptor* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            Api::service_full_name());
    ERIS_CHECK(service != nullptr);
    return *service;
  }

  int served_ = 0;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_RAW_SERVICE_H_
