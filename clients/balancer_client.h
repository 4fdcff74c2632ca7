// The load balancer of a server: its state, its options, and moving ranges by hand (for the meaning
// of each call see include/eris/engine.h).
//
//   BalancerClient balancer(*client);
//   balancer.Set({.algorithm = BalanceAlgorithm::kMovingAverage, .window = 2});
//   balancer.Presplit("orders", {.lo = 100, .hi = 200}, 4);
//
// Ranges are u64 as in Client; for a clustered table they are values of its first key column,
// encoded as keys of the nearest key type: an int32 or a decimal as ColumnType::kInt64.
//
// Threads: any thread may make each call, concurrently. Calls that move ranges block until the
// server has moved them; when ConnectOptions::timeout passes they end with DeadlineExceeded, and
// what has moved stays moved. Errors: as Client.
#ifndef ERIS_CLIENTS_BALANCER_CLIENT_H_
#define ERIS_CLIENTS_BALANCER_CLIENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/eris_client.h"
#include "eris/balancer.h"
#include "eris/types.h"

namespace eris::client {

// Options that are not set keep their values.
struct BalancerChange {
  std::optional<bool> enabled{};
  std::optional<BalanceAlgorithm> algorithm{};
  std::optional<uint32_t> window{};
  std::optional<double> threshold{};
  std::optional<uint32_t> period_ms{};
  std::optional<uint32_t> max_pause_us{};
  std::optional<uint64_t> max_bytes_per_s{};
};

// `key_type` is the type of the ranges' bounds; kUint64 also if no range has one.
struct Transfer {
  TransferRecord record;
  ColumnType key_type = ColumnType::kUint64;
};
struct Plan {
  BalancePlan plan;
  ColumnType key_type = ColumnType::kUint64;
};
struct Balance {
  BalancerStatus status;
  std::vector<ColumnType> running_key_types{};  // for status.running
};

struct Heat {
  HotRanges ranges;
  ColumnType key_type = ColumnType::kUint64;  // of the hottest ranges' bounds
};

class BalancerClient {
 public:
  // `client` must outlive this.
  explicit BalancerClient(Client& client) : client_(client) {}

  absl::StatusOr<Balance> Status();
  // Newest first. For one object, or for all; at most `limit`, or 0: all that are kept.
  absl::StatusOr<std::vector<Transfer>> History(const std::string& object = {}, uint32_t limit = 0);
  // Where an object's load is; at most `ranges_max` hottest ranges. Errors: InvalidArgument
  // (ranges_max outside 1 to kHotRangesMax).
  absl::StatusOr<Heat> Hot(const std::string& object, uint32_t ranges_max = kHotRangesDefault);
  // Returns the new options. Errors: InvalidArgument (nothing set, a value outside its limits; then
  // nothing has changed).
  absl::StatusOr<BalancerOptions> Set(const BalancerChange& change);
  absl::Status Pause();
  absl::Status Resume();
  absl::StatusOr<Plan> PlanFor(const std::string& object);
  absl::StatusOr<Plan> Rebalance(const std::string& object);
  absl::Status Presplit(const std::string& object, const KeyRange& range, uint32_t parts,
                        const KeyTypes& key_type = {});
  absl::Status Move(const std::string& object, const KeyRange& range, AeuId to,
                    std::optional<TransferKind> kind = std::nullopt, const KeyTypes& key_type = {});

 private:
  Client& client_;
};

}  // namespace eris::client

#endif  // ERIS_CLIENTS_BALANCER_CLIENT_H_
