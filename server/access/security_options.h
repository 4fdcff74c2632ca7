// Section [security] of the configuration: the callers of this server, and the transport.
#ifndef ERIS_SERVER_ACCESS_SECURITY_OPTIONS_H_
#define ERIS_SERVER_ACCESS_SECURITY_OPTIONS_H_

#include <string>

namespace eris::server {

// Paths; empty: not used.
struct SecurityOptions {
  // The tokens and certificates that have a role (token_file.h). Empty: every caller may do
  // everything.
  std::string tokens_file{};
  // The server's certificate with its chain, and its private key, in PEM. Both, or neither: without
  // them TCP is plain.
  std::string tls_cert{};
  std::string tls_key{};
  // The authorities that issue clients' certificates. If set, a client without a certificate is not
  // accepted.
  std::string tls_client_ca{};
  // Serves addresses that other machines reach, even without TLS or without roles.
  bool open = false;

  bool has_roles() const { return !tokens_file.empty(); }
  bool has_tls() const { return !tls_cert.empty(); }
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_SECURITY_OPTIONS_H_
