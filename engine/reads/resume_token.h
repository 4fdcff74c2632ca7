// Resume tokens of scans: what a chunk's reader must still get, and of which scan, so that a token
// from outside is checked before it is used. Opaque to clients. Pure functions; any thread.
//
//   magic u32 (for an index or a table) | object u32 | query u64, then
//   for an index: flags u32 (1 hi) | lo: 2 x u64 | hi: 2 x u64
//   for a table:  snapshot u64 | parts u32, then per part:
//     owner u32 | flags u32 (1 begun, 2 wrapped, 4 done) | at: 3 x u64 | began: 3 x u64 | skip u64
//   then a checksum u64 of all that; little-endian
#ifndef ERIS_ENGINE_READS_RESUME_TOKEN_H_
#define ERIS_ENGINE_READS_RESUME_TOKEN_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/query.h"
#include "eris/types.h"
#include "routing/table_scan_part.h"

namespace eris::engine {

struct IndexResume {
  ObjectId object;
  uint64_t query = 0;  // FingerprintOf
  KeyRange rest;       // rest of the query's range
};

// The position in one AEU's part of a table.
struct TablePartState {
  AeuId owner;
  routing::TableCursor cursor;  // not chosen: no row of it has been returned
  bool done = false;
};

// What a scan of a table has returned.
struct TableResume {
  ObjectId object;
  uint64_t query = 0;
  uint64_t snapshot = 0;
  std::vector<TablePartState> parts;
};

// Where a scan continues after a chunk; std::monostate: at its end, or it cannot be resumed.
using ResumePoint = std::variant<std::monostate, IndexResume, TableResume>;

// The same for queries that hand out the same rows, but for the limit. REQUIRES: a query that has
// been checked, so that its expressions are as deep as they may be: of a table by TablePlan, of an
// index by IndexRequestOf, which takes plain columns alone.
uint64_t FingerprintOf(const Query& query);

// Empty for std::monostate.
std::string ToToken(const ResumePoint& resume);
// Errors: InvalidArgument (a token of another kind of object, or a damaged one).
absl::StatusOr<IndexResume> IndexResumeFrom(absl::string_view token);
absl::StatusOr<TableResume> TableResumeFrom(absl::string_view token);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_RESUME_TOKEN_H_
