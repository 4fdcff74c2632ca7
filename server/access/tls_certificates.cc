#include "server/access/tls_certificates.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <string>
#include <utility>

#include "base/check.h"

namespace eris::server {

// grpcpp's own credentials with files look for new ones every few seconds at best. gRPC's core asks
// at each handshake, but only by its C interface.
class TlsCertificates::Credentials final : public grpc::ServerCredentials {
 public:
  Credentials(TlsCertificates* certificates, bool ask_clients)
      : certificates_(certificates), ask_clients_(ask_clients) {}

  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& processor) override {
    ERIS_CHECK(processor == nullptr);  // each call checks its own caller
  }

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    grpc_ssl_server_credentials_options* const options =
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            ask_clients_ ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                         : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
            &Fetch, certificates_->NewFetcher());
    grpc_server_credentials* const credentials =
        grpc_ssl_server_credentials_create_with_options(options);
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  static grpc_ssl_certificate_config_reload_status Fetch(
      void* fetcher, grpc_ssl_server_certificate_config** config) {
    Fetcher& mine = *static_cast<Fetcher*>(fetcher);
    std::shared_ptr<const PemFiles> files;
    {
      base::MutexLock lock(&mine.certificates->mu_);
      if (mine.seen == mine.certificates->version_)
        return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
      mine.seen = mine.certificates->version_;
      files = mine.certificates->files_;
    }
    const grpc_ssl_pem_key_cert_pair pair = {files->key.c_str(), files->cert_chain.c_str()};
    // gRPC wants some authorities even if clients are not asked for a certificate: it uses none
    // then.
    const std::string& authorities =
        files->client_ca.empty() ? files->cert_chain : files->client_ca;
    *config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  TlsCertificates* const certificates_;
  const bool ask_clients_;
};

void TlsCertificates::Set(PemFiles files) {
  auto shared = std::make_shared<const PemFiles>(std::move(files));
  base::MutexLock lock(&mu_);
  files_ = std::move(shared);
  ++version_;
}

std::shared_ptr<grpc::ServerCredentials> TlsCertificates::ForListener(bool ask_clients) {
  return std::make_shared<Credentials>(this, ask_clients);
}

TlsCertificates::Fetcher* TlsCertificates::NewFetcher() {
  base::MutexLock lock(&mu_);
  ERIS_CHECK(files_ != nullptr);
  return &fetchers_.emplace_back(Fetcher{this});
}

}  // namespace eris::server
