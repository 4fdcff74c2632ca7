// The part of an engine that sessions, requests, scans and joins share. Owned by EngineImpl;
// outlives all of them except their last references.
#ifndef ERIS_ENGINE_CORE_CORE_H_
#define ERIS_ENGINE_CORE_CORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/completion/in_flight.h"
#include "engine/completion/resends.h"
#include "engine/completion/session_nodes.h"
#include "engine/core/control_port.h"
#include "engine/core/open_registry.h"
#include "engine/core/query_flow_limits.h"
#include "engine/core/query_memories.h"
#include "engine/core/request.h"
#include "engine/core/scan_chunk_pool.h"
#include "engine/core/table_chunk_pool.h"
#include "engine/core/transfer_stop.h"
#include "engine/objects/catalogue.h"
#include "eris/options.h"
#include "routing/endpoint.h"
#include "storage/table/groups/run_memory.h"
#include "tasks/task_scheduler.h"

namespace eris::engine {

class ReaderState;
}  // namespace eris::engine
namespace eris::aeu {
class LoadBoard;
}
namespace eris::memory {
class MemorySystem;
}
namespace eris::engine {

struct Core {
  // As SessionNodes. `topology` outlives it.
  explicit Core(const topology::Topology& topology, bool pinned = true)
      : session_nodes(topology, in_flight, pinned) {}

  Options options;  // as resolved: no zeros are left
  RequestLimits limits;
  memory::MemorySystem* memory = nullptr;  // the engine's, for rows of queries
  // Limits the blocks of the sessions' Ports. Declared before the directory, whose queues may hold
  // such blocks until they are destroyed.
  std::unique_ptr<routing::BlockAllowance> port_blocks;
  routing::EndpointDirectory directory;
  Catalogue catalogue;
  InFlight in_flight;
  InFlight::Lane& administration = in_flight.AddLane();  // of what no session does
  SessionNodes session_nodes;
  Resends resends;
  std::unique_ptr<ControlPort> control;
  std::shared_ptr<ScanChunkPool> chunks;
  OpenRegistry<ReaderState> scans;
  OpenRegistry<ReaderState> joins;
  OpenRegistry<ReaderState> queries;
  QueryMemories query_memories;
  QueryFlowLimits query_limits;            // immutable once a query is open
  std::atomic<uint64_t> queries_begun{0};  // so far: their ages; and they take turns in their home
  std::unique_ptr<tasks::TaskScheduler> tasks;  // once the engine has started
  std::vector<NumaNodeId> aeu_numa_nodes;       // by AeuId: of its memory
  std::shared_ptr<TableChunkPool> table_chunks;
  std::unique_ptr<storage::RunMemory> run_memory;    // for scans of tables
  std::unique_ptr<storage::RunMemory> query_memory;  // for queries over several objects
  std::vector<const aeu::LoadBoard*> load_boards;    // of all AEUs, once the engine has started
  std::atomic<uint64_t> sessions{0};                 // opened so far
  TransferStop transfer_stop;

  // Options for every Port. An AEU's Port never waits and does not use the shared allowance.
  routing::PortOptions port_options() const {
    return {.outgoing_bytes = options.outgoing_buffer_bytes,
            .pool_bytes_max = options.port_buffers_bytes_max,
            .wait_ns = int64_t{options.send_wait_ms_max} * 1'000'000};
  }
  routing::PortOptions session_port_options(NumaNodeId numa_node) {
    routing::PortOptions of_session = port_options();
    of_session.numa_node = numa_node;
    of_session.allowance = port_blocks.get();
    of_session.collector = &session_nodes;
    return of_session;
  }
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_CORE_H_
