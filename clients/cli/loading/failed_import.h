// What becomes of an object whose import has failed: one that the import has created is dropped
// again, so that the next try begins as the first one did. One thread.
#ifndef ERIS_CLIENTS_CLI_FILES_FAILED_IMPORT_H_
#define ERIS_CLIENTS_CLI_FILES_FAILED_IMPORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "clients/eris_client.h"

namespace eris::cli {

struct FailedImport {
  std::string object;
  std::optional<ObjectId> created;  // by this import
  bool keep = false;                // the user wants the rows that were loaded
  uint64_t loaded = 0;              // rows that were acknowledged
};

// Drops the object if the import has created it, nobody asked to keep it, and the server knows of
// no acknowledged write but the import's own. So no other client loses a write, and an object stays
// in doubt: when an acknowledgement of the import's own was lost. Returns `why`, with what was
// loaded and what is left appended to its text. Blocks for one call.
absl::Status EndFailedImport(client::Client& client, const FailedImport& import,
                             const absl::Status& why);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_FAILED_IMPORT_H_
