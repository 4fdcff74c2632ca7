// Blocks that other AEUs free on their way home, as memory/local_cache.cc and aeu/aeu.cc do it: in
// carriers that come back, or alone where none is left; the owner is told when one of its bins was
// empty, and may sleep. Every block comes home once, with nobody still writing to it, although
// nothing is freed after it; a carrier is never in two places.
#ifndef ERIS_TESTS_EXPLORE_RECOLLECTION_SCENARIO_H_
#define ERIS_TESTS_EXPLORE_RECOLLECTION_SCENARIO_H_

#include <array>
#include <cstdint>
#include <string>

#include "aeu/recollection.h"
#include "memory/recollection_bin.h"
#include "routing/waker.h"
#include "tests/explore/explorer.h"

namespace eris::explore {

struct RecollectionPlan {
  uint32_t freers = 1;
  uint32_t blocks = 2;       // that each frees
  uint32_t bins = 1;         // of the one owner: of an AEU with so many objects
  uint32_t carriers = 1;     // that each freer may have under way; 0: every block goes alone
  uint32_t in_carrier = 1;   // blocks in a full one
  bool owner_looks = false;  // also without having been told, as at the memory limit
};

// Threads 1 .. freers free blocks, the one after them is their owner.
template <class Listener = aeu::BasicRecollection<ModelMemory>,
          class Bin = memory::BasicRecollectionBin<ModelMemory>>
class RecollectionScenario : public Scenario {
 public:
  explicit RecollectionScenario(const RecollectionPlan& plan) : plan_(plan) {
    for (uint32_t i = 0; i < plan_.freers * plan_.blocks; ++i) blocks_[i] = new FreedBlock;
  }
  ~RecollectionScenario() override {
    for (FreedBlock* block : blocks_) delete block;
    for (Freer& freer : freers_) {
      for (Carrier* carrier : freer.carriers) delete carrier;
    }
  }

  void Run(uint32_t thread) override {
    if (thread <= plan_.freers) {
      Free(thread - 1);
    } else {
      Own();
    }
  }
  void Finish() override {
    for (Bin& bin : bins_) {
      if (bin.TakeAll() != nullptr) Fail("something is left in a bin");
    }
    uint32_t whole = 0;
    for (Freer& freer : freers_) {
      for (auto* one = TakeFree(freer); one != nullptr; one = TakeFree(freer)) ++whole;
      whole -= freer.made;
    }
    if (whole != 0) Fail("a carrier has not come back");
  }

 private:
  static constexpr uint32_t kFreersMax = 3;
  static constexpr uint32_t kBinsMax = 2;
  static constexpr uint32_t kBlocksMax = 8;
  static constexpr uint32_t kCarriersMax = 2;
  static constexpr uint32_t kInCarrierMax = 2;

  // A block of the smallest class: there is nothing of it beside the batch.
  using FreedBlock = memory::ReturnBatch;
  struct Carrier : memory::ReturnBatch {
    uint32_t home = 0;
    std::array<FreedBlock*, kInCarrierMax> blocks{};
  };
  struct Freer {
    Bin returned;
    Carrier* free = nullptr;
    uint32_t made = 0;
    std::array<Carrier*, kCarriersMax> carriers{};
    std::array<Carrier*, kBinsMax> outgoing{};  // being filled
  };

  void Free(uint32_t me) {
    Freer& freer = freers_[me];
    for (uint32_t i = 0; i < plan_.blocks; ++i) {
      FreedBlock* block = blocks_[me * plan_.blocks + i];
      ModelMemory::WillWrite(block, sizeof *block);  // the last use of what was in it
      const uint32_t bin = i % plan_.bins;
      Carrier*& carrier = freer.outgoing[bin];
      if (carrier == nullptr) carrier = TakeCarrier(freer, me);
      if (carrier == nullptr) {
        block->count = 0;
        Push(bin, block);
        continue;
      }
      ModelMemory::WillWrite(carrier, sizeof *carrier);
      carrier->blocks[carrier->count++] = block;
      if (carrier->count == plan_.in_carrier) Send(bin, carrier);
    }
    for (uint32_t bin = 0; bin < plan_.bins; ++bin) {  // the end of its turn
      if (freer.outgoing[bin] != nullptr) Send(bin, freer.outgoing[bin]);
    }
  }
  void Send(uint32_t bin, Carrier*& carrier) {
    Carrier* const sent = carrier;
    carrier = nullptr;
    Push(bin, sent);
  }
  void Push(uint32_t bin, memory::ReturnBatch* batch) {
    if (bins_[bin].Push(batch)) listener_.BinFilled();
  }
  Carrier* TakeFree(Freer& freer) {
    if (freer.free == nullptr) freer.free = static_cast<Carrier*>(freer.returned.TakeAll());
    Carrier* const carrier = freer.free;
    if (carrier != nullptr) freer.free = static_cast<Carrier*>(NextOf(*carrier));
    return carrier;
  }
  Carrier* TakeCarrier(Freer& freer, uint32_t me) {
    Carrier* carrier = TakeFree(freer);
    if (carrier == nullptr && freer.made < plan_.carriers) {
      carrier = freer.carriers[freer.made++] = new Carrier;
      carrier->home = me;
    }
    if (carrier != nullptr) carrier->count = 0;
    return carrier;
  }
  static memory::ReturnBatch* NextOf(const memory::ReturnBatch& batch) {
    ModelMemory::WillRead(&batch, sizeof batch);
    return batch.next;
  }

  void Own() {
    uint32_t home = plan_.owner_looks ? Collect() : 0;
    while (home < plan_.freers * plan_.blocks) {
      if (listener_.Take()) {
        const uint32_t more = Collect();
        home += more;
        if (more > 0) continue;
      }
      waker_.PrepareToSleep();
      if (listener_.Waits()) {
        waker_.CancelSleep();
        GiveWay();
      } else {
        waker_.Sleep();
      }
    }
  }
  uint32_t Collect() {
    uint32_t home = 0;
    for (uint32_t bin = 0; bin < plan_.bins; ++bin) {
      for (memory::ReturnBatch* batch = bins_[bin].TakeAll(); batch != nullptr;) {
        memory::ReturnBatch* const next = NextOf(*batch);
        if (batch->count == 0) {
          ComeHome(batch);
          ++home;
        } else {
          auto* carrier = static_cast<Carrier*>(batch);
          ModelMemory::WillRead(carrier, sizeof *carrier);
          for (uint32_t i = 0; i < carrier->count; ++i) ComeHome(carrier->blocks[i]);
          home += static_cast<uint32_t>(carrier->count);
          freers_[carrier->home].returned.Push(carrier);
        }
        batch = next;
      }
    }
    return home;
  }
  // It may be handed out again at once.
  void ComeHome(FreedBlock* block) {
    ModelMemory::WillWrite(block, sizeof *block);
    for (FreedBlock*& one : blocks_) {
      if (one != block) continue;
      delete one;
      one = nullptr;
      return;
    }
    Fail("a block has come home twice");
  }

  const RecollectionPlan plan_;
  std::array<FreedBlock*, kBlocksMax> blocks_{};  // the owner's entry is gone when it is home
  std::array<Freer, kFreersMax> freers_;
  std::array<Bin, kBinsMax> bins_;
  routing::BasicWaker<ModelMemory> waker_;
  Listener listener_{waker_};
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_RECOLLECTION_SCENARIO_H_
