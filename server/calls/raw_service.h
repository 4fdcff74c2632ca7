// A service whose calls get their requests as bytes, and only when they ask for them. For gRPC they
// are bidirectional streams; on the wire they match the service's description.
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

// Api: for example v1::Data.
template <class Api>
class RawService : public Api::Service {
 public:
  // Whether Serve has been called for each of its methods, as required.
  bool ServesAll() const { return served_ == Description().method_count(); }

 protected:
  // `make(context)` begins a call of `method` and returns its RawReactor.
  template <class Make>
  void Serve(const char* method, Make make) {
    const google::protobuf::MethodDescriptor* found = Description().FindMethodByName(method);
    ERIS_CHECK(found != nullptr);
    ++served_;
    // This is how grpcpp itself streams calls with one request. The second call installs the
    // handler.
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
