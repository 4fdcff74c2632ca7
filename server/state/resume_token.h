// What a client gives back to go on with a scan behind a chunk: the object's id, the rest of the
// range and the rows still wanted, with a checksum that only this server's process can have made.
// The checksum guards against damage and mix-ups, not against an attacker: whoever may scan could
// ask for the same range directly. Any thread.
//
//   0      1           9        13      14   22   30          38         46
//   +------+-----------+--------+-------+----+----+-----------+----------+------------+
//   | form | server id | object | flags | lo | hi | rows left | value lo | value last |
//   +------+-----------+--------+-------+----+----+-----------+----------+------------+
//     u8     u64         u32      u8     u64  u64   u64         u64        u64
//   54          62          70
//   +-----------+-----------+----------+
//   | lo second | hi second | checksum |
//   +-----------+-----------+----------+
//     u64         u64         u64, of all before
// Flags: 1 has hi, 2 backward, 4 keys only. Form 1, of 46 bytes, had neither the last two nor
// values; form 2, of 62 bytes, no second parts.
#ifndef ERIS_SERVER_STATE_RESUME_TOKEN_H_
#define ERIS_SERVER_STATE_RESUME_TOKEN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/types.h"

namespace eris::server {

struct ResumePoint {
  ObjectId object;
  KeyRange rest;
  uint64_t rows_left = 0;  // 0: no limit
  ScanDirection direction = ScanDirection::kForward;
  bool keys_only = false;
  ValueRange values{};
  friend bool operator==(const ResumePoint&, const ResumePoint&) = default;
};

class ResumeTokenCodec {
 public:
  static constexpr size_t kTokenBytes = 78;

  // `seed` is drawn at random by each server process.
  explicit ResumeTokenCodec(uint64_t seed) : seed_(seed) {}

  std::string Encode(const ResumePoint& point) const;

  // Errors: InvalidArgument (wrong form or length, of another server, damaged).
  absl::StatusOr<ResumePoint> Decode(absl::string_view token) const;

 private:
  const uint64_t seed_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_RESUME_TOKEN_H_
