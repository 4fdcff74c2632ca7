// The token with which a client continues a scan after a chunk: the object's id, the lease of the
// scan's snapshot if it has one, a fingerprint of the query and the engine's own position in the
// object, sealed by this server's process (token_seal.h). Any thread.
//
//   0      1           9        13      21            29
//   +------+-----------+--------+-------+-------------+-----------+----------+
//   | form | server id | object | lease | fingerprint | place ... | checksum |
//   +------+-----------+--------+-------+-------------+-----------+----------+
//     u8     u64         u32      u64     u64                       u64, of all before
// Forms 1 to 3 were used for indexes, and form 65 for tables.
#ifndef ERIS_SERVER_STATE_RESUME_TOKEN_H_
#define ERIS_SERVER_STATE_RESUME_TOKEN_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/query.h"
#include "eris/types.h"
#include "server/state/token_seal.h"

namespace eris::server {

struct ResumePoint {
  ObjectId object{};
  uint64_t lease = 0;  // from snapshot_leases.h; 0: the scan continues in a new snapshot
  uint64_t fingerprint = 0;
  std::string place{};  // Chunk::resume
  friend bool operator==(const ResumePoint&, const ResumePoint&) = default;
};

class ResumeTokenCodec {
 public:
  static constexpr size_t kHeadBytes = 29;
  static constexpr size_t kChecksumBytes = TokenSeal::kChecksumBytes;
  // Every place that the engine can give has a token: what is encoded is decoded.
  static constexpr size_t kTokenBytesMax = kHeadBytes + kResumeBytesMax + kChecksumBytes;

  // Each server process chooses `seed` at random.
  explicit ResumeTokenCodec(uint64_t seed) : seal_(seed) {}

  std::string Encode(const ResumePoint& point) const;
  // Errors: InvalidArgument (wrong form or length, a token of another server, damaged).
  absl::StatusOr<ResumePoint> Decode(absl::string_view token) const;

 private:
  const TokenSeal seal_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_RESUME_TOKEN_H_
