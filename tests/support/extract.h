// Lend and Forget in one, for tests that want rows to leave and nothing else.
#ifndef ERIS_TESTS_SUPPORT_EXTRACT_H_
#define ERIS_TESTS_SUPPORT_EXTRACT_H_

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "storage/hash/hash_partition.h"
#include "storage/partition.h"

namespace eris::test {

// Removes up to `rows_max` rows of the end `from` of `leaving`, and cuts them off the range. On
// error nothing has changed. Errors: as Lend.
inline absl::Status Extract(storage::Partition& partition, const storage::Range& leaving,
                            storage::Exchange::End from, uint32_t rows_max,
                            storage::ExchangeChunk& out) {
  storage::ExchangeChunk chunk;
  ERIS_RETURN_IF_ERROR(partition.Lend(leaving, from, rows_max, chunk));
  while (partition.Forget(storage::SnapshotView(), std::numeric_limits<uint32_t>::max())) {
  }
  out = std::move(chunk);
  return absl::OkStatus();
}

inline absl::Status Extract(storage::Partition& partition, uint32_t rows_max,
                            storage::ExchangeChunk& out) {
  return Extract(partition, partition.range(), storage::Exchange::End::kLow, rows_max, out);
}

// For a hash: extracts the end that is prepared, or the whole range, which is then prepared first.
inline absl::Status Extract(storage::HashPartition& hash, uint32_t rows_max,
                            storage::ExchangeChunk& out) {
  if (!hash.prepared()) {
    if (hash.range().Empty()) {
      out = storage::ExchangeChunk();
      out.covers = hash.range();
      return absl::OkStatus();
    }
    ERIS_RETURN_IF_ERROR(hash.PrepareExtract(hash.range()));
  }
  for (absl::StatusOr<bool> done = false; !*done;) {
    done = hash.WalkLeaving(std::numeric_limits<uint32_t>::max());
    if (!done.ok()) return done.status();
  }
  const storage::Range leaving = hash.leaving();
  using End = storage::Exchange::End;
  const End from = leaving.lo == hash.range().lo ? End::kLow : End::kHigh;
  return Extract(hash, leaving, from, rows_max, out);
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_EXTRACT_H_
