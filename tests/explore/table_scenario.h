// One publisher supersedes partition tables while Ports read them through their slots: no version
// is freed before the last read of it, and a reader never goes back to an older one.
#ifndef ERIS_TESTS_EXPLORE_TABLE_SCENARIO_H_
#define ERIS_TESTS_EXPLORE_TABLE_SCENARIO_H_

#include <cstdint>
#include <memory>
#include <string>

#include "routing/ranges/published_table.h"
#include "routing/ranges/table_reader.h"
#include "tests/explore/explorer.h"

namespace eris::explore {

// Thread 1 publishes, 2 .. readers + 1 read. Only one thread ever takes the mutexes: they are real.
class TableScenario : public Scenario {
 public:
  // versions: published of each object, after the first. A reader takes the objects in turn (its
  // slot shows one version at a time), `reads` times, and lets go after every `release_every`th.
  TableScenario(uint32_t readers, uint32_t objects, uint32_t versions, uint32_t reads,
                uint32_t release_every)
      : readers_(readers),
        objects_(objects),
        versions_(versions),
        reads_(reads),
        release_every_(release_every) {
    for (uint32_t i = 0; i < readers_; ++i) registry_.Add(&slots_[i]);
  }
  ~TableScenario() override {
    for (uint32_t i = 0; i < readers_; ++i) registry_.Remove(&slots_[i]);
  }

  void Run(uint32_t thread) override {
    if (thread == 1) {
      for (uint32_t i = 0; i < versions_ * objects_; ++i) {
        tables_[i % objects_].Publish(std::make_unique<Table>(2 + i / objects_), registry_);
      }
      return;
    }
    Slot& slot = slots_[thread - 2];
    uint64_t seen[2] = {};
    for (uint32_t i = 0; i < reads_; ++i) {
      const uint32_t object = i % objects_;
      const Table& table = slot.Acquire(tables_[object]);
      // The version stays readable until the next call: others move here.
      static_cast<void>(slot.Shows());
      const uint64_t version = table.version();
      if (version < seen[object]) Fail("back to version " + std::to_string(version));
      seen[object] = version;
      if ((i + 1) % release_every_ == 0) slot.Release();
    }
  }
  void Finish() override {
    for (uint32_t i = 0; i < objects_; ++i) {
      if (tables_[i].versions() > 1 + readers_) Fail("more versions than readers can hold");
    }
  }

 private:
  class Table {
   public:
    explicit Table(uint64_t version) : version_(version) {
      ModelMemory::WillWrite(&version_, sizeof version_);
    }
    uint64_t version() const {
      ModelMemory::WillRead(&version_, sizeof version_);
      return version_;
    }

   private:
    const uint64_t version_;
  };
  using Slot = routing::BasicTableReader<ModelMemory>;
  using Published = routing::BasicPublishedTable<Table, ModelMemory>;

  const uint32_t readers_;
  const uint32_t objects_;
  const uint32_t versions_;
  const uint32_t reads_;
  const uint32_t release_every_;
  Slot slots_[3];
  routing::BasicTableReaders<ModelMemory> registry_;
  Published tables_[2] = {Published(std::make_unique<Table>(1)),
                          Published(std::make_unique<Table>(1))};
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_TABLE_SCENARIO_H_
