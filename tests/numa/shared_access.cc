// What the access counter counts for the goals "remote accesses beside a shared index" and "lines
// from other NumaNodes beside a shared index": lookups and upserts of random keys on every cpu of
// the guest, in an engine with an AEU on each, and in the same tree shared by all threads with its
// memory interleaved over the NumaNodes. For the engine the whole way is counted: sessions, one on
// each cpu, which make batches of keys at random over all AEUs and send them, the AEUs' turns, the
// completion of batches, and the reading of answers. After that one scan, one join and one transfer
// of a range, of the engine alone: the shared tree has none. shared_access.py knows the phases.
//
//   shared_access [--maps] [--brief] [--keys N]
//     --brief: only batches of 1024 keys, in the shared tree one key at a time, and nothing after
//     them.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "bench/key_order.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "bench/shared/shared_memory.h"
#include "bench/shared/shared_tree.h"
#include "engine/engine_impl.h"
#include "tests/numa/counted_rows.h"
#include "tests/numa/crew.h"
#include "tests/numa/phase_marks.h"
#include "tests/numa/plugin/node_memory.h"

namespace eris::numa_lab {
namespace {

using bench::Die;
using bench::SharedTree;

constexpr uint64_t kOuterRows = 1 << 16;   // of the join
constexpr size_t kCountedKeys = 48 << 10;  // by each cpu, in each job
constexpr size_t kWarmUpKeys = 8 << 10;    // not counted: scratch memory, symbols
constexpr size_t kKeysInFlight = 8 << 10;  // of each session
constexpr size_t kLoadBatch = 1024;
constexpr char kObject[] = "counted";
constexpr char kOuter[] = "outer";

// Set before anything runs. By default some 5 MB: not what a simulated cache holds.
uint64_t key_count = 1 << 18;

enum class Does : uint8_t { kLookups, kUpserts };

// One kind of batches, on all cpus.
struct Job {
  size_t batch_keys;
  Does does;
  uint8_t phase;  // the engine's: of sessions that send, and of AEUs' turns
  // The engine's, too: of completions, of sessions that read answers, and of AEUs that look whether
  // there is something to do.
  uint8_t answers = phase;
  bool one_by_one = false;  // in the shared tree: keys not in groups
};

constexpr Job kErisJobs[] = {{.batch_keys = 1024, .does = Does::kLookups, .phase = 1, .answers = 4},
                             {.batch_keys = 4096, .does = Does::kLookups, .phase = 5},
                             {.batch_keys = 1024, .does = Does::kUpserts, .phase = 6},
                             {.batch_keys = 4096, .does = Does::kUpserts, .phase = 7}};
constexpr Job kSharedJobs[] = {
    {.batch_keys = 1024, .does = Does::kLookups, .phase = 2, .one_by_one = true},
    {.batch_keys = 1024, .does = Does::kLookups, .phase = 3},
    {.batch_keys = 4096, .does = Does::kLookups, .phase = 8},
    {.batch_keys = 1024, .does = Does::kUpserts, .phase = 9},
    {.batch_keys = 4096, .does = Does::kUpserts, .phase = 10},
    {.batch_keys = 1024, .does = Does::kUpserts, .phase = 11, .one_by_one = true}};
constexpr uint8_t kScan = 12, kJoin = 13, kTransfer = 14;
constexpr size_t kBriefBatch = 1024;

struct RunOptions {
  bool maps = false;
  bool brief = false;

  bool LeavesOut(const Job& job, bool one_by_one) const {
    return brief && (job.batch_keys != kBriefBatch || job.one_by_one != one_by_one);
  }
};

// How many keys or rows a phase had.
void TellCount(uint8_t phase, uint64_t count) { std::printf("did %u %lu\n", phase, count); }

// Keys of batches, and the values that belong to them, in the memory of the cpu that makes them.
class Batches {
 public:
  Batches(uint64_t number, size_t batch_keys)
      : next_(number << 32), keys_(batch_keys), values_(batch_keys) {}
  // Keys that are there, at random.
  const std::vector<uint64_t>& Next() {
    for (uint64_t& key : keys_) key = KeyOf(bench::WalkAt(next_++, key_count));
    return keys_;
  }
  // The keys from number `first` on.
  const std::vector<uint64_t>& NextFrom(uint64_t first) {
    for (size_t i = 0; i < keys_.size(); ++i) keys_[i] = KeyOf(first + i);
    return keys_;
  }
  // Those of the keys that were made last.
  const std::vector<uint64_t>& MakeValues() {
    for (size_t i = 0; i < keys_.size(); ++i) values_[i] = ValueOf(keys_[i]);
    return values_;
  }
  std::vector<uint64_t>& values() { return values_; }
  void CheckThere(const auto& found, bool expected = true) const {
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (found[i] != expected) Die("a key is missing, or was there before");
    }
  }
  void CheckValues(const uint64_t* values) const {
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (values[i] != ValueOf(keys_[i])) Die("a wrong answer");
    }
  }

 private:
  uint64_t next_;
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> values_;
};

// One cpu's session and AEU, which share its thread: so nobody is counted who waits for another
// thread. Completions run on the engine's own threads, which share the cpus of their NumaNode.
class Seat {
 public:
  Seat(engine::EngineImpl& engine, const Object& object, uint32_t cpu,
       std::atomic<size_t>& finished)
      : engine_(engine),
        cpu_(cpu),
        aeu_(AeuOn(engine, cpu)),
        session_(engine.NewSession()),
        object_(object),
        finished_(finished) {}

  // Lets the AEU work until `done`.
  void Serve(const std::atomic<bool>& done, uint8_t phase) {
    CountInto(phase);
    while (!done.load(std::memory_order_acquire)) {
      if (!Turn(phase, phase)) sched_yield();
    }
    CountInto(uint8_t{0});
  }

  // This cpu's part of the keys.
  void Load(size_t seats) {
    Renew(kLoadBatch);
    Work(key_count / kLoadBatch / seats, seats, 0, 0, [&](Call& call, size_t batch) {
      Upsert(call, call.batches.NextFrom((batch * seats + cpu_) * kLoadBatch), false);
    });
  }
  // Warm-up, and the same counted.
  void WarmUp(const Job& job, size_t seats) {
    Renew(job.batch_keys);
    Do(job, kWarmUpKeys, seats, 0, 0);
  }
  void Do(const Job& job, size_t seats) { Do(job, kCountedKeys, seats, job.phase, job.answers); }

  static aeu::Aeu& AeuOn(engine::EngineImpl& engine, uint32_t cpu) {
    return engine.aeu(AeuIdOn(engine, cpu));
  }
  static AeuId AeuIdOn(engine::EngineImpl& engine, uint32_t cpu) {
    for (const AeuStats& one : engine.Stats().aeus) {
      if (one.cpu == static_cast<int32_t>(cpu)) return one.id;
    }
    Die("no AEU on cpu " + std::to_string(cpu));
  }

 private:
  struct Bits {
    const std::string& bits;
    bool operator[](size_t i) const { return BitAt(bits, i); }
  };
  struct Call {
    Call(uint64_t number, size_t batch_keys) : batches(number, batch_keys) {}
    Batches batches;
    bool there = true;
    BatchResult result;
    std::atomic<bool> answered{false};  // set by the thread that completes it
  };

  void Renew(size_t batch_keys) {
    calls_.clear();
    for (uint64_t i = 0; i < kKeysInFlight / batch_keys; ++i) {
      calls_.push_back(std::make_unique<Call>(uint64_t{cpu_} << 8 | i, batch_keys));
    }
  }

  void Do(const Job& job, size_t keys, size_t seats, uint8_t phase, uint8_t answers) {
    Work(keys / job.batch_keys, seats, phase, answers, [&](Call& call, size_t) {
      job.does == Does::kUpserts ? Upsert(call, call.batches.Next(), true) : Lookup(call);
    });
  }

  // Sends `batches`, and lets the AEU work until all of the `seats` have their answers.
  void Work(size_t batches, size_t seats, uint8_t phase, uint8_t answers, const auto& send) {
    CountInto(answers);
    bool told = false;
    size_t sent = 0;
    size_t read = 0;
    while (finished_.load(std::memory_order_acquire) < seats) {
      Call& next = *calls_[read % calls_.size()];
      if (read < sent && next.answered.load(std::memory_order_acquire)) {
        Read(next);
        ++read;
      } else if (sent < batches && sent - read < calls_.size()) {
        CountInto(phase);
        send(*calls_[sent % calls_.size()], sent);
        CountInto(answers);
        ++sent;
      } else if (!Turn(phase, answers)) {
        if (read == batches && !told) {
          told = true;
          finished_.fetch_add(1, std::memory_order_acq_rel);
        }
        sched_yield();
      }
    }
    CountInto(uint8_t{0});
  }

  bool Turn(uint8_t phase, uint8_t answers) {
    if (!aeu_.HasWork()) return false;
    CountInto(phase);
    const bool worked = aeu_.Step({});
    CountInto(answers);
    return worked;
  }

  auto Answer(Call& call) {
    return [&call](BatchResult result) {
      call.result = std::move(result);
      call.answered.store(true, std::memory_order_release);
    };
  }
  void Lookup(Call& call) {
    Must(session_->LookupAsync(object_, call.batches.Next(), Answer(call)).status());
  }
  // `there`: all of the keys are, or none is.
  void Upsert(Call& call, const std::vector<uint64_t>& keys, bool there) {
    call.there = there;
    Must(session_->UpsertAsync(object_, keys, call.batches.MakeValues(), Answer(call)).status());
  }
  static void Read(Call& call) {
    Must(call.result.status);
    const Bits existed{call.result.existed};
    call.batches.CheckThere(existed, call.there);
    if (!call.result.columns.empty()) {
      const std::string& values = call.result.columns[0].values;
      call.batches.CheckValues(reinterpret_cast<const uint64_t*>(values.data()));
    }
    call.result = {};
    call.answered.store(false, std::memory_order_relaxed);
  }

  engine::EngineImpl& engine_;
  const uint32_t cpu_;
  aeu::Aeu& aeu_;
  const std::unique_ptr<Session> session_;
  const Object& object_;  // set before the first step that needs it
  std::vector<std::unique_ptr<Call>> calls_;
  std::atomic<size_t>& finished_;
};

// Returns how many rows there were; checks them, by the columns of keys and of their values.
uint64_t ReadAll(const std::unique_ptr<Scan>& scan, size_t key_column, size_t value_column) {
  for (uint64_t rows = 0;;) {
    const auto chunk = Must(scan->Next());
    if (chunk == nullptr) return rows;
    const auto keys = chunk->Uint64s(key_column);
    const auto values = chunk->Uint64s(value_column);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (values[i] != ValueOf(keys[i])) Die("a wrong row");
    }
    rows += keys.size();
  }
}

uint64_t ScanAll(engine::EngineImpl& engine, const Object& object) {
  const auto session = engine.NewSession();
  return ReadAll(Must(session->OpenScan(object, {})), 0, 1);
}

uint64_t JoinAll(engine::EngineImpl& engine, const Object& outer, const Object& inner) {
  const auto session = engine.NewSession();
  return ReadAll(Must(session->OpenJoin(outer, inner, {})), 1, 2);
}

// The first AEU's range goes to the AEU of the last cpu, on another NumaNode. Returns its rows.
uint64_t MoveFirstRange(engine::EngineImpl& engine, uint32_t last_cpu) {
  const ObjectInfo info = Must(engine.Describe(kObject));
  const KeyRange range{.lo = info.partition_starts[0], .hi = info.partition_starts[1]};
  Must(engine.MoveRange(kObject, range, Seat::AeuIdOn(engine, last_cpu), TransferKind::kCopy,
                        absl::InfiniteFuture(), nullptr));
  uint64_t rows = 0;
  for (const TransferRecord& record : engine.TransferHistory()) rows += record.rows;
  return rows;
}

// The outer side of the join: values are keys of the inner side, at random.
void LoadOuter(engine::EngineImpl& engine, const Object& outer) {
  const auto session = engine.NewSession();
  std::vector<uint64_t> keys, values;
  for (uint64_t i = 0; i < kOuterRows; ++i) {
    keys.push_back(KeyOf(i));
    values.push_back(KeyOf(bench::WalkAt(i, key_count)));
  }
  Must(session->Upsert(outer, keys, values));
}

class ErisRun {
 public:
  explicit ErisRun(engine::EngineImpl& engine)
      : engine_(engine), crew_([this](uint32_t cpu) { return StepsOn(cpu); }) {
    if (engine_.aeu_count() != crew_.size()) Die("not every cpu has an AEU");
    last_cpu_ = static_cast<uint32_t>(bench::AllowedCpus().back());
  }

  void Run(const RunOptions& options) {
    Object outer;
    Served(0, [&] {
      const auto session = engine_.NewSession();
      for (const char* name : {kObject, kOuter}) Must(engine_.Create(name, {}).status());
      object_ = Must(session->Open(kObject));
      outer = Must(session->Open(kOuter));
      LoadOuter(engine_, outer);
    });
    RunStep(kLoad);
    for (const Job& job : kErisJobs) {
      if (options.LeavesOut(job, /*one_by_one=*/false)) continue;
      job_ = &job;
      RunStep(kWarmUp);
      RunStep(kCount);
      TellCount(job.phase, crew_.size() * kCountedKeys);
    }
    if (Must(engine_.Describe(kObject)).keys != key_count) Die("keys are missing");
    if (!options.brief) CountRows(outer);
    if (options.maps) PrintMaps();  // while all stacks are there
    Served(0, [&] { engine_.Close(); });
  }

 private:
  enum Step { kServe, kLoad, kWarmUp, kCount };

  void CountRows(const Object& outer) {
    uint64_t rows = 0;
    Served(0, [&] { ScanAll(engine_, object_); });  // sizes chunks
    Served(kScan, [&] { rows = ScanAll(engine_, object_); });
    if (rows != key_count) Die("rows of the scan are missing");
    TellCount(kScan, rows);
    Served(kJoin, [&] { rows = JoinAll(engine_, outer, object_); });
    if (rows != kOuterRows) Die("rows of the join are missing");
    TellCount(kJoin, rows);
    Served(kTransfer, [&] { rows = MoveFirstRange(engine_, last_cpu_); });
    TellCount(kTransfer, rows);
  }

  Crew::Step StepsOn(uint32_t cpu) {
    const auto seat = std::make_shared<Seat>(engine_, object_, cpu, finished_);
    return [this, seat](int step) {
      switch (step) {
        case kServe:
          return seat->Serve(served_, serve_phase_);
        case kLoad:
          return seat->Load(crew_.size());
        case kWarmUp:
          return seat->WarmUp(*job_, crew_.size());
        default:
          return seat->Do(*job_, crew_.size());
      }
    };
  }
  void RunStep(Step step) {
    finished_.store(0);
    crew_.Run(step);
  }
  // Runs it on a thread of its own, on the last cpu, while all AEUs work. All cpus count into
  // `phase` meanwhile.
  void Served(uint8_t phase, const std::function<void()>& call) {
    serve_phase_ = phase;
    served_.store(false);
    std::thread caller([&] {
      call();
      served_.store(true, std::memory_order_release);
    });
    crew_.Run(kServe);
    caller.join();
  }

  engine::EngineImpl& engine_;
  uint32_t last_cpu_ = 0;
  Object object_;
  const Job* job_ = nullptr;
  uint8_t serve_phase_ = 0;
  std::atomic<size_t> finished_{0};
  std::atomic<bool> served_{false};
  Crew crew_;  // last: its threads use the rest
};

void RunEris(const RunOptions& run) {
  Options options;
  options.memory_limit_bytes = 256 << 20;
  options.huge_pages = HugePages::kNone;  // as the shared tree, see there
  options.balancer.enabled = false;
  const auto engine = Must(engine::EngineImpl::Open(options, engine::EngineImpl::Threads::kNone));
  ErisRun(*engine).Run(run);
}

// What one thread does in the shared tree.
class SharedWorker {
 public:
  SharedWorker(SharedTree& tree, uint32_t cpu) : thread_(tree), cpu_(cpu) {}

  void Load(size_t cpus) {
    for (uint64_t i = cpu_; i < key_count; i += cpus) {
      if (thread_.Upsert(KeyOf(i), ValueOf(KeyOf(i))) != bench::UpsertResult::kInserted) {
        Die("a key was there");
      }
    }
  }
  void Do(const Job& job) {
    Batches batches(cpu_, job.batch_keys);
    found_.reset(new bool[job.batch_keys]);
    const size_t warm_up = kWarmUpKeys / job.batch_keys;
    for (size_t i = 0; i < warm_up + kCountedKeys / job.batch_keys; ++i) {
      if (i == warm_up) CountInto(job.phase);
      if (job.does == Does::kUpserts) {
        Upsert(batches, job.one_by_one);
      } else {
        Lookup(batches, job.one_by_one);
      }
    }
    CountInto(uint8_t{0});
  }

 private:
  void Lookup(Batches& batches, bool one_by_one) {
    const std::vector<uint64_t>& keys = batches.Next();
    std::vector<uint64_t>& values = batches.values();
    if (one_by_one) {
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto value = thread_.Lookup(keys[i]);
        found_[i] = value.has_value();
        values[i] = value.value_or(0);
      }
    } else {
      thread_.Lookup(keys.data(), keys.size(), values.data(), found_.get());
    }
    batches.CheckThere(found_);
    batches.CheckValues(values.data());
  }
  void Upsert(Batches& batches, bool one_by_one) {
    const std::vector<uint64_t>& keys = batches.Next();
    const std::vector<uint64_t>& values = batches.MakeValues();
    if (one_by_one) {
      for (size_t i = 0; i < keys.size(); ++i) {
        if (thread_.Upsert(keys[i], values[i]) != bench::UpsertResult::kReplaced) {
          Die("a key was not there");
        }
      }
    } else if (thread_.Upsert(keys.data(), values.data(), keys.size()) != 0) {
      Die("a key was not there");
    }
  }

  SharedTree::Thread thread_;
  const uint32_t cpu_;
  std::unique_ptr<bool[]> found_;
};

void RunShared(const RunOptions& options) {
  // Ordinary pages: a few huge ones would be local or not by luck.
  bench::SharedMemory memory(bench::SharedPlacement::kInterleaved, 256 << 20,
                             memory::PageKind::kAnonymous);
  SharedTree tree(memory.manager());
  const size_t cpus = bench::AllowedCpus().size();
  Crew crew([&](uint32_t cpu) -> Crew::Step {
    const auto worker = std::make_shared<SharedWorker>(tree, cpu);
    return [worker, cpus](int step) {
      step == 0 ? worker->Load(cpus) : worker->Do(kSharedJobs[step - 1]);
    };
  });
  // One after the other: a thread that rests holds nothing but memory back.
  for (size_t i = 0; i < crew.size(); ++i) crew.RunOne(i, 0);
  if (tree.CountKeys() != key_count) Die("keys are missing");
  for (size_t i = 0; i < std::size(kSharedJobs); ++i) {
    if (options.LeavesOut(kSharedJobs[i], /*one_by_one=*/true)) continue;
    crew.Run(static_cast<int>(i) + 1);
    TellCount(kSharedJobs[i].phase, cpus * kCountedKeys);
  }
}

// In a process of its own: the stacks that threads leave behind lie anywhere, and are used again.
bool RunApart(const std::function<void()>& run) {
  const pid_t child = fork();
  if (child == 0) {
    run();
    std::exit(0);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int Main(int argc, char** argv) {
  RunOptions options;
  bench::ParseFlags(argc, argv,
                    {{"--maps", options.maps},
                     {"--brief", options.brief},
                     {"--keys", key_count, 1 << 14, 1 << 21}});
  if (!std::has_single_bit(key_count)) Die("--keys wants a power of two");
  if (const std::string wrong = ReadKnownPages(); !wrong.empty()) Die(wrong);
  return RunApart([&] { RunEris(options); }) && RunApart([&] { RunShared(options); }) ? 0 : 1;
}

}  // namespace
}  // namespace eris::numa_lab

int main(int argc, char** argv) { return eris::numa_lab::Main(argc, argv); }
