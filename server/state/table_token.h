// What a client gives back to go on with a scan of a table behind a chunk: the snapshot's lease, a
// fingerprint of table and query, and the engine's own place in the table, with a checksum that
// only this server's process can have made (as resume_token.h). Any thread.
//
//   0      1           9       17            25
//   +------+-----------+-------+-------------+-----------+----------+
//   | form | server id | lease | fingerprint | place ... | checksum |
//   +------+-----------+-------+-------------+-----------+----------+
//     u8     u64         u64     u64                       u64, of all before
#ifndef ERIS_SERVER_STATE_TABLE_TOKEN_H_
#define ERIS_SERVER_STATE_TABLE_TOKEN_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace eris::server {

struct TableScanPoint {
  uint64_t lease = 0;
  uint64_t fingerprint = 0;
  std::string place{};  // Chunk::resume
  friend bool operator==(const TableScanPoint&, const TableScanPoint&) = default;
};

class TableTokenCodec {
 public:
  static constexpr size_t kTokenBytesMax = 64 << 10;

  // `seed` is drawn at random by each server process.
  explicit TableTokenCodec(uint64_t seed) : seed_(seed) {}

  std::string Encode(const TableScanPoint& point) const;
  // Errors: InvalidArgument (wrong form or length, of another server, damaged).
  absl::StatusOr<TableScanPoint> Decode(absl::string_view token) const;

 private:
  const uint64_t seed_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_TABLE_TOKEN_H_
