// Compiled by itself, see tests/house/CMakeLists.txt: with POLICY_IS_missing a method is served
// without a policy, which must not compile.
#include "eris/v1/catalog.grpc.pb.h"
#include "server/calls/raw_service.h"

namespace eris::server {

class Probe final : public RawService<v1::Catalog> {
 public:
  Probe(Access* access, CallWatch* watch) : RawService(access, watch) {
    const auto make = [](grpc::CallbackServerContext&) {
      return new EndedCall(absl::UnimplementedError(""));
    };
#ifdef POLICY_IS_missing
    Serve("GetObject", make);
#else
    Serve("GetObject", {Role::kReader, NamedBy({"name"})}, make);
#endif
  }
};

}  // namespace eris::server
