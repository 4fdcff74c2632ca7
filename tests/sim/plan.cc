#include "tests/sim/plan.h"

#include <algorithm>
#include <limits>
#include <set>

#include "routing/data_command.h"

namespace eris::sim {
namespace {

constexpr uint64_t kKeyMax = std::numeric_limits<uint64_t>::max();
// The largest records without keys, and a keyed one with two keys fit.
constexpr size_t kRecordBytesMin =
    sizeof(routing::CommandHeader) +
    std::max(sizeof(routing::InstallSegment), sizeof(routing::ScanSegment));
static_assert(kRecordBytesMin % 8 == 0 && kRecordBytesMin <= 160);
static_assert(routing::KeyedRecordBytes(routing::CommandType::kCompareAndSet, 2, 0, 1,
                                        routing::AnswersTo::kRecord) <= kRecordBytesMin);
static_assert(routing::KeyedRecordBytes(routing::CommandType::kCompareAndSet, 1, 0, 2,
                                        routing::AnswersTo::kRecord) <= kRecordBytesMin);

constexpr const char* kForms[] = {"an index", "byte strings",      "two-part keys",
                                  "a hash",   "a clustered table", "a heap table"};

}  // namespace

Plan::Plan(Random& random, std::optional<Form> kind) {
  world.aeus = random.OneIn(32) ? 32 : static_cast<uint32_t>(random.Between(1, 8));
  constexpr size_t kOutgoing[] = {kRecordBytesMin, 160, 200, 256, 512, 1024, 4096};
  world.aeu_outgoing_bytes = random.Of(kOutgoing);
  world.aeu_pool_bytes = random.OneIn(2) ? world.aeu_outgoing_bytes * random.Between(1, 4)
                                         : world.aeu_outgoing_bytes * 64;
  world.half_bytes = random.OneIn(3) ? 16 << 10 : world.aeu_outgoing_bytes + 8 * random.Below(64);
  tight_ports = random.OneIn(2);
  if (tight_ports) {
    world.port_outgoing_bytes = random.Of(kOutgoing);
    world.port_pool_bytes = world.port_outgoing_bytes * random.Between(1, 6);
  } else {
    world.port_outgoing_bytes = 512 << random.Below(4);
    world.port_pool_bytes = 4 << 20;
  }
  clients = static_cast<uint32_t>(random.Between(1, 4));
  slots = static_cast<uint32_t>(random.Between(1, 3));
  steps = static_cast<uint32_t>(random.Between(200, 1000));
  if (world.aeus > 8 || random.OneIn(16)) steps *= 3;
  batches_per_client = static_cast<uint32_t>(random.Between(1, 5));
  batch_keys_max = static_cast<uint32_t>(random.Between(1, 12));
  universe_keys = static_cast<uint32_t>(random.Between(3, 40));
  if (random.OneIn(6)) {  // large batches are split another way
    batch_keys_max = 160;
    universe_keys = static_cast<uint32_t>(random.Between(40, 150));
    steps /= 2;
  }
  moves = random.OneIn(2);
  stale_views = random.OneIn(3);
  drops = random.OneIn(3);
  pauses = random.OneIn(2);
  deaths = random.OneIn(3);
  cancels = random.OneIn(3);
  allocation_faults = random.OneIn(4);
  lazy_flushes = random.OneIn(3);
  free_at_once = random.OneIn(2);
  aeu_weight = static_cast<uint32_t>(random.Between(1, 8));
  client_weight = static_cast<uint32_t>(random.Between(1, 8));
  fault_weight = static_cast<uint32_t>(random.Between(1, 3));
  busy_turns = random.OneIn(2) ? static_cast<uint32_t>(random.Between(1, 4)) : 0;
  // Draws from a copy: lives of an index without transfers are those that the seeds have always
  // had.
  Random aside = random;
  transfers = moves && aside.OneIn(2);
  constexpr Form kOthers[] = {Form::kBytes, Form::kTwoParts, Form::kHash,
                              Form::kTable, Form::kTable,    Form::kHeap};
  if (aside.OneIn(2)) form = aside.Of(kOthers);
  if (kind) form = *kind;
  // These move by copies alone, which take steps.
  if (form >= Form::kHash && moves) transfers = true;
  two_words = form == Form::kTable && aside.OneIn(2);
  if (aside.OneIn(3)) gives_up = aside.OneIn(2) ? GivesUp::kForMemory : GivesUp::kForAge;
  // Steps that come back: rows that scans send to other tables meet them.
  if (form == Form::kTable && transfers) {
    allocation_faults |= aside.OneIn(2);
    slots = std::max(slots, 2u);
  }
  joins = form == Form::kIndex && aside.OneIn(3);
  constexpr uint64_t kVersionBytes[] = {0, 64, 512, 2048};
  if (gives_up == GivesUp::kForMemory) version_bytes_max = aside.Of(kVersionBytes);
  answered_here = !aside.OneIn(5);
}

std::string Plan::Text() const {
  std::string text =
      std::to_string(world.aeus) + " AEUs (halves " + std::to_string(world.half_bytes) +
      ", outgoing " + std::to_string(world.aeu_outgoing_bytes) + " of " +
      std::to_string(world.aeu_pool_bytes) + "), " + std::to_string(clients) +
      " clients (outgoing " + std::to_string(world.port_outgoing_bytes) + " of " +
      std::to_string(world.port_pool_bytes) + ", " + std::to_string(batches_per_client) +
      " batches of up to " + std::to_string(batch_keys_max) + " keys), " + std::to_string(slots) +
      " slots of " + kForms[static_cast<size_t>(form)] + ", " + std::to_string(universe_keys) +
      " keys, " + std::to_string(steps) + " steps; faults:";
  const auto add = [&](bool on, const char* name) {
    if (on) text += std::string(" ") + name;
  };
  add(moves && !transfers, "moves");
  add(transfers, "transfers");
  add(stale_views, "stale-views");
  add(joins, "joins");
  add(drops, "drops");
  add(pauses, "pauses");
  add(deaths, "deaths");
  add(cancels, "cancels");
  add(allocation_faults, "allocation-faults");
  add(gives_up == GivesUp::kForMemory, "snapshots-for-memory");
  add(gives_up == GivesUp::kForAge, "snapshots-for-age");
  add(answered_here, "answered-here");
  add(lazy_flushes, "lazy-flushes");
  add(busy_turns > 0, "busy-turns");
  return text;
}

std::vector<storage::Key> MakeUniverse(Random& random, uint32_t keys, bool two_parts, bool joins) {
  std::set<uint64_t> chosen;
  if (two_parts) keys = (keys + 1) / 2;
  if (random.OneIn(2)) chosen.insert(0);
  if (random.OneIn(2)) chosen.insert(kKeyMax);
  for (uint32_t i = 0; joins && i < keys / 2; ++i) chosen.insert(1 + random.Below(kJoinKeys));
  while (chosen.size() < keys) {
    const uint64_t base = random.OneIn(4) ? kKeyMax - random.Below(256) : random.Next();
    const uint64_t stride = random.OneIn(3) ? uint64_t{1} << random.Below(57) : 1;
    uint64_t run = random.Between(1, 12);
    if (random.OneIn(6)) run = 1;
    for (uint64_t i = 0; i < run && chosen.size() < keys; ++i) chosen.insert(base + i * stride);
  }
  std::set<storage::Key> universe;
  for (const uint64_t head : chosen) {
    if (!two_parts) universe.insert(storage::Key::FromU64(head));
    for (uint64_t i = two_parts ? random.Between(1, 4) : 0; i > 0; --i) {
      constexpr uint64_t kTails[] = {0, 1, 7, kKeyMax};
      universe.insert({head, random.OneIn(2) ? random.Of(kTails) : random.Next()});
    }
  }
  return {universe.begin(), universe.end()};
}

std::vector<uint64_t> MakeStarts(Random& random, const std::vector<storage::Key>& universe,
                                 uint32_t ranges) {
  std::set<uint64_t> starts{0};
  for (uint32_t i = 1; i < ranges; ++i) {
    // At a key, right behind one, or anywhere.
    uint64_t start = universe[random.Below(universe.size())].head + random.Below(2);
    if (random.OneIn(4)) start = random.Next();
    if (random.OneIn(16)) start = kKeyMax;
    starts.insert(start);
  }
  return {starts.begin(), starts.end()};
}

}  // namespace eris::sim
