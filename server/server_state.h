// What all calls of one server share. Built before the first call and destroyed after the last.
#ifndef ERIS_SERVER_SERVER_STATE_H_
#define ERIS_SERVER_SERVER_STATE_H_

#include <cstdint>

#include "eris/engine.h"
#include "server/byte_budget.h"
#include "server/config.h"
#include "server/control_executor.h"
#include "server/drain_gate.h"
#include "server/resume_token.h"
#include "server/session_pool.h"

namespace eris::server {

struct ServerState {
  ServerState(const ServerConfig& config_in, Engine* engine_in, uint64_t token_seed)
      : config(config_in),
        engine(engine_in),
        budget(config_in.in_flight_bytes_max),
        sessions(engine_in),
        tokens(token_seed) {}

  const ServerConfig config;
  Engine* const engine;
  DrainGate gate;
  ByteBudget budget;
  SessionPool sessions;
  ResumeTokenCodec tokens;
  ControlExecutor control;
};

// What a call gets for which the budget has no room.
absl::Status OverBudgetStatus(const ByteBudget& budget, uint64_t bytes);

}  // namespace eris::server

#endif  // ERIS_SERVER_SERVER_STATE_H_
