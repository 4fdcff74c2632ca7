// Measures one index structure. A structure is a class with
//
//   kOrdered, kBulkLoads, kReplaces   what it can do; the rest is not called
//   Structure(keys)                   reserves room for that many keys, if the structure can
//   Insert(keys, values, count, batch), Replace(the same)
//   Lookup(keys, count, batch) -> Found
//   Erase(keys, count, batch) -> how many were there
//   Scan(from, rows) -> Found         the next rows in order
//   ScanAll() -> Found                with `ascending`
//   Load(keys, values, count) -> ns   bulk load: a sorted run behind all others
//   ValueAt(key), size(), AddMemory(Json&)
//
// `batch` is the number of keys it gets at once; structures without batches ignore it. Every found
// value is compared with its key, in the same way for every structure.
#ifndef ERIS_BENCH_INDEX_STRUCTURE_LAB_H_
#define ERIS_BENCH_INDEX_STRUCTURE_LAB_H_

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "bench/index/probes.h"
#include "bench/index/side.h"
#include "bench/memory/process_memory.h"
#include "bench/routing/machine.h"

namespace eris::bench {

// The result of lookups or scans.
struct Found {
  uint64_t rows = 0;
  uint64_t differing = 0;  // bits in which values differ from those of their keys
  bool ascending = true;

  void Add(uint64_t key, uint64_t value) {
    ++rows;
    differing |= Differing(key, value);
  }
  void Add(const Found& other) {
    rows += other.rows;
    differing |= other.differing;
  }
};

template <class Structure>
class StructureLab final : public Side {
 public:
  explicit StructureLab(const SideOptions& options) : options_(options), space_(options.space) {}

  Json Ask(const Command& command) override {
    const std::string& name = command.name();
    if (name == "build") return Build(command.Is(1, "bulk"), command.Number(2));
    if (structure_ == nullptr) Die(name + " before build");
    if (name == "lookup") {
      return Lookup(command.Number(1), ProbesOf(command.Is(2, "zipf")), command.Number(3));
    }
    if (name == "mixed") {
      return Mixed(command.Number(1), ProbesOf(command.Is(2, "zipf")), command.Number(3));
    }
    if (name == "erase") return Erase(command.Number(1), command.Number(2));
    if (name == "two") return TwoThreads(command.Number(1), command.Number(2));
    if constexpr (Structure::kReplaces) {
      if (name == "replace") {
        return Replace(command.Number(1), ProbesOf(command.Is(2, "zipf")), command.Number(3));
      }
    }
    if constexpr (Structure::kOrdered) {
      if (name == "scan") return Scan(command.Number(1), command.Number(2));
      if (name == "scan_all") return ScanAll();
    }
    Die("this structure has no " + name);
  }

 private:
  // Keys and values of a block, made outside the measured time.
  struct Block {
    std::vector<uint64_t> keys = std::vector<uint64_t>(kBlockKeys);
    std::vector<uint64_t> values = std::vector<uint64_t>(kBlockKeys);
    void SetValues(uint64_t version) {
      for (size_t i = 0; i < keys.size(); ++i) values[i] = ValueOf(keys[i], version);
    }
  };

  Probes& ProbesOf(bool zipf) {
    std::optional<Probes>& probes = probes_[zipf];
    if (!probes) probes.emplace(space_, zipf, options_.seed);
    return *probes;
  }

  static uint64_t Timed(const auto& work) {
    const uint64_t begin_ns = NowNs();
    work();
    return NowNs() - begin_ns;
  }
  static double PerUs(uint64_t count, uint64_t ns) {
    return static_cast<double>(count) * 1e3 / static_cast<double>(ns);
  }
  // Runs blocks until `ms` of measured time are over; the first one is a warm-up. `prepare` runs
  // outside the measured time, `work` is measured. Returns millions per second, of the number that
  // `work` returns.
  static double Rate(uint64_t ms, const auto& prepare, const auto& work) {
    uint64_t done = 0, ns = 0;
    for (bool warm = false; ns < ms * 1'000'000; warm = true) {
      prepare();
      uint64_t now_done = 0;
      const uint64_t now_ns = Timed([&] { now_done = work(); });
      if (!warm) continue;
      done += now_done;
      ns += now_ns;
    }
    return PerUs(done, ns);
  }
  static void Verify(const Found& found, uint64_t wanted) {
    if (found.differing != 0) Die("a wrong value");
    if (found.rows != wanted) {
      Die(std::to_string(found.rows) + " found of " + std::to_string(wanted));
    }
    if (!found.ascending) Die("rows out of order");
  }
  void VerifySize() const {
    if (structure_->size() != space_.count) Die("keys are missing");
  }

  // All keys, in random order.
  uint64_t InsertAll(Structure& structure, uint64_t batch) const {
    Block block;
    uint64_t ns = 0;
    for (uint64_t i = 0; i < space_.count; i += kBlockKeys) {
      for (size_t j = 0; j < kBlockKeys; ++j) block.keys[j] = space_.Shuffled(i + j);
      block.SetValues(0);
      ns += Timed(
          [&] { structure.Insert(block.keys.data(), block.values.data(), kBlockKeys, batch); });
    }
    return ns;
  }
  uint64_t LoadAll(Structure& structure) const {
    const std::vector<uint64_t> sorted = space_.Sorted();
    Block block;
    uint64_t ns = 0;
    for (uint64_t i = 0; i < space_.count; i += kBlockKeys) {
      std::copy_n(&sorted[i], kBlockKeys, block.keys.data());
      block.SetValues(0);
      ns += structure.Load(block.keys.data(), block.values.data(), kBlockKeys);
    }
    return ns;
  }

  Json Build(bool bulk, uint64_t batch) {
    const ProcessMemory before = ProcessMemory::Now();
    structure_ = std::make_unique<Structure>(space_.count);
    uint64_t ns = 0;
    if constexpr (Structure::kBulkLoads) {
      ns = bulk ? LoadAll(*structure_) : InsertAll(*structure_, batch);
    } else {
      if (bulk) Die("this structure has no bulk load");
      ns = InsertAll(*structure_, batch);
    }
    VerifySize();
    const ProcessMemory after = ProcessMemory::Now();
    Json json;
    json.Add("keys", space_.count)
        .Add("mkeys_s", PerUs(space_.count, ns))
        .Add("anonymous", after.anonymous - before.anonymous)
        .Add("huge", after.huge - before.huge);
    structure_->AddMemory(json);
    return json;
  }

  static double LookupRate(Structure& structure, Probes& probes, uint64_t batch, uint64_t ms) {
    const uint64_t* keys = nullptr;
    Found all;
    uint64_t asked = 0;
    const double rate = Rate(
        ms, [&] { keys = probes.NextBlock(); },
        [&] {
          all.Add(structure.Lookup(keys, kBlockKeys, batch));
          asked += kBlockKeys;
          return kBlockKeys;
        });
    Verify(all, asked);
    return rate;
  }
  Json Lookup(uint64_t batch, Probes& probes, uint64_t ms) {
    return Json().Add("mkeys_s", LookupRate(*structure_, probes, batch, ms));
  }

  // Upserts of existing keys. The last block is read again to check the writes.
  Json Replace(uint64_t batch, Probes& probes, uint64_t ms) {
    Block block;
    version_ = (version_ + 1) % 256;
    const double rate = Rate(
        ms,
        [&] {
          std::copy_n(probes.NextBlock(), kBlockKeys, block.keys.data());
          block.SetValues(version_);
        },
        [&] {
          structure_->Replace(block.keys.data(), block.values.data(), kBlockKeys, batch);
          return kBlockKeys;
        });
    VerifySize();
    for (size_t i = 0; i < kBlockKeys; ++i) {
      if (structure_->ValueAt(block.keys[i]) != block.values[i]) Die("a lost write");
    }
    return Json().Add("mkeys_s", rate);
  }

  // Erases `count` keys and inserts them again: different ones in each call.
  Json Erase(uint64_t batch, uint64_t count) {
    Block block;
    uint64_t erase_ns = 0, insert_ns = 0;
    const uint64_t first = NextErased(count);
    for (const bool erase : {true, false}) {
      for (uint64_t i = 0; i < count; i += kBlockKeys) {
        for (size_t j = 0; j < kBlockKeys; ++j) block.keys[j] = ErasedKey(first + i + j);
        block.SetValues(0);
        uint64_t present = kBlockKeys;
        if (erase) {
          erase_ns +=
              Timed([&] { present = structure_->Erase(block.keys.data(), kBlockKeys, batch); });
        } else {
          insert_ns += Timed([&] {
            structure_->Insert(block.keys.data(), block.values.data(), kBlockKeys, batch);
          });
        }
        if (present != kBlockKeys) Die("a key to erase was not there");
      }
    }
    VerifySize();
    return Json()
        .Add("erase_mkeys_s", PerUs(count, erase_ns))
        .Add("insert_mkeys_s", PerUs(count, insert_ns));
  }
  // Not in the order of insertion, which may be the order in memory.
  uint64_t ErasedKey(uint64_t i) const {
    const uint64_t mask = space_.count - 1;
    return space_.Shuffled(PermutedAt((i + space_.count / 3) & mask, space_.count));
  }
  uint64_t NextErased(uint64_t count) {
    if (count > space_.count || count % kBlockKeys != 0) Die("erase whole blocks");
    const uint64_t first = erased_;
    erased_ = (erased_ + count) % space_.count;
    return first;
  }

  // Half lookups, a quarter erases, a quarter upserts that restore the erased keys; operations
  // alternate batch by batch.
  Json Mixed(uint64_t batch, Probes& probes, uint64_t ms) {
    Block moved;
    const uint64_t* keys = nullptr;
    Found all;
    uint64_t asked = 0, erased = 0, wanted = 0;
    const double rate = Rate(
        ms,
        [&] {
          keys = probes.NextBlock();
          const uint64_t first = NextErased(kBlockKeys);
          for (size_t j = 0; j < kBlockKeys; ++j) moved.keys[j] = ErasedKey(first + j);
          moved.SetValues(0);
        },
        [&] {
          for (size_t i = 0; i < kBlockKeys; i += batch) {
            // One half while the keys are erased: so some are not found.
            const size_t half = batch / 2;
            erased += structure_->Erase(&moved.keys[i], batch, batch);
            all.Add(structure_->Lookup(keys + i, half, batch));
            structure_->Insert(&moved.keys[i], &moved.values[i], batch, batch);
            all.Add(structure_->Lookup(keys + i + half, batch - half, batch));
            all.Add(structure_->Lookup(keys + i, batch, batch));
          }
          asked += 2 * kBlockKeys;
          wanted += kBlockKeys;
          return 4 * kBlockKeys;
        });
    VerifySize();
    if (erased != wanted) Die("a key to erase was not there");
    if (all.differing != 0 || all.rows > asked || all.rows < asked - asked / 4) {
      Die("wrong answers");
    }
    return Json().Add("mops_s", rate);
  }

  Json Scan(uint64_t rows, uint64_t ms) {
    constexpr size_t kScans = 1024;
    Probes& probes = ProbesOf(false);
    const uint64_t* starts = nullptr;
    Found all;
    uint64_t scans = 0;
    const double rate = Rate(
        ms, [&] { starts = probes.NextBlock(); },
        [&] {
          for (size_t i = 0; i < kScans; ++i) all.Add(structure_->Scan(starts[i], rows));
          scans += kScans;
          return kScans;
        });
    // A few scans begin near the end.
    if (all.rows < scans * rows * 99 / 100) Die("rows are missing");
    Verify(all, all.rows);
    return Json().Add("kscans_s", rate * 1e3).Add("mrows_s", rate * static_cast<double>(rows));
  }
  Json ScanAll() {
    Found all;
    const uint64_t ns = Timed([&] { all = structure_->ScanAll(); });
    Verify(all, space_.count);
    return Json().Add("mrows_s", PerUs(all.rows, ns)).Add("gb_s", PerUs(all.rows, ns) * 16 / 1e3);
  }

  // Two threads on two cpus, each with its own structure: first one after the other, then in
  // parallel.
  Json TwoThreads(uint64_t batch, uint64_t ms) {
    if (options_.cpus.size() < 2) Die("two threads want two cpus");
    if (second_ == nullptr) {
      second_ = std::make_unique<Structure>(space_.count);
      InsertAll(*second_, batch);
      second_probes_.emplace(space_, false, options_.seed + 1);
    }
    std::barrier side_by_side(2);
    double second_alone = 0, second = 0;
    const double first_alone = LookupRate(*structure_, ProbesOf(false), batch, ms);
    std::thread thread([&] {
      PinTo(options_.cpus[1]);
      second_alone = LookupRate(*second_, *second_probes_, batch, ms);
      side_by_side.arrive_and_wait();
      second = LookupRate(*second_, *second_probes_, batch, ms);
    });
    side_by_side.arrive_and_wait();
    const double first = LookupRate(*structure_, ProbesOf(false), batch, ms);
    thread.join();
    return Json()
        .Add("one_mkeys_s", (first_alone + second_alone) / 2)
        .Add("two_mkeys_s", first + second);
  }

  const SideOptions options_;
  const KeySpace space_;
  std::unique_ptr<Structure> structure_;
  std::unique_ptr<Structure> second_;
  std::optional<Probes> probes_[2];  // uniform, Zipf
  std::optional<Probes> second_probes_;
  uint64_t version_ = 0;
  uint64_t erased_ = 0;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_INDEX_STRUCTURE_LAB_H_
