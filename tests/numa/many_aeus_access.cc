// How many lines a key takes from other NumaNodes where there are many AEUs: a session of the first
// NumaNode asks an engine of a synthetic machine, whose AEUs are stepped by hand on one cpu, each
// on behalf of its NumaNode (ActFor), those of a NumaNode by a thread of its own: stacks and what
// malloc keeps for a thread are shared by no two NumaNodes. many_aeus_access.py runs it with the
// access counter.
//
//   many_aeus_access NUMA_NODES AEUS_OF_EACH [--maps]
#include <sched.h>
#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/key_order.h"
#include "bench/routing/machine.h"
#include "engine/engine_impl.h"
#include "tests/numa/counted_rows.h"
#include "tests/numa/phase_marks.h"
#include "tests/numa/plugin/node_memory.h"

namespace eris::numa_lab {
namespace {

using bench::Die;

constexpr uint64_t kKeys = 1 << 17;
constexpr size_t kLoadBatch = 4096;
constexpr uint64_t kWarmUpKeys = 64 << 10;
constexpr uint64_t kCountedKeys = 64 << 10;
constexpr char kObject[] = "counted";

// One kind of batches, and the phase that it is counted in.
struct Job {
  size_t batch_keys;
  bool upserts;
  uint8_t phase;
};
constexpr Job kJobs[] = {{1024, false, 1}, {4096, false, 2}, {1024, true, 3}, {4096, true, 4}};

class ManyAeus {
 public:
  ManyAeus(uint32_t numa_nodes, uint32_t of_each) {
    Options options;
    options.topology =
        "numa:" + std::to_string(numa_nodes) + " core:" + std::to_string(of_each) + " pu:1";
    options.memory_limit_bytes = uint64_t{2} << 30;
    options.huge_pages = HugePages::kNone;
    options.balancer.enabled = false;
    options.send_wait_ms_max = 60'000;
    engine_ = Must(engine::EngineImpl::Open(options, engine::EngineImpl::Threads::kNone));
    for (uint32_t i = 0; i < numa_nodes; ++i) steppers_.push_back(std::make_unique<Stepper>(i));
    for (const AeuStats& one : engine_->Stats().aeus) {
      steppers_.at(one.numa_node.value)->aeus.push_back(&engine_->aeu(one.id));
    }
    for (const auto& stepper : steppers_) {
      if (stepper->aeus.size() != of_each) Die("not every core has an AEU");
      stepper->thread = std::thread([this, &one = *stepper] { StepOnRequest(one); });
    }
  }
  ~ManyAeus() {
    ends_.store(true);
    for (const auto& stepper : steppers_) {
      stepper->begins.Give();
      stepper->thread.join();
    }
  }

  void Run(bool print_maps) {
    Meanwhile([&] {
      Must(engine_->Create(kObject, {}).status());
      session_ = Must(engine_->NewSession(NumaNodeId{0}));
      object_ = Must(session_->Open(kObject));
      for (uint64_t i = 0; i < kKeys; i += kLoadBatch) Load(i);
    });
    for (const Job& job : kJobs) {
      Meanwhile([&] { Do(job, kWarmUpKeys); });
      phase_.store(job.phase);
      Meanwhile([&] {
        CountInto(job.phase);
        Do(job, kCountedKeys);
        CountInto(uint8_t{0});
      });
      phase_.store(0);
      std::printf("did %u %lu\n", job.phase, kCountedKeys);
    }
    if (print_maps) PrintMaps();
    Meanwhile([&] {
      session_.reset();
      engine_->Close();
    });
  }

 private:
  // Waits in the kernel, and never spins: what runs next on the cpu is somebody else.
  class Signal {
   public:
    Signal() { sem_init(&semaphore_, 0, 0); }
    void Give() { sem_post(&semaphore_); }
    void Await() {
      while (sem_wait(&semaphore_) != 0) {
      }
    }

   private:
    sem_t semaphore_;
  };

  // Steps the AEUs of one NumaNode, once for each `begins`, given on its behalf.
  struct Stepper {
    explicit Stepper(uint32_t its_numa_node) : numa_node(its_numa_node) {}
    const uint32_t numa_node;
    std::vector<aeu::Aeu*> aeus;
    bool worked = false;
    Signal begins;
    Signal ended;
    std::thread thread;
  };

  void StepOnRequest(Stepper& own) {
    bench::PinTo(0);
    const std::vector<aeu::Aeu*> aeus = own.aeus;
    for (;;) {
      own.begins.Await();
      if (ends_.load()) return;
      CountInto(phase_.load());
      bool worked = false;
      for (aeu::Aeu* const aeu : aeus) {
        if (aeu->HasWork()) worked |= aeu->Step({});
      }
      CountInto(uint8_t{0});
      own.worked = worked;
      own.ended.Give();
    }
  }

  // Runs `call` on the second cpu, on behalf of the first NumaNode, and steps all AEUs until it has
  // returned.
  void Meanwhile(const std::function<void()>& call) {
    std::atomic<bool> done{false};
    std::thread caller([&] {
      bench::PinTo(1);
      ActFor(0);
      call();
      done.store(true);
    });
    bench::PinTo(0);
    while (!done.load()) {
      bool worked = false;
      for (const auto& stepper : steppers_) {
        ActFor(stepper->numa_node);
        stepper->begins.Give();
        stepper->ended.Await();
        worked |= stepper->worked;
      }
      if (!worked) sched_yield();
    }
    caller.join();
  }

  void Load(uint64_t first) {
    keys_.resize(kLoadBatch);
    values_.resize(kLoadBatch);
    for (size_t i = 0; i < kLoadBatch; ++i) values_[i] = ValueOf(keys_[i] = KeyOf(first + i));
    Must(session_->Upsert(object_, keys_, values_));
  }

  void Do(const Job& job, uint64_t keys) {
    keys_.resize(job.batch_keys);
    values_.resize(job.batch_keys);
    found_.resize(job.batch_keys);
    for (uint64_t done = 0; done < keys; done += job.batch_keys) {
      for (uint64_t& key : keys_) key = KeyOf(bench::WalkAt(next_++, kKeys));
      if (job.upserts) {
        for (size_t i = 0; i < keys_.size(); ++i) values_[i] = ValueOf(keys_[i]);
        Must(session_->Upsert(object_, keys_, values_));
        continue;
      }
      Must(session_->Lookup(object_, keys_, absl::MakeSpan(values_), absl::MakeSpan(found_)));
      for (size_t i = 0; i < keys_.size(); ++i) {
        if (found_[i] != 1 || values_[i] != ValueOf(keys_[i])) Die("a wrong answer");
      }
    }
  }

  std::unique_ptr<engine::EngineImpl> engine_;
  std::vector<std::unique_ptr<Stepper>> steppers_;
  std::unique_ptr<Session> session_;
  Object object_;
  std::atomic<uint8_t> phase_{0};
  std::atomic<bool> ends_{false};
  uint64_t next_ = 0;
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> values_;
  std::vector<uint8_t> found_;
};

int Main(uint32_t numa_nodes, uint32_t of_each, bool print_maps) {
  if (const std::string wrong = ReadKnownPages(); !wrong.empty()) Die(wrong);
  ManyAeus(numa_nodes, of_each).Run(print_maps);
  return 0;
}

}  // namespace
}  // namespace eris::numa_lab

int main(int argc, char** argv) {
  const auto number = [&](int i) {
    return argc > i ? static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10)) : 0;
  };
  if (number(1) == 0 || number(1) > eris::numa_lab::kActedMax || number(2) == 0) {
    std::fprintf(stderr, "usage: many_aeus_access NUMA_NODES AEUS_OF_EACH [--maps]\n");
    return 2;
  }
  return eris::numa_lab::Main(number(1), number(2), argc > 3);
}
