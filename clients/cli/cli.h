// What the verbs of the eris program share: the global options, and how a verb is entered. Each
// verb adds its subcommand with an Add function; parsing then sets Cli::run. One thread.
#ifndef ERIS_CLIENTS_CLI_CLI_H_
#define ERIS_CLIENTS_CLI_CLI_H_

#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "absl/status/statusor.h"
#include "clients/eris_client.h"

namespace eris::cli {

struct Cli {
  std::string server = "127.0.0.1:7411";
  std::string output = "table";  // or "json"
  double timeout_s = 30;
  // The verb that the command line asked for; returns the exit code.
  std::function<int()> run;

  bool json() const { return output == "json"; }
  absl::Duration timeout() const { return absl::Seconds(timeout_s); }
  // Errors: Unavailable.
  absl::StatusOr<std::unique_ptr<client::Client>> Connect() const {
    return client::Client::Connect({.server = server, .timeout = timeout()});
  }

  // A connection for one object: its types of keys say how their text is read and shown.
  struct ObjectClient {
    std::unique_ptr<client::Client> client;
    ObjectInfo info;
  };
  // Errors: Unavailable, NotFound.
  absl::StatusOr<ObjectClient> ConnectTo(const std::string& object) const {
    absl::StatusOr<std::unique_ptr<client::Client>> client = Connect();
    if (!client.ok()) return client.status();
    absl::StatusOr<ObjectInfo> info = (*client)->Get(object);
    if (!info.ok()) return info.status();
    return ObjectClient{*std::move(client), *std::move(info)};
  }
};

void AddServe(CLI::App& app, Cli& cli);
void AddCreate(CLI::App& app, Cli& cli);
void AddDrop(CLI::App& app, Cli& cli);
void AddList(CLI::App& app, Cli& cli);
void AddPut(CLI::App& app, Cli& cli);
void AddGet(CLI::App& app, Cli& cli);
void AddAdd(CLI::App& app, Cli& cli);
void AddErase(CLI::App& app, Cli& cli);
void AddScan(CLI::App& app, Cli& cli);
void AddAggregate(CLI::App& app, Cli& cli);
void AddCount(CLI::App& app, Cli& cli);
void AddImport(CLI::App& app, Cli& cli);
void AddExport(CLI::App& app, Cli& cli);
void AddStats(CLI::App& app, Cli& cli);
void AddTopology(CLI::App& app, Cli& cli);
void AddMemory(CLI::App& app, Cli& cli);
void AddBalancer(CLI::App& app, Cli& cli);
void AddBench(CLI::App& app, Cli& cli);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_CLI_H_
