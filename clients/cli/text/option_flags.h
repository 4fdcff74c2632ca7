// Flags and environment variables of the options in server/state/config.h, shared by `serve`,
// `topology --explain` and `bench --embedded`: one of each for every option, from its table. One
// thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_OPTION_FLAGS_H_
#define ERIS_CLIENTS_CLI_TEXT_OPTION_FLAGS_H_

#include <deque>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "clients/cli/text/flags.h"
#include "eris/options.h"
#include "server/state/config.h"

namespace eris::cli {

// The heading of the engine's options in --help.
inline constexpr char kEngineGroup[] = "Engine";

class OptionFlags {
 public:
  OptionFlags() = default;
  OptionFlags(const OptionFlags&) = delete;
  OptionFlags& operator=(const OptionFlags&) = delete;

  // Only the options of [engine], or those of all sections. Parsing writes here: the flags must
  // outlive `verb` and must not move.
  void AddEngineTo(Flags& verb) { AddTo(verb, /*engine_alone=*/true); }
  void AddAllTo(Flags& verb) { AddTo(verb, /*engine_alone=*/false); }

  // Applies the environment, then the flags; other options keep their values. Errors:
  // InvalidArgument (names flag or variable, key, value and limits).
  absl::Status Apply(server::ServerConfig& config) const;
  absl::Status Apply(Options& options) const;

  // The first flag on the command line; empty: none.
  std::string FirstGiven() const;

 private:
  struct OneFlag {
    const server::ConfigOption* option;
    std::optional<std::string> text;
    std::optional<bool> given;  // for a switch
  };
  void AddTo(Flags& verb, bool engine_alone);

  std::deque<OneFlag> flags_;  // a deque, so that they never move
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_OPTION_FLAGS_H_
