// Counters of an AEU. Written by the AEU, read by any thread; relaxed, because they are figures and
// order nothing.
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
  // For tables: blocks that passes have run, and the sum of the scans that each was run for.
  Counter table_blocks;
  Counter table_block_runs;
  Counter writer_waits;  // turns that found an AEU in the middle of a copy into this one's buffer
  // After leaps: bytes, and those of them whose pages moved; objects whose memory is on its way;
  // how often it was refused.
  Counter bytes_brought_home;
  Counter bytes_remapped;
  Counter homecomings;
  Counter homecomings_refused;
  Counter objects_left;  // of which some memory has found no room here
  // In keys, as routing::PortFigures.
  Counter delivered;   // taken from the incoming buffers and the ingress
  Counter answered;    // executed, redirected or refused here
  Counter forwarded;   // forwarded to the AEU that owns them
  Counter redirected;  // part of answered: went back to the sender as moved
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_LOAD_COUNTERS_H_
