#include "server/access/permit.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "server/access/access.h"
#include "server/access/token_file.h"
#include "server/log/log.h"

namespace eris::server {

namespace {

// What a line of the log shows of a text that a client has chosen.
constexpr size_t kShownBytesMax = 512;

}  // namespace

absl::Status Permit::OfMethod(const absl::Status& status) const {
  if (status.ok()) return status;
  return access_->Refused(
      absl::Status(status.code(), absl::StrCat(method_->method(), " ", status.message())));
}

absl::Status Permit::CheckCaller() {
  if (access_->version_.load(std::memory_order_relaxed) != version_) {
    const auto [callers, version] = access_->callers();
    std::shared_ptr<const Caller> found = callers->ByCredential(caller_->credential);
    if (found == nullptr) {
      return access_->Refused(absl::UnauthenticatedError(
          absl::StrCat("\"", caller_->name, "\" was revoked while the call was open")));
    }
    caller_ = std::move(found);
    version_ = version;
  }
  if (absl::Now() < caller_->expires) return absl::OkStatus();
  return access_->Refused(absl::UnauthenticatedError(
      absl::StrCat("\"", caller_->name, "\" has expired at ", ExpiryText(caller_->expires))));
}

absl::Status Permit::CheckRequest(const google::protobuf::Message& request) {
  if (access_ == nullptr) return absl::PermissionDeniedError("the call has no permit");
  if (caller_ == nullptr) return absl::OkStatus();
  const google::protobuf::Reflection& reflection = *request.GetReflection();
  std::string unused;
  if (method_->audited()) {
    objects_.clear();
    for (const auto* field : method_->fields()) {
      absl::StrAppend(&objects_, objects_.empty() ? "" : " ",
                      absl::string_view(reflection.GetStringReference(request, field, &unused))
                          .substr(0, kShownBytesMax));
    }
  }
  ERIS_RETURN_IF_ERROR(CheckCaller());
  using Where = ObjectNames::Where;
  switch (method_->where()) {
    case Where::kNone:
    case Where::kInside:
      return OfMethod(AllowWithoutObject(*caller_, method_->role()));
    case Where::kEvery:
      return OfMethod(AllowEveryObject(*caller_, method_->role()));
    case Where::kFields:
    case Where::kFieldsOrEvery:
      break;
  }
  for (const auto* field : method_->fields()) {
    const std::string& object = reflection.GetStringReference(request, field, &unused);
    const bool every = object.empty() && method_->where() == Where::kFieldsOrEvery;
    ERIS_RETURN_IF_ERROR(OfMethod(every ? AllowEveryObject(*caller_, method_->role())
                                        : Allow(*caller_, method_->role(), object)));
  }
  return absl::OkStatus();
}

absl::Status Permit::CheckObject(absl::string_view object) {
  if (access_ == nullptr) return absl::PermissionDeniedError("the call has no permit");
  if (caller_ == nullptr) return absl::OkStatus();
  return OfMethod(Allow(*caller_, method_->role(), object));
}

bool Permit::Sees(absl::string_view object) const {
  return access_ != nullptr && (caller_ == nullptr || caller_->Sees(object));
}

void Permit::SetAudited(std::string what) {
  objects_ = std::move(what);
  if (objects_.size() > kShownBytesMax) objects_.resize(kShownBytesMax);
}

void Permit::Audit(const absl::Status& result) const {
  if (caller_ == nullptr || !method_->audited()) return;
  const LogField caller{"caller", caller_->name};
  const LogField peer{"peer", peer_};
  const LogField call{"call", method_->method()};
  const LogField object{"object", objects_};
  if (result.ok()) {
    return Log(LogLevel::kInfo, "audit", {caller, peer, call, object, {"result", "OK"}});
  }
  const std::optional<uint64_t> left_out = access_->TakeRefusalLine(caller_->name);
  if (!left_out) return;
  Log(LogLevel::kInfo, "audit",
      {caller,
       peer,
       call,
       object,
       {"result", absl::StrCat(absl::StatusCodeToString(result.code()), ": ",
                               result.message().substr(0, kShownBytesMax))},
       {"lines_left_out", absl::StrCat(*left_out)}});
}

}  // namespace eris::server
