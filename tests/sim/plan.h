// What a seed decides before the first step: the size of the world, its capacities and the faults
// that may happen in it.
#ifndef ERIS_TESTS_SIM_PLAN_H_
#define ERIS_TESTS_SIM_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/key.h"
#include "tests/sim/random.h"
#include "tests/sim/world.h"

namespace eris::sim {

// What the objects of a life are. All have the same oracle: a register per key, or per append to a
// heap table.
// Why the snapshots of a life may be given up while scans read at them.
enum class GivesUp : uint8_t { kNever, kForMemory, kForAge };

enum class Form : uint8_t { kIndex, kBytes, kTwoParts, kHash, kTable, kHeap, kCount };
inline constexpr const char* kFormNames[] = {"index", "bytes", "two-parts",
                                             "hash",  "table", "heap"};

struct Plan {
  // `kind`: what the objects are, whatever the seed says of that.
  explicit Plan(Random& random, std::optional<Form> kind = std::nullopt);

  std::string Text() const;
  // A table can be older than what the AEUs know.
  bool may_move() const { return moves || stale_views; }
  bool two_parts() const { return form == Form::kTwoParts || two_words; }
  // A client's Port can be without a block.
  bool may_refuse() const { return tight_ports; }

  WorldOptions world;
  Form form = Form::kIndex;
  bool two_words = false;  // kTable: keys of two columns
  uint32_t clients = 1;
  uint32_t slots = 1;               // of data objects
  uint32_t steps = 0;               // until the faults stop
  uint32_t batches_per_client = 1;  // under way at one time
  uint32_t batch_keys_max = 1;
  uint32_t universe_keys = 8;  // per object, all that is ever asked for
  bool tight_ports = false;
  // Faults.
  bool moves = false;
  bool transfers = false;    // ... by commands; else at once, behind the AEUs' backs
  bool stale_views = false;  // clients learn of a new table late
  bool drops = false;
  bool joins = false;  // of indexes: some values are keys of others
  bool pauses = false;
  bool deaths = false;
  bool cancels = false;
  bool allocation_faults = false;
  GivesUp gives_up = GivesUp::kNever;
  uint64_t version_bytes_max = ~uint64_t{0};
  bool answered_here = false;  // batches in their blocks, which come home; else in columns
  bool lazy_flushes = false;   // clients leave commands buffered
  bool free_at_once = false;   // requests are freed with their last reference, not at the end
  uint32_t busy_turns = 0;  // others move inside an AEU's turn, at one of so many points; 0: never
  // Weights of who moves next.
  uint32_t aeu_weight = 4;
  uint32_t client_weight = 4;
  uint32_t fault_weight = 1;
};

// In lives with joins, keys that are also values are 1 to this.
inline constexpr uint64_t kJoinKeys = 60;

// Distinct keys, ascending: clusters, sparse ones, both ends of the key space. Of two parts: some
// with the same first part. With `joins` half of them are values, too.
std::vector<storage::Key> MakeUniverse(Random& random, uint32_t keys, bool two_parts, bool joins);

// Starts of ranges, ascending, the first one 0: at keys of the universe, beside them, at the end of
// the key space.
std::vector<uint64_t> MakeStarts(Random& random, const std::vector<storage::Key>& universe,
                                 uint32_t ranges);

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_PLAN_H_
