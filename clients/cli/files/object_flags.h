// What `eris create`, and `eris import` of an object that is missing, are told about the object.
// One thread.
#ifndef ERIS_CLIENTS_CLI_FILES_OBJECT_FLAGS_H_
#define ERIS_CLIENTS_CLI_FILES_OBJECT_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/text/flags.h"
#include "eris/options.h"

namespace eris::cli {

struct ObjectFlags {
  std::string kind;        // empty: an index; with a schema a table
  std::string schema;      // not empty: instead of the two types below
  std::string key_type;    // empty: uint64
  std::string value_type;  // empty: uint64
  std::string expect;
  std::string beside;  // an object

  struct Added {
    Flag schema;
    Flag expect;
    Flag beside;
  };
  // Adds all of them.
  Added AddTo(Flags& verb);
  // Kind, schema and bounds. `key`: with a schema, the names of the key's columns, as ParseSchema
  // has them. `split`: the text of inner bounds. Errors: InvalidArgument.
  absl::StatusOr<CreateOptions> Options(const std::string& key, const std::string& split) const;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_OBJECT_FLAGS_H_
