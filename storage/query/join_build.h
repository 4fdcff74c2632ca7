// The side of a join that is put into a table first. Made in pieces by one AEU; then any AEU may
// probe it. Not from the papers.
#ifndef ERIS_STORAGE_QUERY_JOIN_BUILD_H_
#define ERIS_STORAGE_QUERY_JOIN_BUILD_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/query/operators/join_table.h"
#include "storage/query/query_part.h"
#include "storage/query/rows/envelope_list.h"
#include "storage/query/stage.h"

namespace eris::storage {

class JoinBuild {
 public:
  // `memory` and `build`, the rows of that side, outlive it. `other`: the columns of the other
  // side. Errors: InvalidArgument (keys).
  static absl::StatusOr<std::unique_ptr<JoinBuild>> Create(QueryMemory& memory,
                                                           const JoinTask& task,
                                                           const EnvelopeList& build,
                                                           std::span<const EnvelopeColumn> other);

  // A piece. False: it is made. Errors: ResourceExhausted; InvalidArgument (a join without keys
  // with more than one row).
  absl::StatusOr<bool> Advance();
  // A piece of its memory; nobody probes it any more. False: all is free.
  bool FreeSome() { return table_ && table_->FreeSome(); }

  const EnvelopeList& rows() const { return build_; }
  // nullptr: a join without keys.
  const JoinTable* table() const { return table_ ? &*table_ : nullptr; }

 private:
  JoinBuild(QueryMemory& memory, const EnvelopeList& build) : memory_(memory), build_(build) {}

  QueryMemory& memory_;
  const EnvelopeList& build_;
  std::optional<JoinTable> table_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_JOIN_BUILD_H_
