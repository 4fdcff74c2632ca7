// What of a running server is not as it should be: a pure function of its figures.
#ifndef ERIS_CLIENTS_CLI_DOCTOR_SERVER_CHECKS_H_
#define ERIS_CLIENTS_CLI_DOCTOR_SERVER_CHECKS_H_

#include <vector>

#include "clients/cli/doctor/finding.h"
#include "clients/eris_client.h"
#include "eris/balancer.h"
#include "eris/stats.h"

namespace eris::cli {

struct ServerFigures {
  client::ServerInfo server{};
  EngineStats stats{};
  MemoryStats memory{};
  BalancerStatus balancer{};
};

std::vector<Finding> CheckServer(const ServerFigures& figures);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_DOCTOR_SERVER_CHECKS_H_
