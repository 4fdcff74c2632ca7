// Resume tokens of table scans: where each AEU's part stands behind a chunk, with what it belongs
// to, so that a token that comes back from outside is checked before anything believes it. Opaque
// to those who carry it. Pure functions; any thread.
//
//   magic u32 | object u32 | snapshot u64 | query u64 | parts u32, then per part:
//     owner u32 | flags u32 (1 begun, 2 wrapped, 4 done) | at: 3 x u64 | began: 3 x u64 |
//     skip u64
//   then a checksum u64 of all that; little-endian
#ifndef ERIS_ENGINE_READS_TABLE_RESUME_H_
#define ERIS_ENGINE_READS_TABLE_RESUME_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/query.h"
#include "eris/types.h"
#include "routing/table_scan_part.h"

namespace eris::engine {

// Of one AEU's part.
struct TablePartState {
  AeuId owner;
  routing::TableCursor cursor;  // not chosen: nothing of it has been handed out
  bool done = false;
};

// What a scan has handed out, and of what.
struct TableResume {
  ObjectId object;
  uint64_t snapshot = 0;
  uint64_t query = 0;  // FingerprintOf
  std::vector<TablePartState> parts;
};

// The same for queries that hand out the same rows, but for the limit.
uint64_t FingerprintOf(const Query& query);

std::string ToToken(const TableResume& resume);
// Errors: InvalidArgument (no token, or a damaged one).
absl::StatusOr<TableResume> FromToken(absl::string_view token);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_TABLE_RESUME_H_
