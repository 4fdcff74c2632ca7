// The options of a running server, and changing those that can change: GetConfig and UpdateConfig
// of admin.proto. Threads and errors: as Client.
#ifndef ERIS_CLIENTS_CONFIG_CLIENT_H_
#define ERIS_CLIENTS_CONFIG_CLIENT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/eris_client.h"

namespace eris::client {

// As ConfigOption of admin.proto.
struct ConfigValue {
  std::string name;
  std::string value;
  std::string origin;
  bool live = false;
};

// All options, in the order of the documentation. Errors: Unimplemented (an older server).
absl::StatusOr<std::vector<ConfigValue>> GetConfig(Client& client);
// Changes all or none, and returns them as they are then. Errors: InvalidArgument (an unknown name,
// an invalid value), FailedPrecondition (an option that needs a restart).
absl::StatusOr<std::vector<ConfigValue>> SetConfig(
    Client& client, const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace eris::client

#endif  // ERIS_CLIENTS_CONFIG_CLIENT_H_
