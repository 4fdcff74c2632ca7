#include "server/access/access.h"

#include <grpcpp/security/auth_context.h>

#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "server/access/token_file.h"
#include "server/log/log.h"

namespace eris::server {
namespace {

constexpr std::chrono::seconds kPollInterval{1};
constexpr char kHeader[] = "authorization";
constexpr absl::string_view kScheme = "bearer ";

absl::string_view View(grpc::string_ref text) { return {text.data(), text.size()}; }

// The token of the header; nullopt if absent. Errors: Unauthenticated; the text quotes no token.
absl::StatusOr<std::optional<absl::string_view>> TokenOf(
    const grpc::CallbackServerContext& context) {
  const auto [begin, end] = context.client_metadata().equal_range(kHeader);
  if (begin == end) return std::nullopt;
  const absl::string_view value = View(begin->second);
  if (std::next(begin) != end) {
    return absl::UnauthenticatedError("the call has several authorization headers");
  }
  if (absl::StartsWithIgnoreCase(value, kScheme)) return value.substr(kScheme.size());
  return absl::UnauthenticatedError("the authorization header must be: Bearer <token>");
}

std::vector<std::string> TlsFilesOf(const SecurityOptions& options) {
  std::vector<std::string> paths = {options.tls_cert, options.tls_key};
  if (!options.tls_client_ca.empty()) paths.push_back(options.tls_client_ca);
  return paths;
}

}  // namespace

Access::Access(SecurityOptions options, boost::asio::io_context* io)
    : options_(std::move(options)),
      tokens_file_("tokens file", {options_.tokens_file}, [this] { return LoadTokens(); }),
      tls_files_("TLS files", TlsFilesOf(options_), [this] { return LoadTls(); }),
      callers_(std::make_shared<const Callers>(std::vector<Caller>())),
      timer_(io) {}

Access::~Access() { timer_.End(); }

absl::Status Access::Start() {
  if (options_.has_tls()) ERIS_RETURN_IF_ERROR(tls_files_.LoadFirst());
  if (options_.has_roles()) ERIS_RETURN_IF_ERROR(tokens_file_.LoadFirst());
  if (!options_.has_tls() && !options_.has_roles()) return absl::OkStatus();
  timer_.Begin([this](Sweeper::Clock::time_point) -> std::optional<Sweeper::Clock::duration> {
    Poll();
    return kPollInterval;
  });
  timer_.Arm(kPollInterval);
  return absl::OkStatus();
}

void Access::Poll() {
  base::MutexLock lock(&poll_mu_);
  if (options_.has_tls()) tls_files_.Poll();
  if (options_.has_roles()) tokens_file_.Poll();
}

absl::Status Access::LoadTls() {
  ERIS_ASSIGN_OR_RETURN(PemFiles files, ReadPemFiles(options_, absl::Now()));
  certificates_.Set(std::move(files));
  return absl::OkStatus();
}

absl::Status Access::LoadTokens() {
  ERIS_ASSIGN_OR_RETURN(const std::string text, ReadTokensFile(options_.tokens_file));
  ERIS_ASSIGN_OR_RETURN(std::vector<Caller> callers, ParseTokens(text, options_.tokens_file));
  auto shared = std::make_shared<const Callers>(std::move(callers));
  base::MutexLock lock(&mu_);
  callers_ = std::move(shared);
  version_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

std::shared_ptr<grpc::ServerCredentials> Access::CredentialsFor(absl::string_view listen) {
  if (!options_.has_tls() || absl::StartsWith(listen, "unix:")) {
    return grpc::InsecureServerCredentials();
  }
  return certificates_.ForListener(/*ask_clients=*/!options_.tls_client_ca.empty());
}

std::pair<std::shared_ptr<const Callers>, uint64_t> Access::callers() const {
  base::MutexLock lock(&mu_);
  return {callers_, version_.load(std::memory_order_relaxed)};
}

absl::StatusOr<Access::Found> Access::FindByCertificate(
    const grpc::CallbackServerContext& context) const {
  const auto [callers, version] = this->callers();
  const auto peer = context.auth_context();
  for (const char* property : {GRPC_X509_SAN_PROPERTY_NAME, GRPC_X509_CN_PROPERTY_NAME}) {
    for (const grpc::string_ref& name : peer->FindPropertyValues(property)) {
      if (auto found = callers->ByCertificate(View(name))) return Found{std::move(found), version};
    }
  }
  return absl::UnauthenticatedError(
      "the call has no token, and the certificate's name has no role in the server's tokens file");
}

absl::StatusOr<Access::Found> Access::FindCaller(const grpc::CallbackServerContext& context) const {
  ERIS_ASSIGN_OR_RETURN(const std::optional<absl::string_view> token, TokenOf(context));
  if (!token && !options_.tls_client_ca.empty() && context.auth_context()->IsPeerAuthenticated()) {
    return FindByCertificate(context);
  }
  if (!token) {
    return absl::UnauthenticatedError(
        "the call has no token: send the header authorization: Bearer <token> (eris: "
        "--token-file)");
  }
  const auto [callers, version] = this->callers();
  std::shared_ptr<const Caller> found = callers->ByToken(*token);
  if (found == nullptr) {
    return absl::UnauthenticatedError("the token is unknown here, or was revoked");
  }
  return Found{std::move(found), version};
}

absl::StatusOr<Permit> Access::Enter(const grpc::CallbackServerContext& context,
                                     const MethodPolicy& method) {
  Permit permit(this, &method);
  if (!options_.has_roles()) return permit;
  if (method.audited()) permit.peer_ = context.peer();
  absl::StatusOr<Found> found = FindCaller(context);
  if (!found.ok()) return Refused(found.status());
  std::tie(permit.caller_, permit.version_) = *std::move(found);
  ERIS_RETURN_IF_ERROR(permit.CheckCaller());
  // If the request names its objects, CheckRequest looks at the role, too: its refusal names them.
  if (method.names_objects()) return permit;
  const absl::Status allowed = permit.OfMethod(AllowWithoutObject(*permit.caller_, method.role()));
  if (allowed.ok()) return permit;
  permit.Audit(allowed);
  return allowed;
}

absl::Status Access::Refused(const absl::Status& status) {
  std::atomic<uint64_t>& count = absl::IsUnauthenticated(status) ? unauthenticated_ : denied_;
  count.fetch_add(1, std::memory_order_relaxed);
  return status;
}

std::optional<uint64_t> Access::TakeRefusalLine(const std::string& caller) {
  base::MutexLock lock(&lines_mu_);
  return refusal_lines_.try_emplace(caller, kRefusalLines, kRefusalPeriod).first->second.Take();
}

}  // namespace eris::server
