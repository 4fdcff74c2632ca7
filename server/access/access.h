// Finds the caller of each call, and watches the files of tokens and certificates. With roles, a
// caller shows a token in the header `authorization: Bearer <token>`, or else a client's
// certificate: its alternative names are looked up first, then its common name.
#ifndef ERIS_SERVER_ACCESS_ACCESS_H_
#define ERIS_SERVER_ACCESS_ACCESS_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "server/access/callers.h"
#include "server/access/permit.h"
#include "server/access/policy.h"
#include "server/access/security_options.h"
#include "server/access/tls_certificates.h"
#include "server/access/watched_files.h"
#include "server/guard/sweep_timer.h"
#include "server/log/log_limit.h"

namespace eris::server {

class Access {
 public:
  // `io` runs the timer that polls the files: one thread runs it, and it outlives this.
  Access(SecurityOptions options, boost::asio::io_context* io);
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  // Reads the files, and watches them from then on. Once, before the first call. Errors: of
  // ReadPemFiles, ReadFile and ParseTokens.
  absl::Status Start();
  // For a listener at this address: TLS if it is configured and the address is no Unix socket.
  std::shared_ptr<grpc::ServerCredentials> CredentialsFor(absl::string_view listen);

  // Begins a call of `method`, which outlives the call. Any thread; does not block. Errors:
  // Unauthenticated (no token, or an unknown or expired one), PermissionDenied (the role). If the
  // request names objects, only Permit::CheckRequest checks the role.
  absl::StatusOr<Permit> Enter(const grpc::CallbackServerContext& context,
                               const MethodPolicy& method);

  // Looks at the files now. Any thread; blocks while they are read. The timer does it each second.
  void Poll();

  // Lines in the log about refused calls of one caller: more would fill the disk.
  static constexpr uint32_t kRefusalLines = 30;
  static constexpr std::chrono::minutes kRefusalPeriod{1};

  // Any thread. Numbers to show.
  uint64_t unauthenticated() const { return unauthenticated_.load(std::memory_order_relaxed); }
  uint64_t denied() const { return denied_.load(std::memory_order_relaxed); }
  const WatchedFiles& tokens_file() const { return tokens_file_; }
  const WatchedFiles& tls_files() const { return tls_files_; }

 private:
  friend class Permit;
  using Found = std::pair<std::shared_ptr<const Caller>, uint64_t>;  // with the tokens' version

  absl::Status LoadTokens();
  absl::Status LoadTls();
  std::pair<std::shared_ptr<const Callers>, uint64_t> callers() const;
  // Errors: Unauthenticated.
  absl::StatusOr<Found> FindCaller(const grpc::CallbackServerContext& context) const;
  absl::StatusOr<Found> FindByCertificate(const grpc::CallbackServerContext& context) const;
  // Counts a refusal.
  absl::Status Refused(const absl::Status& status);
  // For the line about a refused call that is audited: see LogLimit::Take. Any thread.
  std::optional<uint64_t> TakeRefusalLine(const std::string& caller);

  // Immutable after construction.
  const SecurityOptions options_;

  base::Mutex poll_mu_;  // one thread at a time looks at the files
  TlsCertificates certificates_;
  WatchedFiles tokens_file_;
  WatchedFiles tls_files_;

  mutable base::Mutex mu_;
  std::shared_ptr<const Callers> callers_ ABSL_GUARDED_BY(mu_);
  // Shared: written with callers_, read by streams, which look again if it has changed. Relaxed: a
  // stream may notice one request later; callers_ itself is read under mu_.
  std::atomic<uint64_t> version_{0};

  // Shared: written by calls. Relaxed: they publish no data.
  std::atomic<uint64_t> unauthenticated_{0};
  std::atomic<uint64_t> denied_{0};

  base::Mutex lines_mu_;
  // By caller, so that the refusals of one caller leave out no lines of another. Bounded: its keys
  // are names that the tokens file has had.
  std::map<std::string, LogLimit> refusal_lines_ ABSL_GUARDED_BY(lines_mu_);

  Sweeper timer_;  // destroyed first: it uses the rest
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_ACCESS_H_
