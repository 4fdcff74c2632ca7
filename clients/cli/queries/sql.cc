// eris sql, eris shell and eris demo: the programs eris-sql and eris-shell of the Python package,
// which plans SQL (clients/python/eris/shell), and eris-demo of the wheel with the server
// (clients/python/server). They get what the command line says about the server.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"

namespace eris::cli {
namespace {

void SetVariable(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), /*overwrite=*/1);
}

struct OtherProgram {
  const char* verb;
  const char* description;
  const char* package;  // what the sentence about a missing program says of it
};

constexpr OtherProgram kOthers[] = {
    {"sql", "Run statements of SQL (needs the Python package; see eris sql --help)",
     "the Python package, pip install 'eris-engine[sql]'; ./dev wheel builds that"},
    {"shell", "Type statements of SQL, with history and completion (needs the Python package)",
     "the Python package, pip install 'eris-engine[sql]'; ./dev wheel builds that"},
    {"demo",
     "TPC-H in a server of its own, and a load that moves (comes with the wheel of the server)",
     "the Python package with the server, pip install 'eris-engine-server[demo]'; ./dev wheel "
     "server builds that"}};

// Does not return if the program is there.
int Become(const OtherProgram& other, const Cli& cli, const Flags& flags,
           const std::vector<std::string>& rest) {
  const std::string program = absl::StrCat("eris-", other.verb);
  SetVariable("ERIS_SERVER", cli.server);
  SetVariable("ERIS_TLS_CA", cli.security.tls_ca);
  SetVariable("ERIS_TLS_CERT", cli.security.tls_cert);
  SetVariable("ERIS_TLS_KEY", cli.security.tls_key);
  SetVariable("ERIS_TOKEN_FILE", cli.security.token_file);
  std::vector<std::string> words{program};
  if (flags.Given("--timeout")) {
    words.insert(words.end(), {"--timeout", absl::StrCat(cli.timeout_s)});
  }
  if (cli.json()) words.insert(words.end(), {"--format", "json"});
  words.insert(words.end(), rest.begin(), rest.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(program.c_str(), argv.data());
  const int error = errno;
  if (error != ENOENT) {
    return Report(absl::FailedPreconditionError(
        absl::StrCat("cannot start ", program, ": ", std::strerror(error))));
  }
  return Report(absl::NotFoundError(absl::StrCat(
      program, " is not in PATH, or its Python is gone: it comes with ", other.package)));
}

}  // namespace

void AddSql(Flags& program, Cli& cli) {
  for (const OtherProgram& other : kOthers) {
    Flags& verb = program.AddVerb(other.verb, other.description);
    verb.PassOn();
    verb.SetRun(
        [&program, &cli, &verb, &other] { return Become(other, cli, program, verb.Rest()); });
  }
}

}  // namespace eris::cli
