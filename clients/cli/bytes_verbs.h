// get and put on objects whose values are byte strings. One thread.
#ifndef ERIS_CLIENTS_CLI_BYTES_VERBS_H_
#define ERIS_CLIENTS_CLI_BYTES_VERBS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/text/byte_text.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/flags.h"
#include "clients/eris_client.h"
#include "eris/types.h"

namespace eris::cli {

// How values are written down.
struct BytesFlags {
  bool hex = false;  // one of the three at most
  bool base64 = false;
  bool raw = false;  // get: one value, as it is

  bool any() const { return hex || base64 || raw; }
  ByteFormat format() const {
    return hex ? ByteFormat::kHex : base64 ? ByteFormat::kBase64 : ByteFormat::kText;
  }
};
// --hex and --base64, and --raw for get.
void AddBytesFlags(Flags& verb, BytesFlags& flags, bool raw);

// What the flags are not for. Errors: InvalidArgument.
absl::Status CheckNoBytesFlags(const BytesFlags& flags, const std::string& object);

// Both return the exit code.
int RunGetBytes(const Cli& cli, const Cli::ObjectClient& to,
                const std::vector<std::string>& arguments, const BytesFlags& flags);
// Without a mode: inserts or replaces.
int RunPutBytes(const Cli& cli, const Cli::ObjectClient& to, std::optional<WriteMode> mode,
                const std::vector<std::string>& arguments, const BytesFlags& flags);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_BYTES_VERBS_H_
