// The eris program: one verb per file beside this one.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "clients/cli/cli.h"
#include "clients/cli/exit_code.h"
#include "clients/cli/within.h"

namespace {

constexpr char kFooter[] =
    "Exit codes:\n"
    "  0  ok (also when the reader of the output has gone, as in `eris scan orders | head`)\n"
    "  1  not found: no such object; get: at least one key is missing; put with a condition: at\n"
    "     least one key was not written; bench: wrong answers\n"
    "  2  usage, or input that is refused as invalid\n"
    "  3  the server cannot be reached, is stopping, or did not answer in time\n"
    "  4  refused: name taken, memory limit, overload, a balancer that is paused; serve: the "
    "server\n"
    "     could not start\n"
    "  5  memory verify: pages lie on another NumaNode than they should\n"
    "  6  memory verify: where they lie or should lie cannot be told\n"
    "130  bench: interrupted (Ctrl-C), and nothing was wrong by then\n"
    "\n"
    "Examples:\n"
    "  eris serve --memory-limit 4GiB &\n"
    "  eris import orders orders.tbl --key o_orderkey --value o_custkey\n"
    "  eris get orders 1 7 32\n"
    "  eris scan orders --from 100 --to 200 --output json\n"
    "  eris aggregate orders --from 100 --to 200\n"
    "  eris stats\n"
    "Each verb has its own: eris import --help\n";

// A descriptor of the three that is closed would go to the next file or connection, and what is
// written to stdout into that. Reading and writing go on to fail.
void KeepStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    const bool closed = fcntl(fd, F_GETFD) == -1 && errno == EBADF;
    if (closed) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest: fd
  }
}

}  // namespace

int main(int argc, char** argv) {
  KeepStandardDescriptors();
  // A reader that has gone shows as EPIPE, which output.h turns into a quiet end.
  std::signal(SIGPIPE, SIG_IGN);

  eris::cli::Cli cli;
  CLI::App app("ERIS: a NUMA-aware in-memory storage engine. Data ends with the server.", "eris");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.fallthrough();  // global options may stand behind the verb
  app.add_option("--server", cli.server, "Server to talk to, host:port")
      ->envname("ERIS_SERVER")
      ->capture_default_str();
  app.add_option("--output", cli.output, "table, or json (64-bit numbers as strings)")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app.add_option("--timeout", cli.timeout_s, "Seconds to wait for connection and each answer")
      ->check(eris::cli::Within(0.001, 86400.0))
      ->capture_default_str();

  eris::cli::AddServe(app, cli);
  eris::cli::AddCreate(app, cli);
  eris::cli::AddDrop(app, cli);
  eris::cli::AddList(app, cli);
  eris::cli::AddPut(app, cli);
  eris::cli::AddGet(app, cli);
  eris::cli::AddAdd(app, cli);
  eris::cli::AddErase(app, cli);
  eris::cli::AddScan(app, cli);
  eris::cli::AddAggregate(app, cli);
  eris::cli::AddCount(app, cli);
  eris::cli::AddImport(app, cli);
  eris::cli::AddExport(app, cli);
  eris::cli::AddStats(app, cli);
  eris::cli::AddTopology(app, cli);
  eris::cli::AddMemory(app, cli);
  eris::cli::AddBalancer(app, cli);
  eris::cli::AddBench(app, cli);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Prints help, or what is wrong; help ends with 0.
    return app.exit(error) == 0 ? eris::cli::kExitOk : eris::cli::kExitInvalid;
  }
  return cli.run();
}
