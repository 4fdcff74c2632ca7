// What `eris top` shows: figures of a server between two moments. Pure functions; any thread.
#ifndef ERIS_CLIENTS_CLI_WATCHING_TOP_TEXT_H_
#define ERIS_CLIENTS_CLI_WATCHING_TOP_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "clients/balancer_client.h"
#include "clients/eris_client.h"
#include "clients/json.h"
#include "eris/stats.h"

namespace eris::cli {

// A server at one moment.
struct TopSample {
  absl::Time time;
  client::ServerInfo server;
  EngineStats stats;
  client::Balance balance;
};

// Rates are those between the two samples, of the same server.
std::string TopText(const TopSample& before, const TopSample& now);
Json TopJson(const TopSample& before, const TopSample& now);

// The first `lines` lines of a text, each at most `columns` characters wide.
std::string CutToScreen(absl::string_view text, size_t lines, size_t columns);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_WATCHING_TOP_TEXT_H_
