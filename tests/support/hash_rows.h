// What is in a hash partition, by key.
#ifndef ERIS_TESTS_SUPPORT_HASH_ROWS_H_
#define ERIS_TESTS_SUPPORT_HASH_ROWS_H_

#include <cstdint>
#include <map>

#include "storage/hash/hash_partition.h"
#include "storage/tree/tree_scanner.h"

namespace eris::test {

// Those that are made ready to leave as well, but for those that are lent.
inline std::map<uint64_t, uint64_t> RowsOf(const storage::HashPartition& hash) {
  constexpr uint32_t kRun = 256;
  uint64_t keys[kRun];
  uint64_t values[kRun];
  std::map<uint64_t, uint64_t> rows;
  for (storage::HashCursor at; !at.done;) {
    const uint32_t read = hash.table().Read(at, keys, values, kRun);
    for (uint32_t i = 0; i < read; ++i) rows[keys[i]] = values[i];
  }
  if (!hash.prepared()) return rows;
  storage::TreeScanner scanner(hash.leaving_rows(), 0);
  for (uint32_t read = kRun; read == kRun;) {
    read = scanner.Read(~uint64_t{0}, keys, values, kRun);
    for (uint32_t i = 0; i < read; ++i) {
      if (hash.leaving().ContainsU64(keys[i])) rows[keys[i]] = values[i];
    }
  }
  return rows;
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_HASH_ROWS_H_
