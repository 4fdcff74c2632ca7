// What a streamed scan of one object still has to hand out: how many rows of its limit, whether a
// chunk is its last one, and where it goes on behind a chunk. Owned by the stream's running step.
#ifndef ERIS_SERVER_CALLS_SCAN_REST_H_
#define ERIS_SERVER_CALLS_SCAN_REST_H_

#include <optional>
#include <string>
#include <utility>

#include "eris/engine.h"

namespace eris::server {

class ScanRest {
 public:
  // What comes behind a chunk.
  struct Behind {
    bool last = false;  // nothing
    // Where the scan goes on if it is opened again; nullopt: it cannot be (groups).
    std::optional<std::string> place{};
  };

  ScanRest() = default;
  // `query` as it was opened, with the snapshot of the open scan. Of an object of this kind.
  ScanRest(ObjectKind kind, Query query)
      : ordered_(kind == ObjectKind::kIndex), query_(std::move(query)) {}

  // Counts the rows of the next chunk.
  Behind Take(const Chunk& chunk) {
    if (query_.limit != 0 && chunk.rows() >= query_.limit) return {.last = true};
    if (query_.limit != 0) query_.limit -= chunk.rows();
    if (!query_.aggregates.empty() || !query_.group_by.empty()) {
      return {.last = query_.group_by.empty()};  // aggregates without groups are one row
    }
    std::string place = chunk.resume();
    if (place.empty()) return {.last = ordered_};
    return {.place = std::move(place)};
  }

  // The query that goes on at `place`, until the next call. Empty: from its beginning, which is
  // allowed before the first chunk, if the query has no place of its own.
  const Query& At(std::string place) {
    query_.resume = std::move(place);
    return query_;
  }

 private:
  bool ordered_ = false;  // chunks of an index know that they are the last one
  Query query_{};         // its limit: the rows left; 0: no limit
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_SCAN_REST_H_
