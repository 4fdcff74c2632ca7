// What shared_index_lab compares: the engine and the tree that all threads share, and the keys that
// they are asked for. Each thread has a Source of its own; structures: any thread.
#ifndef ERIS_BENCH_SHARED_INDEX_STRUCTURES_H_
#define ERIS_BENCH_SHARED_INDEX_STRUCTURES_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/index/probes.h"
#include "bench/must.h"
#include "bench/routing/machine.h"
#include "bench/shared/shared_memory.h"
#include "bench/shared/shared_tree.h"
#include "clients/load/zipf.h"
#include "eris/engine.h"

namespace eris::bench {

struct Flags {
  KeySpace space{.count = 1 << 26, .sparse = true};
  uint32_t threads = 0;
  std::string placement = "interleaved";
  std::vector<std::string> structures = {"eris", "shared", "shared_batched"};
  uint32_t rounds = 3;
  double rewrite_s = 2;
  double lookup_s = 3;
  double zipf_s = 0;
  double settle_s = 3;  // of lookups by Zipf's law, before those that count; only of the engine
  double ask_s = 0;
  uint32_t in_flight = 16;
  uint32_t batch = 1024;
  uint32_t seed = 1;
  std::string json;
  // This process has the part-th of `parts` equal parts of the keys, by number.
  uint32_t part = 0;
  uint32_t parts = 1;
};

inline constexpr char kKeys[] = "keys";

// Which operation a phase repeats, and with which keys. kZipf: lookups by Zipf's law, the lowest
// key most often. kAsk: lookups that AEUs send to each other.
enum class Phase { kInsert, kRewrite, kLookup, kZipf, kAsk };

// The batches of one thread, made on demand: of the numbers [first, first + width), the process's
// part of the keys. By Zipf's law each process draws from all keys and keeps its own.
class Source {
 public:
  Source(const Flags& flags, Phase phase, uint32_t thread, const load::Zipf& zipf)
      : space_(flags.space),
        first_(space_.count / flags.parts * flags.part),
        width_((flags.part + 1 == flags.parts ? space_.count
                                              : space_.count / flags.parts * (flags.part + 1)) -
               first_),
        order_(std::bit_ceil(width_)),
        phase_(phase),
        zipf_(zipf),
        begin_(phase == Phase::kInsert
                   ? Share(flags, thread)
                   : Mix(flags.seed) + (uint64_t{flags.part * flags.threads + thread} << 40) +
                         (uint64_t{phase != Phase::kRewrite} << 60)),
        next_(begin_),
        end_(phase == Phase::kInsert ? Share(flags, thread + 1) : ~uint64_t{0}),
        per_draw_(phase == Phase::kLookup || phase == Phase::kRewrite ? flags.parts : 1) {}

  uint64_t first() const { return first_; }
  uint64_t width() const { return width_; }
  // The lookups or rewrites of all processes that this one has done its part of.
  uint64_t drawn() const { return (next_ - begin_) * per_draw_; }

  // Fills `keys`; returns their number, 0: no more.
  size_t Next(std::vector<uint64_t>& keys) {
    if (phase_ != Phase::kInsert && phase_ != Phase::kZipf) {
      for (size_t i = 0; i < keys.size(); ++i) {
        keys[i] = space_.KeyOfRank(first_ + WalkAt(next_ + i, width_));
      }
      next_ += keys.size();
      return keys.size();
    }
    size_t count = 0;
    for (; count < keys.size() && next_ < end_; ++next_) {
      const uint64_t number =
          phase_ == Phase::kInsert ? PermutedAt(next_, order_) : zipf_.Rank(Mix(next_)) - first_;
      if (number < width_) keys[count++] = space_.KeyOfRank(first_ + number);
    }
    return count;
  }
  // The values to store: different ones for inserts and rewrites.
  void Values(const uint64_t* keys, size_t count, std::vector<uint64_t>& values) const {
    for (size_t i = 0; i < count; ++i) values[i] = ValueOf(keys[i], phase_ == Phase::kRewrite);
  }

 private:
  // The thread's first step through the order of insertion.
  uint64_t Share(const Flags& flags, uint32_t thread) const {
    return order_ / flags.threads * thread + std::min<uint64_t>(thread, order_ % flags.threads);
  }
  const KeySpace space_;
  const uint64_t first_;
  const uint64_t width_;
  const uint64_t order_;  // a power of two
  const Phase phase_;
  const load::Zipf zipf_;
  const uint64_t begin_;
  uint64_t next_;
  const uint64_t end_;
  const uint64_t per_draw_;
};

[[noreturn]] inline void DieOfWrongAnswer(const char* what) { Die(what); }

inline void Check(const uint64_t* keys, const uint64_t* values, size_t found, size_t count) {
  uint64_t differing = 0;
  for (size_t i = 0; i < count; ++i) differing |= Differing(keys[i], values[i]);
  if (found != count) DieOfWrongAnswer("a key is missing");
  if (differing != 0) DieOfWrongAnswer("a wrong value");
}

// The measured work: one thread's part of a phase, until the source ends or `until_ns`; returns the
// number of processed keys.
class Structure {
 public:
  virtual ~Structure() = default;
  virtual uint64_t Work(uint32_t thread, Phase phase, Source& source, uint64_t until_ns) = 0;
  // REQUIRES: no thread is working.
  virtual uint64_t CountKeys() = 0;
};

class SharedStructure : public Structure {
 public:
  SharedStructure(const Flags& flags, bool batched)
      : flags_(flags),
        batched_(batched),
        memory_(flags.placement == "interleaved" ? SharedPlacement::kInterleaved
                : flags.placement == "single"    ? SharedPlacement::kSingle
                                                 : SharedPlacement::kFirstTouch,
                uint64_t{1} << 44),
        tree_(memory_.manager()) {}

  uint64_t Work(uint32_t, Phase phase, Source& source, uint64_t until_ns) override {
    SharedTree::Thread thread(tree_);
    std::vector<uint64_t> keys(flags_.batch), values(flags_.batch);
    const auto found = std::make_unique<bool[]>(flags_.batch);
    uint64_t done = 0;
    size_t count;
    while ((count = source.Next(keys)) > 0) {
      if (phase == Phase::kLookup || phase == Phase::kZipf) {
        if (batched_) {
          thread.Lookup(keys.data(), count, values.data(), found.get());
        } else {
          for (size_t i = 0; i < count; ++i) {
            const std::optional<uint64_t> value = thread.Lookup(keys[i]);
            found[i] = value.has_value();
            values[i] = value.value_or(0);
          }
        }
        Check(keys.data(), values.data(), std::count(&found[0], &found[count], true), count);
      } else {
        source.Values(keys.data(), count, values);
        Store(thread, keys, values, count, phase == Phase::kInsert);
      }
      done += count;
      if (NowNs() >= until_ns) break;
    }
    return done;
  }
  uint64_t CountKeys() override { return tree_.CountKeys(); }

 private:
  void Store(SharedTree::Thread& thread, const std::vector<uint64_t>& keys,
             const std::vector<uint64_t>& values, size_t count, bool inserts) {
    size_t inserted = 0;
    if (batched_) {
      const std::optional<size_t> added = thread.Upsert(keys.data(), values.data(), count);
      if (!added) Die("no memory");
      inserted = *added;
    } else {
      for (size_t i = 0; i < count; ++i) {
        const UpsertResult result = thread.Upsert(keys[i], values[i]);
        if (result == UpsertResult::kNoMemory) Die("no memory");
        inserted += result == UpsertResult::kInserted;
      }
    }
    if (inserted != (inserts ? count : 0)) DieOfWrongAnswer("a key was there, or was not");
  }

  const Flags& flags_;
  const bool batched_;
  SharedMemory memory_;
  SharedTree tree_;
};

class ErisStructure : public Structure {
 public:
  explicit ErisStructure(const Flags& flags) : flags_(flags) {
    Options options;
    options.aeu_count = flags.threads;
    options.huge_pages = HugePages::kAdvised;  // like the shared tree
    engine_ = Must(Engine::Open(options));
    CreateOptions create;
    if (!flags.space.sparse) create.expected = {0, flags.space.count};
    Must(engine_->Create(kKeys, create));
    object_ = Must(engine_->NewSession()->Open(kKeys));
  }

  // Before kAsk: an index of random existing keys, which the AEUs will look up, in equal
  // parts on each. REQUIRES: all keys are there.
  void PrepareAsking() {
    const uint64_t rows = std::min(flags_.space.count, kAskingRowsMax);
    Must(engine_->Create(kAsking, {.expected = {0, rows}}));
    const auto session = engine_->NewSession();
    asking_ = Must(session->Open(kAsking));
    std::vector<uint64_t> keys(kFillBatch), values(kFillBatch);
    for (uint64_t row = 0; row < rows; row += kFillBatch) {
      const size_t count = std::min<uint64_t>(kFillBatch, rows - row);
      for (size_t i = 0; i < count; ++i) {
        keys[i] = row + i;
        values[i] = flags_.space.KeyOfRank(WalkAt(Mix(flags_.seed) + row + i, flags_.space.count));
      }
      Must(session->Upsert(asking_, {keys.data(), count}, {values.data(), count}));
    }
    asking_rows_ = rows;
  }

  uint64_t Work(uint32_t, Phase phase, Source& source, uint64_t until_ns) override {
    if (phase == Phase::kAsk) return Ask(until_ns);
    const std::unique_ptr<Session> session = engine_->NewSession();
    // A call's keys must stay until it is answered.
    std::vector<Call> calls(flags_.in_flight);
    for (Call& call : calls) call.keys.resize(flags_.batch);
    std::vector<uint64_t> values(flags_.batch);
    uint64_t done = 0;
    for (size_t at = 0;; at = (at + 1) % calls.size()) {
      Call& call = calls[at];
      // Acquire: pairs with the release in Answered.
      call.under_way.wait(true, std::memory_order_acquire);
      if (NowNs() >= until_ns) break;
      call.count = source.Next(call.keys);
      if (call.count == 0) break;
      call.under_way.store(true, std::memory_order_relaxed);  // the request publishes it
      const absl::Span<const uint64_t> keys(call.keys.data(), call.count);
      if (phase == Phase::kLookup || phase == Phase::kZipf) {
        Must(session->LookupAsync(object_, keys, [&call](const BatchResult& result) {
          CheckFound(call, result);
          Answered(call);
        }));
      } else {
        source.Values(call.keys.data(), call.count, values);
        const bool inserts = phase == Phase::kInsert;
        Must(session->UpsertAsync(object_, keys, {values.data(), call.count},
                                  [&call, inserts](const BatchResult& result) {
                                    CheckStored(call, result, inserts);
                                    Answered(call);
                                  }));
      }
      done += call.count;
    }
    for (Call& call : calls) call.under_way.wait(true, std::memory_order_acquire);
    return done;
  }
  uint64_t CountKeys() override { return engine_->Describe(kKeys)->keys; }

 private:
  struct Call {
    std::vector<uint64_t> keys;
    size_t count = 0;
    std::atomic<bool> under_way{false};
  };
  static void Answered(Call& call) {
    call.under_way.store(false, std::memory_order_release);
    call.under_way.notify_one();
  }
  static size_t BitsOf(const std::string& bits) {
    size_t count = 0;
    for (const char byte : bits) count += __builtin_popcount(static_cast<unsigned char>(byte));
    return count;
  }
  // Whole passes over the asking keys.
  uint64_t Ask(uint64_t until_ns) {
    const auto session = engine_->NewSession();
    uint64_t done = 0;
    while (NowNs() < until_ns) {
      const auto join = Must(session->OpenJoin(asking_, object_, {}));
      uint64_t rows = 0;
      while (const auto chunk = Must(join->Next())) {
        const absl::Span<const uint64_t> values = chunk->Uint64s(2);
        Check(chunk->Uint64s(1).data(), values.data(), values.size(), values.size());
        rows += values.size();
      }
      if (rows != asking_rows_) DieOfWrongAnswer("a key is missing");
      done += rows;
    }
    return done;
  }
  static void CheckFound(const Call& call, const BatchResult& result) {
    Must(result.status);
    // A string's characters are aligned like any block of memory.
    Check(call.keys.data(), reinterpret_cast<const uint64_t*>(result.columns[0].values.data()),
          BitsOf(result.existed), call.count);
  }
  static void CheckStored(const Call& call, const BatchResult& result, bool inserts) {
    Must(result.status);
    if (BitsOf(result.existed) != (inserts ? 0 : call.count)) {
      DieOfWrongAnswer("a key was there, or was not");
    }
  }

  static constexpr char kAsking[] = "asking";
  static constexpr uint64_t kAskingRowsMax = 1 << 24;
  static constexpr size_t kFillBatch = 65536;

  const Flags& flags_;
  std::unique_ptr<Engine> engine_;
  Object object_;
  Object asking_;
  uint64_t asking_rows_ = 0;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_SHARED_INDEX_STRUCTURES_H_
