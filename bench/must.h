// For benchmarks: the value of a call that must succeed. Otherwise the program ends.
#ifndef ERIS_BENCH_MUST_H_
#define ERIS_BENCH_MUST_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/routing/machine.h"

namespace eris::bench {

inline void Must(const absl::Status& status) {
  if (!status.ok()) Die(status.ToString());
}
template <class T>
T Must(absl::StatusOr<T> result) {
  Must(result.status());
  return *std::move(result);
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_MUST_H_
