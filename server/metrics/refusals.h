// How often calls, and requests of streams, were answered with an error, by its cause. One for the
// process. Any thread.
#ifndef ERIS_SERVER_METRICS_REFUSALS_H_
#define ERIS_SERVER_METRICS_REFUSALS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace eris::server {

class Refusals {
 public:
  // Causes are names of eris/errors.h; further ones count as "OTHER".
  static constexpr size_t kCausesMax = 80;

  static Refusals& OfProcess();

  // A short lock: errors cost far more than this anyway.
  void Count(const std::string& reason);
  std::map<std::string, uint64_t> Read() const;

 private:
  mutable base::Mutex mu_;
  std::map<std::string, uint64_t> counts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_METRICS_REFUSALS_H_
