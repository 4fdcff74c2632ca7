// The options of `eris scan` and `eris export` for selecting and printing rows. One thread.
#ifndef ERIS_CLIENTS_CLI_SCAN_FLAGS_H_
#define ERIS_CLIENTS_CLI_SCAN_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/range_flags.h"
#include "clients/cli/text/flags.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/progress_bar.h"
#include "clients/cli/text/row_sink.h"
#include "clients/scan_reader.h"
#include "eris/query.h"
#include "eris/types.h"

namespace eris::cli {

struct ScanFlags {
  RangeFlags range{};  // for indexes, like reverse
  bool reverse = false;
  uint64_t limit = 0;
  bool keys_only = false;
  std::string filter{};  // for tables, like those below
  std::string columns{};
  std::string aggregates{};
  std::string group_by{};
  std::string into{};

  void AddTo(Flags& verb);
  // Errors: InvalidArgument, naming the flag and the position in its text; flags for another kind
  // of object.
  absl::StatusOr<Query> QueryOf(const ObjectInfo& object) const;
  // About how many rows the scan gives; 0: that cannot be known, because only some rows are asked
  // for.
  uint64_t RowsOf(const ObjectInfo& object) const;
};

// Writes the rows to the sink, until the end or until the reader of `output`, which the sink writes
// to, has closed it. `one_moment`: a scan that continues at a later moment is Aborted; otherwise
// this is reported on stderr. `bar` shows the rows. Errors: those of both; Cancelled
// (CatchInterrupts).
absl::Status WriteScan(client::ScanReader& reader, bool one_moment, const Output& output,
                       ProgressBar& bar, RowSink& sink);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_SCAN_FLAGS_H_
