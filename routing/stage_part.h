// The part of a stage of a query that one AEU does (storage/query/stage.h). Owned by the engine,
// which keeps it until the command's completion function has been called. Not from the papers:
// query processing is ERIS's next step (6).
#ifndef ERIS_ROUTING_STAGE_PART_H_
#define ERIS_ROUTING_STAGE_PART_H_

#include <utility>

#include "absl/status/status.h"
#include "eris/types.h"
#include "routing/reply.h"
#include "storage/query/query_part.h"
#include "storage/query/stage.h"

namespace eris::routing {

class StagePart : public Reply {
 public:
  // Immutable while commands are under way.
  AeuId owner;
  storage::QueryPart* part = nullptr;
  const storage::Stage* stage = nullptr;
  bool to_the_end = false;  // even if the query is to stop: it frees what there is

  // The AEU's result. Not read before the call of the command's completion function, which
  // publishes it, and all that the part has. Cancelled: the query is to stop.
  void Finish(absl::Status status) { status_ = std::move(status); }
  const absl::Status& status() const { return status_; }

 protected:
  ~StagePart() = default;

 private:
  absl::Status status_;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_STAGE_PART_H_
