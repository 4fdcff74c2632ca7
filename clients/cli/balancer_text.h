// The load balancer as text and JSON. Pure functions; any thread.
#ifndef ERIS_CLIENTS_CLI_BALANCER_TEXT_H_
#define ERIS_CLIENTS_CLI_BALANCER_TEXT_H_

#include <string>
#include <vector>

#include "clients/balancer_client.h"
#include "clients/json.h"

namespace eris::cli {

// "running", "done", "stopped", "refused"; "link", "copy".
std::string OutcomeName(TransferOutcome outcome);
std::string TransferKindName(TransferKind kind);

std::string ToText(const BalancerOptions& options);
Json ToJson(const BalancerOptions& options);

// Adds the other `objects`, which no cycle has checked, with the reason, ordered by name.
void AddOthers(const std::vector<ObjectInfo>& objects, BalancerStatus& status);

// A line for each object; with `loads` also one for each of its AEUs.
std::string ToText(const client::Balance& balance, bool loads);
Json ToJson(const client::Balance& balance);

// The transfers under way.
std::vector<client::Transfer> RunningOf(const client::Balance& balance);
std::string ToText(const std::vector<client::Transfer>& transfers);
Json ToJson(const std::vector<client::Transfer>& transfers);

// The hottest ranges, each with its part of the object's load, and the load of each AEU.
std::string ToText(const client::Heat& heat);
Json ToJson(const client::Heat& heat);

// `done`: the plan of a cycle that has run; otherwise of one that would run.
std::string ToText(const client::Plan& plan, bool done);
Json ToJson(const client::Plan& plan);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_BALANCER_TEXT_H_
