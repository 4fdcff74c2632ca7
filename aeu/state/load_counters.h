// What an AEU counts about itself. Written by the AEU, read by anyone; relaxed, because they are
// figures and order nothing.
#ifndef ERIS_AEU_LOAD_COUNTERS_H_
#define ERIS_AEU_LOAD_COUNTERS_H_

#include "base/cache_line.h"
#include "base/counter.h"

namespace eris::aeu {

using base::Counter;

struct alignas(base::kNoSharingBytes) LoadCounters {
  Counter turns;
  Counter parks;
  Counter busy_ns;
  Counter commands;
  Counter keys;
  Counter rows_scanned;
  // Of tables: blocks that passes have run, and for how many scans each, added up.
  Counter table_blocks;
  Counter table_block_runs;
  Counter writer_waits;  // turns that found an AEU in the middle of its copy to here
  // In keys, as routing::PortFigures.
  Counter delivered;   // taken from the incoming buffers and the ingress
  Counter answered;    // executed, redirected or refused here
  Counter forwarded;   // passed on to the AEU that owns them
  Counter redirected;  // of those answered: went back to the sender as moved
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_LOAD_COUNTERS_H_
