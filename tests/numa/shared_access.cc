// What the access counter counts for the goal "remote accesses beside a shared index": lookups of
// random keys on every cpu of the guest, in an engine with an AEU on each, and in the same tree
// shared by all threads with its memory interleaved over the NumaNodes. Of the engine the whole
// way is counted: sessions, one on each cpu, which make batches of keys at random over all AEUs and
// send them, and the AEUs' turns. shared_access.py knows the phases.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "bench/key_order.h"
#include "bench/routing/machine.h"
#include "bench/shared/shared_memory.h"
#include "bench/shared/shared_tree.h"
#include "engine/engine_impl.h"
#include "tests/numa/phase_marks.h"
#include "tests/numa/plugin/node_memory.h"

namespace eris::numa_lab {
namespace {

using bench::Die;
using bench::SharedTree;

constexpr uint64_t kKeys = 1 << 18;  // some 5 MB: not what a simulated cache holds
constexpr size_t kBatchKeys = 1024;
constexpr int kBatches = 48;  // counted, of each cpu
constexpr int kWarmUp = 8;    // not counted: scratch memory, symbols
constexpr size_t kInFlight = 8;
constexpr uint8_t kEris = 1, kShared = 2, kSharedBatched = 3;
constexpr char kObject[] = "counted";

uint64_t KeyOf(uint64_t i) { return bench::KeyAt(i, /*sparse=*/true); }
uint64_t ValueOf(uint64_t key) { return key ^ 0x5555; }

// Keys of batches, in the memory of the cpu that makes them.
class Batches {
 public:
  explicit Batches(uint64_t number) : next_(number << 32), keys_(kBatchKeys), values_(kBatchKeys) {}
  const std::vector<uint64_t>& Next() {
    for (uint64_t& key : keys_) key = KeyOf(bench::WalkAt(next_++, kKeys));
    return keys_;
  }
  std::vector<uint64_t>& values() { return values_; }
  void Check(const auto& found) const {
    for (size_t i = 0; i < kBatchKeys; ++i) {
      if (!found[i] || values_[i] != ValueOf(keys_[i])) Die("a wrong answer");
    }
  }

 private:
  uint64_t next_;
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> values_;
};

// A thread on each cpu that works in steps; between them all rest, without a turn.
class Crew {
 public:
  // Prepares in its thread what a step then does.
  using Step = std::function<void(int step)>;
  using Make = std::function<Step(uint32_t cpu)>;

  explicit Crew(const Make& make) {
    for (const int cpu : bench::AllowedCpus()) members_.push_back(std::make_unique<Member>(cpu));
    for (const auto& member : members_) {
      // From that cpu, so that what its stack begins with lies on its NumaNode.
      bench::PinTo(member->cpu);
      member->thread = std::thread([&make, member = member.get()] {
        const Step step = make(static_cast<uint32_t>(member->cpu));
        for (;;) {
          member->ended.release();
          member->begins.acquire();
          if (member->step < 0) break;
          step(member->step);
        }
      });
      member->ended.acquire();
    }
  }
  ~Crew() {
    for (const auto& member : members_) Begin(*member, -1);
    for (const auto& member : members_) member->thread.join();
  }
  size_t size() const { return members_.size(); }
  // All do it side by side.
  void Run(int step) {
    for (const auto& member : members_) Begin(*member, step);
    for (const auto& member : members_) member->ended.acquire();
  }
  void RunOne(size_t member, int step) {
    Begin(*members_[member], step);
    members_[member]->ended.acquire();
  }

 private:
  struct Member {
    explicit Member(int its_cpu) : cpu(its_cpu) {}
    const int cpu;
    int step = 0;
    std::binary_semaphore begins{0};
    std::binary_semaphore ended{0};
    std::thread thread;
  };
  static void Begin(Member& member, int step) {
    member.step = step;
    member.begins.release();
  }
  std::vector<std::unique_ptr<Member>> members_;
};

template <class T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) Die(std::string(result.status().message()));
  return *std::move(result);
}
void Must(const absl::Status& status) {
  if (!status.ok()) Die(std::string(status.message()));
}

// One cpu's session and AEU, which share its thread: so nobody is counted who waits. What is not
// counted beside that is the completion thread, which packs the bits that tell which keys were
// there; its callbacks are.
class Seat {
 public:
  Seat(engine::EngineImpl& engine, const Object& object, uint32_t cpu,
       std::atomic<size_t>& finished)
      : cpu_(cpu),
        aeu_(AeuOn(engine, cpu)),
        session_(engine.NewSession()),
        object_(object),
        finished_(finished) {
    for (uint64_t i = 0; i < kInFlight; ++i) {
      calls_.push_back(std::make_unique<Call>(uint64_t{cpu} << 8 | i));
    }
  }

  // Lets the AEU work until `done`.
  void Serve(const std::atomic<bool>& done) {
    while (!done.load(std::memory_order_acquire)) {
      if (!Turn(0)) sched_yield();
    }
  }
  // Sends `batches`, and lets the AEU work until all of the `seats` have their answers.
  void Work(int batches, size_t seats, bool upsert, uint8_t phase) {
    bool told = false;
    for (int sent = 0; finished_.load(std::memory_order_acquire) < seats;) {
      Call& call = *calls_[static_cast<size_t>(sent) % kInFlight];
      if (sent < batches && call.free.load(std::memory_order_acquire)) {
        upsert ? Upsert(call, static_cast<uint64_t>(sent), seats) : Lookup(call, phase);
        ++sent;
      } else if (!Turn(phase)) {
        if (sent == batches && !told && AllFree()) {
          told = true;
          finished_.fetch_add(1, std::memory_order_acq_rel);
        }
        sched_yield();
      }
    }
  }

 private:
  struct Bits {
    const std::string& bits;
    bool operator[](size_t i) const { return (bits[i / 8] >> (i % 8) & 1) != 0; }
  };
  struct Call {
    explicit Call(uint64_t number) : batches(number) {}
    Batches batches;
    std::atomic<bool> free{true};  // set by the completion thread
  };

  static aeu::Aeu& AeuOn(engine::EngineImpl& engine, uint32_t cpu) {
    for (const AeuStats& one : engine.Stats().aeus) {
      if (one.cpu == static_cast<int32_t>(cpu)) return engine.aeu(one.id);
    }
    Die("no AEU on cpu " + std::to_string(cpu));
  }
  bool AllFree() const {
    return std::all_of(calls_.begin(), calls_.end(),
                       [](const auto& call) { return call->free.load(std::memory_order_acquire); });
  }
  bool Turn(uint8_t phase) {
    if (!aeu_.HasWork()) return false;
    CountInto(phase);
    const bool worked = aeu_.Step({});
    CountInto(uint8_t{0});
    return worked;
  }
  void Lookup(Call& call, uint8_t phase) {
    call.free.store(false, std::memory_order_relaxed);
    CountInto(phase);
    const auto sent =
        session_->LookupAsync(object_, call.batches.Next(), [&call](const BatchResult& result) {
          Must(result.status);
          std::memcpy(call.batches.values().data(), result.columns[0].values.data(),
                      kBatchKeys * sizeof(uint64_t));
          call.batches.Check(Bits{result.existed});
          call.free.store(true, std::memory_order_release);
        });
    CountInto(uint8_t{0});
    Must(sent.status());
  }
  // This cpu's part of the keys.
  void Upsert(Call& call, uint64_t batch, size_t seats) {
    std::vector<uint64_t> keys(kBatchKeys), values(kBatchKeys);
    for (size_t i = 0; i < kBatchKeys; ++i) {
      keys[i] = KeyOf((batch * seats + cpu_) * kBatchKeys + i);
      values[i] = ValueOf(keys[i]);
    }
    call.free.store(false, std::memory_order_relaxed);
    Must(session_
             ->UpsertAsync(object_, keys, values,
                           [&call](const BatchResult& result) {
                             Must(result.status);
                             call.free.store(true, std::memory_order_release);
                           })
             .status());
  }

  const uint32_t cpu_;
  aeu::Aeu& aeu_;
  const std::unique_ptr<Session> session_;
  const Object& object_;  // set before the first step that needs it
  std::vector<std::unique_ptr<Call>> calls_;
  std::atomic<size_t>& finished_;
};

void RunEris() {
  Options options;
  options.memory_limit_bytes = 256 << 20;
  options.huge_pages = HugePages::kNone;  // as the shared tree, see there
  options.balancer.enabled = false;
  const auto engine = Must(engine::EngineImpl::Open(options, engine::EngineImpl::Threads::kNone));
  std::atomic<size_t> finished{0};
  std::atomic<bool> served{false};
  size_t seats = 0;
  Object object;
  enum Step { kServe, kLoad, kWarm, kCount };
  Crew crew([&](uint32_t cpu) -> Crew::Step {
    const auto seat = std::make_shared<Seat>(*engine, object, cpu, finished);
    return [&, seat](int step) {
      if (step == kServe) return seat->Serve(served);
      if (step == kLoad) {
        return seat->Work(static_cast<int>(kKeys / kBatchKeys / seats), seats, true, 0);
      }
      seat->Work(step == kWarm ? kWarmUp : kBatches, seats, false, step == kWarm ? 0 : kEris);
    };
  });
  seats = crew.size();
  if (engine->aeu_count() != seats) Die("not every cpu has an AEU");
  const auto served_call = [&](const auto& call) {
    served.store(false);
    std::thread caller([&] {
      call();
      served.store(true, std::memory_order_release);
    });
    crew.Run(kServe);
    caller.join();
  };
  served_call([&] { Must(engine->Create(kObject, {}).status()); });
  object = Must(engine->NewSession()->Open(kObject));
  for (const Step step : {kLoad, kWarm, kCount}) {
    finished.store(0);
    crew.Run(step);
  }
  if (Must(engine->Describe(kObject)).keys != kKeys) Die("keys are missing");
  served_call([&] { engine->Close(); });
}

void RunShared() {
  // Ordinary pages: a few huge ones would be local or not by luck.
  bench::SharedMemory memory(bench::SharedPlacement::kInterleaved, 256 << 20,
                             memory::PageKind::kAnonymous);
  SharedTree tree(memory.manager());
  const size_t cpus = bench::AllowedCpus().size();
  Crew crew([&](uint32_t cpu) -> Crew::Step {
    const auto thread = std::make_shared<SharedTree::Thread>(tree);
    const auto batches = std::make_shared<Batches>(cpu);
    const auto found = std::make_shared<std::unique_ptr<bool[]>>(new bool[kBatchKeys]);
    return [thread, batches, found, cpu, cpus](int step) {
      if (step == 0) {  // each its part of the keys
        for (uint64_t i = cpu; i < kKeys; i += cpus) {
          if (thread->Upsert(KeyOf(i), ValueOf(KeyOf(i))) != bench::UpsertResult::kInserted) {
            Die("a key was there");
          }
        }
        return;
      }
      for (int i = 0; i < kWarmUp + kBatches; ++i) {
        if (i == kWarmUp) CountInto(static_cast<uint8_t>(step));
        const std::vector<uint64_t>& keys = batches->Next();
        std::vector<uint64_t>& values = batches->values();
        if (step == kSharedBatched) {
          thread->Lookup(keys.data(), kBatchKeys, values.data(), found->get());
        } else {
          for (size_t j = 0; j < kBatchKeys; ++j) {
            const auto value = thread->Lookup(keys[j]);
            (*found)[j] = value.has_value();
            values[j] = value.value_or(0);
          }
        }
        batches->Check(*found);
      }
      CountInto(uint8_t{0});
    };
  });
  // One after the other: a thread that rests holds nothing but memory back.
  for (size_t i = 0; i < crew.size(); ++i) crew.RunOne(i, 0);
  if (tree.CountKeys() != kKeys) Die("keys are missing");
  crew.Run(kShared);
  crew.Run(kSharedBatched);
}

// In a process of its own: the stacks that threads leave behind lie anywhere, and are used again.
bool RunApart(void (*run)()) {
  const pid_t child = fork();
  if (child == 0) {
    run();
    std::exit(0);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int Main() {
  if (const std::string wrong = ReadKnownPages(); !wrong.empty()) Die(wrong);
  if (!RunApart(RunEris) || !RunApart(RunShared)) return 1;
  std::printf("lookups %zu\n", bench::AllowedCpus().size() * kBatches * kBatchKeys);
  return 0;
}

}  // namespace
}  // namespace eris::numa_lab

int main() { return eris::numa_lab::Main(); }
