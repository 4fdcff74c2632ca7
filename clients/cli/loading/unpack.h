// Compressed files, whole: gzip (RFC 1952) and zstd (RFC 8878), also several one after the other in
// one file. Any thread; a descriptor is used by one at a time.
#ifndef ERIS_CLIENTS_CLI_LOADING_UNPACK_H_
#define ERIS_CLIENTS_CLI_LOADING_UNPACK_H_

#include <string>

#include "absl/status/statusor.h"

namespace eris::cli {

enum class Packing { kNone, kGzip, kZstd };

// By the first bytes of a regular file; its position does not change.
Packing PackingOf(int fd);

// Reads `fd` from its beginning to its end. Returns a descriptor, the caller's, of a file with the
// content, at its beginning. It lies in the folder that TMPDIR names, or /tmp, without a name, and
// is gone when it is closed. Blocks. Errors: InvalidArgument (damaged or cut off, or something else
// follows; the text names `name` and the place), ResourceExhausted (no memory, no room for the
// content), Unavailable (reading or writing failed).
absl::StatusOr<int> Unpack(int fd, const std::string& name, Packing packing);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_UNPACK_H_
