// Who may call this server: finds the caller of each call, and watches the files of tokens and
// certificates. With roles, a caller shows a token in the header `authorization: Bearer <token>`,
// or else a client's certificate, whose alternative names and common name are looked up in this
// order.
#ifndef ERIS_SERVER_ACCESS_ACCESS_H_
#define ERIS_SERVER_ACCESS_ACCESS_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
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

  // A call of `method`, which outlives it, begins. Any thread; does not block. Errors:
  // Unauthenticated (no token, or an unknown or expired one), PermissionDenied (the role; if the
  // request names objects, only Permit::CheckRequest tells).
  absl::StatusOr<Permit> Enter(const grpc::CallbackServerContext& context,
                               const MethodPolicy& method);

  // Looks at the files now. Any thread; blocks while they are read. The timer does it each second.
  void Poll();

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

  Sweeper timer_;  // ends first
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_ACCESS_H_
