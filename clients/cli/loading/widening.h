// What an import does when a value does not fit a column whose type was inferred: it reads on to
// the end of the file, and learns all that the file needs, so that the file is read only once more.
// One thread.
#ifndef ERIS_CLIENTS_CLI_LOADING_WIDENING_H_
#define ERIS_CLIENTS_CLI_LOADING_WIDENING_H_

#include "absl/status/statusor.h"
#include "clients/cli/files/row_file.h"
#include "clients/cli/loading/file_sample.h"

namespace eris::cli {

// REQUIRES: the last Read of `file` has ended at a bad line. If values of that line do not fit
// columns whose types were inferred, their columns get types in `table` that have those values,
// too; or the values are texts of nulls (IsNullText), and become null. The same is done for the
// rest of the file; what was read before the bad line need not be looked at, unless a float64 loses
// digits of it, and then the next try ends here again. So a file is read three times at most. A
// line on stderr tells of each change. False: the line is bad whatever the types are. The rest of
// the file is read up to a line like that. Errors: those of RowFile::Read.
absl::StatusOr<bool> WidenColumns(RowFile& file, InferredTable& table);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_WIDENING_H_
