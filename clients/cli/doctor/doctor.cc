// eris doctor: what of this machine, and of a running server, is not as it should be.
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clients/balancer_client.h"
#include "clients/cli/doctor/finding.h"
#include "clients/cli/doctor/machine_checks.h"
#include "clients/cli/doctor/server_checks.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "eris/process_limits.h"

namespace eris::cli {
namespace {

struct DoctorFlags {
  bool json = false;
  std::string root;
};

absl::StatusOr<ServerFigures> ReadServer(client::Client& client) {
  absl::StatusOr<client::ServerInfo> server = client.Server();
  if (!server.ok()) return server.status();
  absl::StatusOr<EngineStats> stats = client.Stats();
  if (!stats.ok()) return stats.status();
  absl::StatusOr<MemoryStats> memory = client.Memory();
  if (!memory.ok()) return memory.status();
  absl::StatusOr<client::Balance> balance = client::BalancerClient(client).Status();
  if (!balance.ok()) return balance.status();
  return ServerFigures{*std::move(server), *std::move(stats), *std::move(memory),
                       std::move(balance->status)};
}

int RunDoctor(const Cli& cli, const DoctorFlags& flags, bool with_server) {
  if (!flags.root.empty()) setenv("ERIS_SYSTEM_ROOT", flags.root.c_str(), /*replace=*/1);
  std::vector<Finding> findings = CheckMachine(MachineFiles(flags.root), ReadProcessLimits());
  if (with_server) {
    const auto client = cli.Connect();
    if (!client.ok()) return Report(client.status());
    const absl::StatusOr<ServerFigures> figures = ReadServer(**client);
    if (!figures.ok()) return Report(figures.status());
    for (Finding& finding : CheckServer(*figures)) findings.push_back(std::move(finding));
  }
  Output output;
  if (flags.json || cli.json()) {
    output.WriteJson(ToJson(findings));
  } else {
    output.Write(ToText(findings));
  }
  return output.Finish(AnyIs(findings, Verdict::kBad) ? kExitUnwell : kExitOk);
}

}  // namespace

void AddDoctor(Flags& program, Cli& cli) {
  auto flags = std::make_shared<DoctorFlags>();
  Flags& verb = program.AddVerb("doctor", "Say what of this machine should be changed, and why");
  verb.Add("--json", flags->json, "As --output json");
  // Hidden: for tests.
  verb.Add("--root", flags->root, "Read /proc and /sys below this directory").Group("");
  verb.SetFooter(
      "Each finding is ok, warn (costs speed, or may later), bad, or unknown. If it is not ok,\n"
      "the doctor says what to change, why, and how to undo it. It changes nothing itself. What\n"
      "`sysctl -w` sets ends with the next boot: write it to /etc/sysctl.d/60-eris.conf to keep\n"
      "it. With --server (or ERIS_SERVER) the running server is looked at, too. Limits are those\n"
      "of this shell: run it as the server runs, e.g.\n"
      "  systemd-run -p LimitNOFILE=65536 -t eris doctor\n"
      "Exit code 7: a finding is bad.\n"
      "\n"
      "Examples:\n"
      "  eris doctor\n"
      "  eris doctor --server 127.0.0.1:7411\n"
      "  eris doctor --json | jq -r '.[] | select(.verdict != \"ok\") | .change'\n");
  verb.SetRun(
      [flags, &cli, &program] { return RunDoctor(cli, *flags, program.Given("--server")); });
}

}  // namespace eris::cli
