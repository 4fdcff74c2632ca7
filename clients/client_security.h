// How a client proves its identity to a server, and checks the server's.
#ifndef ERIS_CLIENTS_CLIENT_SECURITY_H_
#define ERIS_CLIENTS_CLIENT_SECURITY_H_

#include <string>

namespace eris::client {

struct ClientSecurity {
  // A file in PEM with the authorities that the server's certificate may come from, or "system":
  // those that the machine trusts. Empty: the connection is plain TCP.
  std::string tls_ca{};
  // The client's own certificate and private key, files in PEM: for servers that ask for one.
  std::string tls_cert{};
  std::string tls_key{};
  // A file with the token, alone on its first line.
  std::string token_file{};
  // The token itself, used if there is no file.
  std::string token{};
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_CLIENT_SECURITY_H_
