// The certificates and the key of TLS, as PEM text, checked before anything uses them: gRPC finds
// out only at a handshake that they are bad, and then ends every one. Any thread, no state.
#ifndef ERIS_SERVER_ACCESS_PEM_FILES_H_
#define ERIS_SERVER_ACCESS_PEM_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/access/security_options.h"

namespace eris::server {

struct PemFiles {
  std::string cert_chain{};  // the server's certificate, then those of its issuers
  std::string key{};
  std::string client_ca{};  // empty: clients show no certificate
};

// REQUIRES: options.has_tls(). Errors: NotFound and the like (a file cannot be read),
// InvalidArgument (as CheckPem).
absl::StatusOr<PemFiles> ReadPemFiles(const SecurityOptions& options, absl::Time now);

// Checks that every certificate can be read and is valid at `now`, that each in the chain is signed
// by the next one, and that the key is the first one's. Errors: InvalidArgument (names the file and
// the reason; quotes nothing of a key).
absl::Status CheckPem(const PemFiles& files, const SecurityOptions& options, absl::Time now);

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_PEM_FILES_H_
