// The options of the load balancer, shared by `serve` (--balancer-threshold) and `balancer set`
// (--threshold). What is not given stays as it is. One thread.
#ifndef ERIS_CLIENTS_CLI_BALANCER_FLAGS_H_
#define ERIS_CLIENTS_CLI_BALANCER_FLAGS_H_

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/balancer_client.h"

namespace eris::cli {

struct BalancerFlags {
  std::optional<bool> enabled;
  std::optional<std::string> algorithm;
  std::optional<std::string> window;
  std::optional<double> threshold;
  std::optional<std::string> period_ms;
  std::optional<std::string> max_pause_us;
  std::optional<std::string> max_bytes_per_s;

  // Options "--<prefix>threshold" and so on. Parsing writes here: the flags must outlive `app` and
  // stay where they are.
  void AddTo(CLI::App& app, const std::string& prefix, const std::string& group);
  // Errors: InvalidArgument (a number that no option can have, or text that is none). The limits
  // are the server's.
  absl::StatusOr<client::BalancerChange> Change() const;
};

// Changes what is set.
void Apply(const client::BalancerChange& change, BalancerOptions& options);

// "one_shot", "moving_average", "size"; of one that this program does not know its number.
std::string AlgorithmName(BalanceAlgorithm algorithm);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_BALANCER_FLAGS_H_
