// What the access counter counts for the goal "local accesses of the data path": an engine with an
// AEU on every cpu of the guest, each of which sends batches of upserts and then of lookups of its
// own keys to itself. Counted is the AEU's whole turn on such a batch, from taking its incoming
// buffer to the answers; left out is the sending, which is routing. Three engines: one that
// places memory as it does, one whose own memory is interleaved over all NumaNodes, and one in a
// process that knows of no NumaNodes at all, as an allocator for any program leaves it. In the
// first one each range then leaps to the next NumaNode, and is looked up there once its memory is
// at home.
//
// A batch is sent from the completion function of the batch before, which runs on the AEU's own
// thread: so an engine as it is opened by anybody will do, and everything that an AEU touches here
// has been allocated by it.
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "engine/engine_impl.h"
#include "routing/port.h"
#include "routing/reply.h"
#include "tests/numa/access_marks.h"
#include "tests/numa/plugin/node_memory.h"

namespace eris::numa_lab {
namespace {

using routing::CommandType;
using storage::KeyState;

constexpr char kCounted[] = "counted";
constexpr uint32_t kBatchKeys = 1024;
constexpr uint32_t kUpsertBatches = 24;  // of new keys
constexpr uint32_t kLookupBatches = 48;  // of keys that are there
// Not counted: first calls resolve symbols, first batches size the AEU's scratch memory.
constexpr uint32_t kWarmUpBatches = 2;

// What is counted apart. local_access.py knows the numbers.
enum class Phase : uint8_t {
  kNone = 0,
  kLocalUpsert = 1,
  kLocalLookup = 2,
  kInterleavedUpsert = 3,
  kInterleavedLookup = 4,
  kBlindUpsert = 5,
  kBlindLookup = 6,
  kLeaptLookup = 7
};

inline void Count(Phase phase) {
  switch (phase) {
    case Phase::kNone:
      return CountInto<0>();
    case Phase::kLocalUpsert:
      return CountInto<1>();
    case Phase::kLocalLookup:
      return CountInto<2>();
    case Phase::kInterleavedUpsert:
      return CountInto<3>();
    case Phase::kInterleavedLookup:
      return CountInto<4>();
    case Phase::kBlindUpsert:
      return CountInto<5>();
    case Phase::kBlindLookup:
      return CountInto<6>();
    case Phase::kLeaptLookup:
      return CountInto<7>();
  }
}

// The batches of one AEU: upserts of new keys unless `upsert` is kNone, because another one has
// upserted them, and lookups. Made by the main thread, runs on the AEU's; its memory is allocated
// there.
class Driver final : public routing::Reply {
 public:
  Driver(engine::EngineImpl& engine, const routing::ObjectRoute& route, storage::Range range,
         Phase upsert, Phase lookup, std::atomic<uint32_t>& running)
      : engine_(engine),
        route_(route),
        range_(range),
        upsert_(upsert),
        lookup_(lookup),
        running_(running) {
    values = &first_value_;
    states = &first_state_;
  }

  // A lookup of one key, so that the AEU calls back.
  void Start(routing::Port& port) {
    const uint64_t key = range_.lo.head;
    ERIS_CHECK(port.Send(route_,
                         {.type = CommandType::kLookup,
                          .keys = {&key, 1},
                          .complete = &Driver::Answered,
                          .context = this},
                         KeyState::kRefused) == 0);
  }

  uint64_t wrong() const { return wrong_; }

 private:
  static void Answered(Reply* reply, uint32_t keys) noexcept {
    auto* self = static_cast<Driver*>(reply);
    Count(Phase::kNone);
    Count(self->OnAnswered(keys));
  }

  // What to count from here.
  Phase OnAnswered(uint32_t keys) {
    if (!started_) {
      Prepare();
    } else {
      pending_ -= keys;
      if (pending_ > 0) return counting_;
      CheckAnswers();
    }
    const uint32_t batch = next_batch_++;
    if (batch < kWarmUpBatches + kUpsertBatches) {
      return Send(CommandType::kUpsert, batch, batch < kWarmUpBatches ? Phase::kNone : upsert_);
    }
    const uint32_t lookup = batch - kWarmUpBatches - kUpsertBatches;
    if (lookup < kWarmUpBatches + kLookupBatches) {
      return Send(CommandType::kLookup, lookup, lookup < kWarmUpBatches ? Phase::kNone : lookup_);
    }
    port_.reset();
    // Release: the main thread, which waits for this, reads what has been written here. The last
    // one alone wakes it, when no cpu counts any more.
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
    return Phase::kNone;
  }

  void Prepare() {
    started_ = true;
    routing::PortOptions options = engine_.core().port_options();
    options.way = routing::PortOptions::Way::kIncoming;
    options.wait_ns = 0;
    port_.emplace(engine_.core().directory, options);
    std::mt19937_64 random(range_.lo.head + 1);
    const uint64_t last = range_.hi ? range_.hi->head - 1 : ~uint64_t{0};
    std::uniform_int_distribution<uint64_t> key_in_range(range_.lo.head, last);
    keys_.resize(size_t{kBatchKeys} * (kWarmUpBatches + kUpsertBatches));
    for (uint64_t& key : keys_) key = key_in_range(random);
    batch_.resize(kBatchKeys);
    values_.resize(kBatchKeys);
    answers_.resize(kBatchKeys);
    states_.resize(kBatchKeys);
    if (upsert_ == Phase::kNone) next_batch_ = kWarmUpBatches + kUpsertBatches;
    values = answers_.data();
    states = states_.data();
  }

  static uint64_t ValueOf(uint64_t key) { return key ^ 0x5555; }

  Phase Send(CommandType type, uint32_t batch, Phase counting) {
    type_ = type;
    for (uint32_t i = 0; i < kBatchKeys; ++i) {
      // Lookups: a walk that meets no two neighbours of an upsert's batch together.
      const size_t at = type == CommandType::kUpsert
                            ? size_t{batch} * kBatchKeys + i
                            : (size_t{batch} * kBatchKeys + i) * 7919 % keys_.size();
      batch_[i] = keys_[at];
      values_[i] = ValueOf(batch_[i]);
    }
    std::fill(states_.begin(), states_.end(), KeyState::kPending);
    pending_ = kBatchKeys;
    counting_ = counting;
    const std::span<const uint64_t> none;
    ERIS_CHECK(port_->Send(route_,
                           {.type = type,
                            .keys = batch_,
                            .values = type == CommandType::kUpsert ? values_ : none,
                            .complete = &Driver::Answered,
                            .context = this},
                           KeyState::kRefused) == 0);
    ERIS_CHECK(port_->Flush());
    return counting;
  }

  void CheckAnswers() {
    for (uint32_t i = 0; i < kBatchKeys; ++i) {
      const KeyState expected =
          type_ == CommandType::kUpsert ? KeyState::kAbsent : KeyState::kPresent;
      if (states_[i] != expected) ++wrong_;
      if (type_ == CommandType::kLookup && answers_[i] != ValueOf(batch_[i])) ++wrong_;
    }
  }

  engine::EngineImpl& engine_;
  const routing::ObjectRoute& route_;
  const storage::Range range_;
  const Phase upsert_;
  const Phase lookup_;
  std::atomic<uint32_t>& running_;
  uint64_t first_value_ = 0;
  KeyState first_state_ = KeyState::kPending;

  // Owned by the AEU's thread.
  bool started_ = false;
  std::optional<routing::Port> port_;
  std::vector<uint64_t> keys_;  // distinct, but for luck that 64 bits do not have
  std::vector<uint64_t> batch_;
  std::vector<uint64_t> values_;
  std::vector<uint64_t> answers_;
  std::vector<KeyState> states_;
  CommandType type_ = CommandType::kUpsert;
  Phase counting_ = Phase::kNone;
  uint32_t next_batch_ = 0;
  uint32_t pending_ = 0;
  uint64_t wrong_ = 0;
};

// The same batches for every AEU, on the range that it owns. How many answers were wrong.
uint64_t DriveAll(engine::EngineImpl& engine, const std::vector<storage::Range>& ranges,
                  Phase upsert, Phase lookup, bool print_maps) {
  const routing::ObjectRoute& route = (*engine.core().catalogue.Find(kCounted))->route;
  std::atomic<uint32_t> running = static_cast<uint32_t>(ranges.size());
  std::vector<std::unique_ptr<Driver>> drivers;
  {
    routing::Port port(engine.core().directory, engine.core().port_options());
    for (const storage::Range& range : ranges) {
      drivers.push_back(std::make_unique<Driver>(engine, route, range, upsert, lookup, running));
      drivers.back()->Start(port);
    }
    port.Flush();
  }
  // Acquire: pairs with each AEU's fetch_sub.
  for (uint32_t left; (left = running.load(std::memory_order_acquire)) != 0;) running.wait(left);
  if (print_maps) PrintMaps();  // while the AEUs' stacks are there
  const auto tell = [&](Phase phase, uint32_t batches) {
    std::printf("did %u %zu\n", static_cast<unsigned>(phase),
                drivers.size() * batches * size_t{kBatchKeys});
  };
  if (upsert != Phase::kNone) tell(upsert, kUpsertBatches);
  tell(lookup, kLookupBatches);
  uint64_t wrong = 0;
  for (const auto& driver : drivers) wrong += driver->wrong();
  return wrong;
}

// Each range to an AEU of the next NumaNode, and its memory. False: it could not go, as was told.
bool LeapAll(engine::EngineImpl& engine, const std::vector<storage::Range>& ranges) {
  const std::vector<AeuStats> aeus = engine.Stats().aeus;
  const auto apart = static_cast<size_t>(std::count_if(aeus.begin(), aeus.end(), [&](auto& aeu) {
    return aeu.numa_node == aeus.front().numa_node;
  }));
  for (size_t i = 0; i < ranges.size(); ++i) {
    KeyRange range{.lo = ranges[i].lo.head};
    if (ranges[i].hi) range.hi = ranges[i].hi->head;
    const AeuId to = aeus[(i + apart) % aeus.size()].id;
    Engine& mover = engine;  // whose calls have defaults
    const absl::Status moved = mover.MoveRange(kCounted, range, to, TransferKind::kLeap);
    if (!moved.ok()) {
      std::fprintf(stderr, "%s\n", std::string(moved.message()).c_str());
      return false;
    }
  }
  for (const TransferRecord& leap : engine.TransferHistory()) {
    const auto home = [&] {
      for (const TransferRecord& now : engine.TransferHistory()) {
        if (now.id == leap.id) return now.home;
      }
      return MemoryFollows::kStays;
    };
    while (home() == MemoryFollows::kUnderWay) absl::SleepFor(absl::Milliseconds(1));
    if (home() == MemoryFollows::kHome) continue;
    std::fprintf(stderr, "memory of a range has not come home\n");
    return false;
  }
  return true;
}

// Upserts and lookups of every AEU on its own range, and lookups after leaps unless `leapt` is
// kNone. False: something went wrong, and was told.
bool Run(const Options& options, Phase upsert, Phase lookup, Phase leapt, bool print_maps) {
  auto engine = engine::EngineImpl::Open(options, engine::EngineImpl::Threads::kStart);
  if (!engine.ok()) {
    std::fprintf(stderr, "%s\n", std::string(engine.status().message()).c_str());
    return false;
  }
  for (const std::string& note : (*engine)->Notes()) std::fprintf(stderr, "%s\n", note.c_str());
  if (const auto created = (*engine)->Create(kCounted, {}); !created.ok()) {
    std::fprintf(stderr, "%s\n", std::string(created.status().message()).c_str());
    return false;
  }
  std::vector<storage::Range> ranges;
  {
    const auto table = (*(*engine)->core().catalogue.Find(kCounted))->route.Pin();
    for (size_t i = 0; i < table->size(); ++i) ranges.push_back(table->RangeOf(i));
  }
  uint64_t wrong = DriveAll(**engine, ranges, upsert, lookup, print_maps);
  if (leapt != Phase::kNone) {
    if (!LeapAll(**engine, ranges)) return false;
    wrong += DriveAll(**engine, ranges, Phase::kNone, leapt, /*print_maps=*/false);
  }
  const ObjectInfo info = *(*engine)->Describe(kCounted);
  std::fprintf(stderr, "%u AEUs, %lu keys, %lu wrong answers\n", (*engine)->aeu_count(), info.keys,
               wrong);
  return wrong == 0 && (*engine)->aeu_count() == sysconf(_SC_NPROCESSORS_ONLN);
}

bool InterleaveAll() {
  unsigned long mask = 0;
  for (const uint32_t node : NumaNodesWithMemory()) mask |= 1UL << node;
  return syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &mask, 8 * sizeof mask + 1) == 0;
}

int Main(bool print_maps) {
  if (const std::string wrong = ReadKnownPages(); !wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    return 1;
  }
  Options options;
  options.memory_limit_bytes = 256 << 20;
  // Counts are by cpu: a thread that reads all AEUs' loads now and then, on whatever cpu, would be
  // in them.
  options.balancer.enabled = false;
  if (!Run(options, Phase::kLocalUpsert, Phase::kLocalLookup, Phase::kLeaptLookup, print_maps))
    return 1;
  // Ordinary pages: a few huge ones would be local or not by luck.
  options.huge_pages = HugePages::kNone;
  options.memory_placement = MemoryPlacement::kInterleaved;
  if (!Run(options, Phase::kInterleavedUpsert, Phase::kInterleavedLookup, Phase::kNone, false))
    return 1;
  options.memory_placement = MemoryPlacement::kLocal;
  if (!InterleaveAll()) {
    std::perror("set_mempolicy");
    return 1;
  }
  // A synthetic topology: AEUs on the same cpus, memory bound to no NumaNode.
  options.topology = "numa:1 core:" + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " pu:1";
  return Run(options, Phase::kBlindUpsert, Phase::kBlindLookup, Phase::kNone, false) ? 0 : 1;
}

}  // namespace
}  // namespace eris::numa_lab

int main(int argc, char** argv) {
  return eris::numa_lab::Main(argc > 1 && std::strcmp(argv[1], "--maps") == 0);
}
