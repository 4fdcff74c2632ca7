// The options that `balancer set` changes. Others keep their values. One thread.
#ifndef ERIS_CLIENTS_CLI_BALANCER_FLAGS_H_
#define ERIS_CLIENTS_CLI_BALANCER_FLAGS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/balancer_client.h"
#include "clients/cli/text/flags.h"

namespace eris::cli {

struct BalancerFlags {
  std::optional<bool> enabled;
  std::optional<std::string> algorithm;
  std::optional<std::string> window;
  std::optional<double> threshold;
  std::optional<std::string> period_ms;
  std::optional<std::string> max_pause_us;
  std::optional<std::string> max_bytes_per_s;

  // Parsing writes here: the flags must outlive `verb` and must not move.
  void AddTo(Flags& verb);
  bool any() const {
    return enabled || algorithm || window || threshold || period_ms || max_pause_us ||
           max_bytes_per_s;
  }
  // Errors: InvalidArgument (a number that no option can have, or other text). The server checks
  // the limits.
  absl::StatusOr<client::BalancerChange> Change() const;
};

// "one_shot", "moving_average", "size"; the number of an unknown one.
std::string AlgorithmName(BalanceAlgorithm algorithm);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_BALANCER_FLAGS_H_
