// What the system says about this process (/proc/self). Any thread.
#ifndef ERIS_SERVER_METRICS_PROCESS_FIGURES_H_
#define ERIS_SERVER_METRICS_PROCESS_FIGURES_H_

#include <cstdint>

namespace eris::server {

// 0: the system does not say.
struct ProcessFigures {
  double cpu_s = 0;
  uint64_t resident_bytes = 0;
  uint64_t descriptors = 0;
  uint64_t descriptors_max = 0;
  uint64_t threads = 0;
  double started_s = 0;  // since 1970
};

ProcessFigures ReadProcess();

}  // namespace eris::server

#endif  // ERIS_SERVER_METRICS_PROCESS_FIGURES_H_
