#include "clients/config_client.h"

#include "clients/client_stubs.h"

namespace eris::client {
namespace {

template <class Response>
std::vector<ConfigValue> ValuesOf(const Response& response) {
  std::vector<ConfigValue> values;
  for (const v1::ConfigOption& option : response.options()) {
    values.push_back({option.name(), option.value(), option.origin(), option.live()});
  }
  return values;
}

}  // namespace

absl::StatusOr<std::vector<ConfigValue>> GetConfig(Client& client) {
  return Call<std::vector<ConfigValue>>(client, client.stubs().admin, &v1::Admin::Stub::GetConfig,
                                        v1::GetConfigRequest(), ValuesOf<v1::GetConfigResponse>);
}

absl::StatusOr<std::vector<ConfigValue>> SetConfig(
    Client& client, const std::vector<std::pair<std::string, std::string>>& values) {
  v1::UpdateConfigRequest request;
  for (const auto& [name, value] : values) {
    (*request.mutable_values())[name] = value;
    request.mutable_update_mask()->add_paths(name);
  }
  return Call<std::vector<ConfigValue>>(client, client.stubs().admin,
                                        &v1::Admin::Stub::UpdateConfig, request,
                                        ValuesOf<v1::UpdateConfigResponse>);
}

}  // namespace eris::client
