// The eris program. Each verb is in its own file of this folder.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/flags.h"
#include "clients/cli/version.h"

namespace {

constexpr char kFooter[] =
    "Exit codes:\n"
    "  0  ok (also when the reader of the output has gone, as in `eris scan orders | head`)\n"
    "  1  not found: no such object or running query; get: at least one key is missing; put with "
    "a\n"
    "     condition: at least one key was not written; bench: wrong answers; serve: a second signal\n"
    "     has ended it at once; a file that is named is not there\n"
    "  2  usage, input that is refused as invalid, or an option that is not for this object; a\n"
    "     query whose result is outside a limit; serve: the configuration is refused, and trying\n"
    "     again does not help\n"
    "  3  the server cannot be reached (known at once where nobody listens), is stopping, or did "
    "not\n"
    "     answer in time\n"
    "  4  refused: no token, or one without the role; name taken, a verb that is not for this "
    "kind\n"
    "     of object, a plan with something that is not supported, memory limit, overload, a\n"
    "     balancer that is paused; serve: the server could not start now\n"
    "  5  memory verify: pages lie on another NumaNode than they should\n"
    "  6  memory verify: where they lie or should lie cannot be told\n"
    "  7  doctor: a finding is bad\n"
    "130  interrupted (Ctrl-C; import, export, generate and bench also by SIGTERM) before the end; "
    "bench:\n"
    "     and nothing was wrong by then\n"
    "\n"
    "Examples:\n"
    "  eris serve --memory-limit 4GiB &\n"
    "  eris import orders orders.tbl --key o_orderkey --value o_custkey\n"
    "  eris get orders 1 7 32\n"
    "  eris scan orders --from 100 --to 200 --output json\n"
    "  eris aggregate orders --from 100 --to 200\n"
    "  eris stats\n"
    "Each verb has its own: eris help import, or eris import --help\n";

// If one of the three standard descriptors is closed, the next opened file or connection would get
// its number, and output to stdout would go there. With this, reading and writing still fail.
void KeepStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    const bool closed = fcntl(fd, F_GETFD) == -1 && errno == EBADF;
    if (closed) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest: fd
  }
}

// There is no flag for the token itself: other users of the machine would see it in the list of
// processes.
void AddSecurity(eris::cli::Flags& program, eris::cli::Cli& cli) {
  eris::client::ClientSecurity& security = cli.security;
  program
      .Add("--tls-ca", security.tls_ca,
           "Talk TLS: PEM file with the authorities of the server's certificate, or system")
      .Env("ERIS_TLS_CA");
  program.Add("--tls-cert", security.tls_cert, "Own certificate, PEM, if the server asks for one")
      .Env("ERIS_TLS_CERT");
  program.Add("--tls-key", security.tls_key, "Its private key, PEM").Env("ERIS_TLS_KEY");
  program
      .Add("--token-file", security.token_file,
           "File with the token (else: the variable ERIS_TOKEN)")
      .Env("ERIS_TOKEN_FILE");
  if (const char* token = std::getenv("ERIS_TOKEN")) security.token = token;
}

}  // namespace

int main(int argc, char** argv) {
  KeepStandardDescriptors();
  // A closed reader is reported as EPIPE, which output.h turns into a quiet end.
  std::signal(SIGPIPE, SIG_IGN);

  eris::cli::Cli cli;
  eris::cli::Flags program(
      "ERIS: a NUMA-aware in-memory storage engine. Data ends with the server.", "eris");
  program.SetFooter(kFooter);
  program.RequireVerb();
  program.SetVersion("eris " + eris::cli::VersionText());
  program.Add("--server", cli.server, "Server to talk to, host:port")
      .Env("ERIS_SERVER")
      .ShowDefault();
  program.Add("--output", cli.output, "table, or json (64-bit numbers as strings)")
      .Check(eris::cli::OneOf({"table", "json"}))
      .ShowDefault();
  program.Add("--timeout", cli.timeout_s, "Seconds to wait for connection and each answer")
      .Check(eris::cli::Within(0.001, 86400.0))
      .ShowDefault();

  AddSecurity(program, cli);

  eris::cli::AddServe(program);
  eris::cli::AddConfig(program, cli);
  eris::cli::AddCreate(program, cli);
  eris::cli::AddDrop(program, cli);
  eris::cli::AddList(program, cli);
  eris::cli::AddDescribe(program, cli);
  eris::cli::AddPut(program, cli);
  eris::cli::AddGet(program, cli);
  eris::cli::AddAdd(program, cli);
  eris::cli::AddErase(program, cli);
  eris::cli::AddScan(program, cli);
  eris::cli::AddQuery(program, cli);
  eris::cli::AddSql(program, cli);
  eris::cli::AddAggregate(program, cli);
  eris::cli::AddCount(program, cli);
  eris::cli::AddImport(program, cli);
  eris::cli::AddExport(program, cli);
  eris::cli::AddGenerate(program, cli);
  eris::cli::AddStats(program, cli);
  eris::cli::AddHot(program, cli);
  eris::cli::AddTop(program, cli);
  eris::cli::AddMetrics(program, cli);
  eris::cli::AddTopology(program, cli);
  eris::cli::AddMemory(program, cli);
  eris::cli::AddBalancer(program, cli);
  eris::cli::AddDoctor(program, cli);
  eris::cli::AddBench(program, cli);
  eris::cli::AddToken(program, cli);

  if (const std::optional<int> code = program.Parse(argc, argv)) return *code;
  return program.Run();
}
