#include "clients/cli/loading/failed_import.h"

#include "absl/strings/str_cat.h"

namespace eris::cli {
namespace {

std::string WhatIsLeft(client::Client& client, const FailedImport& import) {
  const std::string name = import.object;
  if (!import.created) return "";
  if (import.keep) return absl::StrCat("; ", name, " is kept, with the rows loaded so far");
  const absl::Status dropped = client.DropIfWritten(name, *import.created, import.loaded);
  if (dropped.ok()) {
    return absl::StrCat("; ", name,
                        ", which this import had created, was dropped again (--keep keeps it)");
  }
  if (absl::IsNotFound(dropped)) return absl::StrCat("; ", name, " is gone");
  if (absl::IsFailedPrecondition(dropped)) {
    return absl::StrCat("; ", name,
                        ", which this import has created, stays: others have written to it, or an "
                        "acknowledgement was lost; `eris drop ",
                        name, "` drops it with all rows");
  }
  return absl::StrCat("; ", name,
                      ", which this import has created, could not be dropped: ", dropped.message());
}

}  // namespace

absl::Status EndFailedImport(client::Client& client, const FailedImport& import,
                             const absl::Status& why) {
  return {why.code(), absl::StrCat(why.message(), "; stopped after ", import.loaded,
                                   " rows were loaded", WhatIsLeft(client, import))};
}

}  // namespace eris::cli
