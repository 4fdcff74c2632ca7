// Which rows of an object `eris scan` and `eris export` write, and how. One thread.
#ifndef ERIS_CLIENTS_CLI_FILES_SCAN_FLAGS_H_
#define ERIS_CLIENTS_CLI_FILES_SCAN_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/range_flags.h"
#include "clients/cli/text/flags.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/row_sink.h"
#include "clients/scan_reader.h"
#include "eris/query.h"
#include "eris/types.h"

namespace eris::cli {

struct ScanFlags {
  RangeFlags range{};  // of indexes, as reverse
  bool reverse = false;
  uint64_t limit = 0;
  bool keys_only = false;
  std::string filter{};  // of tables, as those below
  std::string columns{};
  std::string aggregates{};
  std::string group_by{};
  std::string into{};

  void AddTo(Flags& verb);
  // Errors: InvalidArgument, naming the flag and the place in its text; flags that are not for an
  // object of that kind.
  absl::StatusOr<Query> QueryOf(const ObjectInfo& object) const;
};

// Writes the rows to the sink, up to the end or until nobody reads `output`, which the sink writes
// to, any more. `one_moment`: a scan that goes on at a later moment is Aborted, else it is said on
// stderr. Errors: those of both; Cancelled (CatchInterrupts).
absl::Status WriteScan(client::ScanReader& reader, bool one_moment, const Output& output,
                       RowSink& sink);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_SCAN_FLAGS_H_
