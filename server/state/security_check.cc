#include "server/state/security_check.h"

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "server/access/exposure.h"
#include "server/access/pem_files.h"
#include "server/access/token_file.h"
#include "server/state/host_port.h"

namespace eris::server {

std::vector<std::string> SecurityProblems(const SecurityOptions& options, absl::string_view listen,
                                          const std::string& http) {
  std::vector<std::string> problems;
  const auto expect = [&](const absl::Status& status) {
    if (!status.ok()) problems.emplace_back(status.message());
  };
  for (const std::string& address : SplitListen(listen)) {
    expect(CheckExposure(options, "server.listen", address));
  }
  expect(CheckExposure(options, "server.http", http));
  if (options.has_tls()) expect(ReadPemFiles(options, absl::Now()).status());
  if (options.has_roles()) {
    const auto text = ReadTokensFile(options.tokens_file);
    expect(text.ok() ? ParseTokens(*text, options.tokens_file).status() : text.status());
  }
  return problems;
}

}  // namespace eris::server
