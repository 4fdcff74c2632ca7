// The certificate that handshakes use now. A new one takes effect with the next handshake;
// connections go on with the one that they began with.
#ifndef ERIS_SERVER_ACCESS_TLS_CERTIFICATES_H_
#define ERIS_SERVER_ACCESS_TLS_CERTIFICATES_H_

#include <grpcpp/security/server_credentials.h>

#include <cstdint>
#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "server/access/pem_files.h"

namespace eris::server {

class TlsCertificates {
 public:
  // Outlives every server that listens with its credentials.
  TlsCertificates() = default;
  TlsCertificates(const TlsCertificates&) = delete;
  TlsCertificates& operator=(const TlsCertificates&) = delete;

  // REQUIRES: CheckPem has accepted them. Any thread.
  void Set(PemFiles files);

  // For one listener: TLS 1.2 or newer. `ask_clients`: only clients with a certificate of one of
  // the authorities are accepted. REQUIRES: Set has been called.
  std::shared_ptr<grpc::ServerCredentials> ForListener(bool ask_clients);

 private:
  class Credentials;
  // What gRPC calls at each handshake of a listener.
  struct Fetcher {
    TlsCertificates* certificates;
    uint64_t seen = 0;  // the version that it has; guarded by the certificates' mu_
  };
  Fetcher* NewFetcher();

  base::Mutex mu_;
  std::shared_ptr<const PemFiles> files_ ABSL_GUARDED_BY(mu_);
  uint64_t version_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<Fetcher> fetchers_ ABSL_GUARDED_BY(mu_);  // a deque, so that they never move
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_TLS_CERTIFICATES_H_
