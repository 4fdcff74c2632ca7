// Handles the object of a failed import: an object that the import has created is dropped again, so
// that the next try begins like the first one. One thread.
#ifndef ERIS_CLIENTS_CLI_LOADING_FAILED_IMPORT_H_
#define ERIS_CLIENTS_CLI_LOADING_FAILED_IMPORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "clients/eris_client.h"

namespace eris::cli {

struct FailedImport {
  std::string object;
  std::optional<ObjectId> created;  // set if this import created it
  bool keep = false;                // the user wants to keep the loaded rows
  uint64_t loaded = 0;              // acknowledged rows
};

// Drops the object if the import has created it, the user did not ask to keep it, and the server
// has acknowledged no other writes to it. So no other client loses a write. If an acknowledgement
// of the import's own was lost, the object stays. Returns `why`, with the loaded and the remaining
// rows appended to its text. Blocks for one call.
absl::Status EndFailedImport(client::Client& client, const FailedImport& import,
                             const absl::Status& why);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_FAILED_IMPORT_H_
