// The only entry from sessions to all reads of many rows: scans of indexes and of tables, joins,
// aggregates, and scans into other objects. Checks all arguments. Any thread may make each call;
// none throws: without memory they return ResourceExhausted. Errors: as session.h describes for the
// call of that name. Paper: ERIS 3.1.
#ifndef ERIS_ENGINE_READS_OPEN_H_
#define ERIS_ENGINE_READS_OPEN_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/core/core.h"
#include "engine/core/session_credit.h"
#include "engine/objects/object_entry.h"
#include "eris/query.h"
#include "eris/session.h"

namespace eris::engine {

// Depending on the object's kind: ordered rows of an index, or rows or groups of a table.
absl::StatusOr<std::unique_ptr<Scan>> OpenScan(Core& core, SessionNode& node, ObjectRef object,
                                               const Query& query);

// The schema of its chunks. Throws std::bad_alloc.
absl::StatusOr<Schema> AnswerSchema(const Core& core, ObjectRef object, const Query& query);

absl::StatusOr<std::unique_ptr<Scan>> OpenJoin(Core& core, SessionNode& node, ObjectRef outer,
                                               ObjectRef inner, const JoinOptions& options);

absl::StatusOr<uint64_t> ScanInto(Core& core, SessionNode& node, ObjectRef table,
                                  const Query& query, ObjectRef target, absl::Time deadline);
absl::StatusOr<std::shared_ptr<Pending>> ScanIntoAsync(Core& core, SessionNode& node,
                                                       ObjectRef table, const Query& query,
                                                       ObjectRef target,
                                                       Session::ScanIntoCallback done);

// `credit`: the session's, from which the call takes bytes until it ends; nullptr: none.
absl::StatusOr<RangeAggregate> Aggregate(Core& core, SessionNode& node, ObjectRef object,
                                         const AggregateOptions& options, absl::Time deadline,
                                         const SessionCredit& credit = nullptr);
absl::StatusOr<std::shared_ptr<Pending>> AggregateAsync(Core& core, SessionNode& node,
                                                        ObjectRef object,
                                                        const AggregateOptions& options,
                                                        Session::AggregateCallback done,
                                                        const SessionCredit& credit = nullptr);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_OPEN_H_
