// A service whose calls get their requests as bytes, and when they ask for them: to gRPC they are
// streams of one request and one answer, on the wire they are what the service's description says.
#ifndef ERIS_SERVER_RAW_SERVICE_H_
#define ERIS_SERVER_RAW_SERVICE_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>

#include <string>
#include <utility>

#include "base/check.h"

namespace eris::server {

using RawReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// Api: v1::Data, say. Base: its service as it is generated, with callbacks for its other methods.
template <class Api, class Base>
class RawService : public Base {
 protected:
  // `make(context)` begins a call of `method`, which has one request, and returns its RawReactor.
  template <class Make>
  void Serve(const char* method, Make make) {
    const google::protobuf::ServiceDescriptor* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            Api::service_full_name());
    ERIS_CHECK(service != nullptr);
    const google::protobuf::MethodDescriptor* found = service->FindMethodByName(method);
    ERIS_CHECK(found != nullptr);
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
};

}  // namespace eris::server

#endif  // ERIS_SERVER_RAW_SERVICE_H_
