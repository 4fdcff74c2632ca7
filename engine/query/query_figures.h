// What each step of a query has really done: rows, where, how long, and what went between AEUs. For
// queries that are analysed. Looks at works as they begin, and at the parts of the query when they
// have ended. Used by the query's reader, between works alone. Not from the papers: query
// processing is ERIS's next step (6).
#ifndef ERIS_ENGINE_QUERY_QUERY_FIGURES_H_
#define ERIS_ENGINE_QUERY_QUERY_FIGURES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/query/query_flow.h"
#include "eris/types.h"
#include "storage/query/query_part.h"

namespace eris::engine {

// Rows of a step that AEUs have handed to each other.
struct ExchangeFigures {
  enum class Kind : uint8_t {
    kSent,      // by a hash of some columns
    kReferred,  // every AEU refers to all of them
    kGathered,  // home refers to all of them
    kSpread,    // every AEU refers to a share of them
    kKeys,      // their keys filter the scan
  };
  Kind kind = Kind::kSent;
  uint32_t step = 0;  // the step itself: rows that it has made on the way
  uint64_t rows = 0;
};

struct StepFigures {
  uint64_t rows = 0;
  // Where it ran.
  bool read = false;  // the engine has read an object
  bool everywhere = false;
  bool at_home = false;
  uint64_t wall_ns = 0;  // with the waits for AEUs
  // By AEU, those that took part. nullopt: it had nothing to do.
  std::vector<std::optional<uint64_t>> aeu_ns{};
  std::vector<ExchangeFigures> exchanges{};
  uint64_t bytes_kept = 0;  // the memory of the envelopes that it has filled
  // What AEUs have received of others, or refer to.
  uint64_t rows_crossed = 0;
  uint64_t bytes_crossed = 0;
};

class QueryFigures {
 public:
  // `parts` outlives it.
  QueryFigures(const storage::QueryParts& parts, size_t steps) : parts_(parts), steps_(steps) {}

  // The work that the flow has just handed out begins at `now_ns`. Throws std::bad_alloc.
  void Begin(const QueryFlow& flow, const QueryFlow::Work& work, uint64_t now_ns);
  // The work of the last Begin has ended; nothing if there is none. The sets of its step are as it
  // has left them. Throws std::bad_alloc.
  void End(uint64_t now_ns);

  const std::vector<StepFigures>& steps() const { return steps_; }

 private:
  void LookAt(const StageWork& work);
  void AddExchange(ExchangeFigures::Kind kind, storage::RowSet from);

  const storage::QueryParts& parts_;
  std::vector<StepFigures> steps_;
  std::optional<uint32_t> under_way_;  // the step of the work
  std::optional<uint32_t> ended_;      // that of the work before
  uint64_t began_ns_ = 0;
  bool counts_ = true;  // AEUs do the step's own work, not only make filters or free
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_QUERY_FIGURES_H_
