// The rows of programs that the access counter counts, and what ends such a program.
#ifndef ERIS_TESTS_NUMA_COUNTED_ROWS_H_
#define ERIS_TESTS_NUMA_COUNTED_ROWS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/key_order.h"
#include "bench/routing/machine.h"

namespace eris::numa_lab {

inline uint64_t KeyOf(uint64_t i) { return bench::KeyAt(i, /*sparse=*/true); }
inline uint64_t ValueOf(uint64_t key) { return key ^ 0x5555; }

template <class T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) bench::Die(std::string(result.status().message()));
  return *std::move(result);
}
inline void Must(const absl::Status& status) {
  if (!status.ok()) bench::Die(std::string(status.message()));
}

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_COUNTED_ROWS_H_
