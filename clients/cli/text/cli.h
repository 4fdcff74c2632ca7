// Shared by the verbs of the eris program: the global options, and how a verb is added. Each verb
// adds itself with an Add function. One thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_CLI_H_
#define ERIS_CLIENTS_CLI_TEXT_CLI_H_

#include <stdlib.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "clients/cli/text/flags.h"
#include "clients/eris_client.h"

namespace eris::cli {

inline bool IsTable(const ObjectInfo& info) {
  return info.kind == ObjectKind::kTable || info.kind == ObjectKind::kHeapTable;
}
// For verbs that are for keys and values. Errors: FailedPrecondition, saying what to do `instead`.
inline absl::Status CheckNoTable(const ObjectInfo& info, absl::string_view instead) {
  if (!IsTable(info)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(info.name, " is a table; ", instead));
}

struct Cli {
  std::string server = "127.0.0.1:7411";
  std::string output = "table";  // or "json"
  double timeout_s = 30;
  client::ClientSecurity security;

  bool json() const { return output == "json"; }
  absl::Duration timeout() const { return absl::Seconds(timeout_s); }
  // Errors: Unavailable.
  absl::StatusOr<std::unique_ptr<client::Client>> Connect() const {
    return client::Client::Connect(Options(/*own_connection=*/false));
  }
  client::ConnectOptions Options(bool own_connection) const {
    // gRPC would write failed handshakes to stderr by itself. The call's error tells of them.
    setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
    return {.server = server,
            .timeout = timeout(),
            .own_connection = own_connection,
            .security = security};
  }

  // A connection for one object, whose schema determines how text is read and shown.
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

void AddServe(Flags& program);
void AddConfig(Flags& program, Cli& cli);
void AddCreate(Flags& program, Cli& cli);
void AddDrop(Flags& program, Cli& cli);
void AddList(Flags& program, Cli& cli);
void AddDescribe(Flags& program, Cli& cli);
void AddPut(Flags& program, Cli& cli);
void AddGet(Flags& program, Cli& cli);
void AddAdd(Flags& program, Cli& cli);
void AddErase(Flags& program, Cli& cli);
void AddScan(Flags& program, Cli& cli);
void AddQuery(Flags& program, Cli& cli);
void AddSql(Flags& program, Cli& cli);
void AddAggregate(Flags& program, Cli& cli);
void AddCount(Flags& program, Cli& cli);
void AddImport(Flags& program, Cli& cli);
void AddExport(Flags& program, Cli& cli);
void AddGenerate(Flags& program, Cli& cli);
void AddStats(Flags& program, Cli& cli);
void AddHot(Flags& program, Cli& cli);
void AddTop(Flags& program, Cli& cli);
void AddMetrics(Flags& program, Cli& cli);
void AddTopology(Flags& program, Cli& cli);
void AddMemory(Flags& program, Cli& cli);
void AddBalancer(Flags& program, Cli& cli);
void AddDoctor(Flags& program, Cli& cli);
void AddBench(Flags& program, Cli& cli);
void AddToken(Flags& program, Cli& cli);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_CLI_H_
