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
  Counter commands_forwarded;
  Counter commands_redirected;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_LOAD_COUNTERS_H_
