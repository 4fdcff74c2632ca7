// What becomes of an object whose import has failed: one that the import has created is dropped
// again, so that the next try begins as the first one did. One thread.
#ifndef ERIS_CLIENTS_CLI_FILES_FAILED_IMPORT_H_
#define ERIS_CLIENTS_CLI_FILES_FAILED_IMPORT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "clients/eris_client.h"

namespace eris::cli {

struct FailedImport {
  std::string object;
  bool created = false;  // by this import
  bool keep = false;     // the user wants the rows that were loaded
  uint64_t loaded = 0;   // rows that were acknowledged
  uint64_t stored = 0;   // of them those that replaced none
  uint64_t sent = 0;     // rows; those that were not acknowledged may be stored, too
};

// Drops the object if the import has created it, nobody asked to keep it, and it has no more rows
// than the import can have stored: others may have written to it meanwhile. Returns `why`, with
// what was loaded and what is left appended to its text. Blocks for up to two calls.
absl::Status EndFailedImport(client::Client& client, const FailedImport& import,
                             const absl::Status& why);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_FAILED_IMPORT_H_
