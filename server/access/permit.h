// What one call may do. It is made when the call begins, and asked about each request and object.
// It follows changes of the tokens: a stream's next request is refused once its token is revoked or
// has expired. A default-constructed permit allows nothing.
#ifndef ERIS_SERVER_ACCESS_PERMIT_H_
#define ERIS_SERVER_ACCESS_PERMIT_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/access/caller.h"
#include "server/access/policy.h"

namespace eris::server {

class Access;

// Owned by the call's running step.
class Permit {
 public:
  Permit() = default;

  // For a request that has arrived: the caller must still be known, and may name these objects.
  // Errors: Unauthenticated (the token has expired, or was revoked), PermissionDenied.
  absl::Status CheckRequest(const google::protobuf::Message& request);
  // For an object that a plan, a ticket or a later message names. Errors: PermissionDenied.
  absl::Status CheckObject(absl::string_view object);
  // For lists: whether they show the object.
  bool Sees(absl::string_view object) const;

  // The caller's name in the tokens file; empty: there are no roles.
  std::string caller_name() const { return caller_ == nullptr ? std::string() : caller_->name; }

  // Sets what the line in the log shows as object, for requests whose fields name no object.
  void SetAudited(std::string what);
  // The call has ended with `result`: writes a line in the log if the method is audited. If it has
  // failed, only Access::kRefusalLines lines for each caller in Access::kRefusalPeriod.
  void Audit(const absl::Status& result) const;

 private:
  friend class Access;
  Permit(Access* access, const MethodPolicy* method) : access_(access), method_(method) {}
  // Errors: Unauthenticated.
  absl::Status CheckCaller();
  // Puts the method before the message.
  absl::Status OfMethod(const absl::Status& status) const;

  Access* access_ = nullptr;
  const MethodPolicy* method_ = nullptr;
  std::shared_ptr<const Caller> caller_;  // nullptr: there are no roles
  uint64_t version_ = 0;                  // of the tokens in which it was found
  std::string peer_;                      // only if the method is audited
  std::string objects_;                   // the same: as the request names them
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_PERMIT_H_
