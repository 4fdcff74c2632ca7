// Tokens that only this server's process can make: a form, the server's id and some content, with a
// keyed checksum over all of it. It shows damage, and a client cannot forge it. A client can still
// pass a token on: its content is readable, and it names no caller. Any thread.
//
//   0      1           9
//   +------+-----------+-------------+----------+
//   | form | server id | content ... | checksum |
//   +------+-----------+-------------+----------+
//     u8     u64                       u64, of all before
#ifndef ERIS_SERVER_STATE_TOKEN_SEAL_H_
#define ERIS_SERVER_STATE_TOKEN_SEAL_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace eris::server {

class TokenSeal {
 public:
  static constexpr size_t kHeadBytes = sizeof(uint8_t) + sizeof(uint64_t);
  static constexpr size_t kChecksumBytes = sizeof(uint64_t);

  // What a kind of token is called, and how to get a new one.
  struct Kind {
    const char* name;
    uint8_t form;
    absl::string_view older_forms;  // bytes
    const char* again;
  };

  // Each server process chooses `seed` at random.
  explicit TokenSeal(uint64_t seed);

  std::string Seal(const Kind& kind, absl::string_view content) const;
  // The content, which points into the token. Errors: InvalidArgument (another form, a token of
  // another server, damaged). REQUIRES: at least kHeadBytes + kChecksumBytes.
  absl::StatusOr<absl::string_view> Open(const Kind& kind, absl::string_view token) const;

 private:
  const uint64_t seed_;
  const uint64_t server_;  // made from it; names the server that has made a token
};

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_TOKEN_SEAL_H_
