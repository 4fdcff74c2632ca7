// The options that select rows of an object: a range of keys, and one of values. Shared by scan,
// aggregate and count. One thread.
//
// A bound of two-part keys is a complete key, or only a first part: from 7 begins with its first
// row, and up to 7 ends before it.
#ifndef ERIS_CLIENTS_CLI_RANGE_FLAGS_H_
#define ERIS_CLIENTS_CLI_RANGE_FLAGS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/text/flags.h"
#include "eris/schema.h"
#include "eris/types.h"

namespace eris::cli {

struct RangeFlags {
  std::string from{};
  std::string to{};
  std::string min_value{};
  std::string max_value{};

  void AddTo(Flags& verb);
  bool any() const {
    return !from.empty() || !to.empty() || !min_value.empty() || !max_value.empty();
  }
  // Errors: InvalidArgument, naming the option. REQUIRES: the schema of an index.
  absl::StatusOr<KeyRange> Keys(const Schema& schema) const;
  absl::StatusOr<std::optional<ValueRange>> Values() const;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_RANGE_FLAGS_H_
