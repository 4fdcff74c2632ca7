// A peer of routing: one ring per pair of AEUs.
#ifndef ERIS_BENCH_ROUTING_RING_TRANSPORT_H_
#define ERIS_BENCH_ROUTING_RING_TRANSPORT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/routing/collector.h"
#include "bench/routing/command.h"
#include "bench/routing/ring_grid.h"
#include "bench/routing/shape.h"

namespace eris::bench {

// The rings, the table, and the reading side.
template <class Element>
class RingPeer {
 public:
  static constexpr bool kGenerated = true;

  explicit RingPeer(const Shape& shape)
      : shape_(shape),
        table_(EvenTable(shape.aeus)),
        grid_(shape, sizeof(Element), sizeof(Element) * shape.batch) {}
  double CommandsPerUnit() const { return 1; }

 protected:
  bool DrainInto(uint32_t self, Tally& received) {
    const uint64_t range = RangeOf(self);
    bool any = false;
    for (uint32_t source = 0; source < grid_.aeus(); ++source) {
      if (source == self) continue;
      SpscByteRing& ring = grid_.ring(source, self);
      // Twice: before and after the wrap.
      for (int piece = 0; piece < 2; ++piece) {
        const std::span<const std::byte> bytes = ring.Readable();
        if (bytes.empty()) break;
        const std::span elements(reinterpret_cast<const Element*>(bytes.data()),
                                 bytes.size() / sizeof(Element));
        for (const Element& element : elements) {
          received.Add(element.key(), element.value(), range);
        }
        received.bytes += bytes.size();
        ring.Consume(bytes.size());
        any = true;
      }
    }
    return any;
  }

  const Shape shape_;
  const std::unique_ptr<const routing::RangeTable> table_;
  RingGrid grid_;
};

// Commands are collected like ours and copied.
template <class Element>
class RingTransport : public RingPeer<Element> {
 public:
  using RingPeer<Element>::RingPeer;

  class Lane {
   public:
    Lane(RingTransport& all, uint32_t self)
        : self_(self),
          all_(all),
          collector_(all.shape_, self, *all.table_, Copy{&all.grid_, self}) {}
    uint32_t Send(uint32_t target, std::span<const uint64_t> keys, const uint64_t* values) {
      return collector_.Send(target, keys, values);
    }
    void SendMixed(std::span<const uint64_t> keys, const uint64_t* values,
                   std::vector<uint32_t>& refused) {
      collector_.SendMixed(keys, values, refused);
    }
    bool Flush() { return collector_.Flush(); }
    bool Drain(Tally& received) { return all_.DrainInto(self_, received); }

   private:
    struct Copy {
      RingGrid* grid;
      uint32_t self;
      bool operator()(uint32_t target, const Element* elements, uint32_t count) const {
        return CopyIntoRing(grid->ring(self, target), reinterpret_cast<const std::byte*>(elements),
                            count * sizeof(Element));
      }
    };
    const uint32_t self_;
    RingTransport& all_;
    Collector<Element, Copy> collector_;
  };
};

// Commands are written into the ring directly and published a batch at a time.
template <class Element>
class RingInPlaceTransport : public RingPeer<Element> {
 public:
  using RingPeer<Element>::RingPeer;

  class Lane {
   public:
    Lane(RingInPlaceTransport& all, uint32_t self)
        : self_(self), batch_(all.shape_.batch), all_(all), used_(all.shape_.aeus, 0) {}
    uint32_t Send(uint32_t target, std::span<const uint64_t> keys, const uint64_t* values) {
      for (uint32_t i = 0; i < keys.size(); ++i) {
        if (!Write(target, keys[i], values[i])) return i;
      }
      return static_cast<uint32_t>(keys.size());
    }
    void SendMixed(std::span<const uint64_t> keys, const uint64_t* values,
                   std::vector<uint32_t>& refused) {
      owners_.resize(keys.size());
      all_.table_->OwnersOf(keys, owners_);
      for (uint32_t i = 0; i < keys.size(); ++i) {
        if (!Write(owners_[i].value, keys[i], values[i])) refused.push_back(i);
      }
    }
    bool Flush() {
      for (uint32_t target = 0; target < used_.size(); ++target) {
        if (used_[target] != 0) Publish(target);
      }
      return true;
    }
    bool Drain(Tally& received) { return all_.DrainInto(self_, received); }

   private:
    bool Write(uint32_t target, uint64_t key, uint64_t value) {
      SpscByteRing& ring = all_.grid_.ring(self_, target);
      if (used_[target] == batch_) Publish(target);
      const std::span<std::byte> room = ring.Writable(sizeof(Element));
      if (room.empty()) {
        Publish(target);
        return false;
      }
      reinterpret_cast<Element*>(room.data())->Fill(key, value, self_);
      ring.Fill(sizeof(Element));
      ++used_[target];
      return true;
    }
    void Publish(uint32_t target) {
      all_.grid_.ring(self_, target).Publish();
      used_[target] = 0;
    }

    const uint32_t self_;
    const uint32_t batch_;
    RingInPlaceTransport& all_;
    std::vector<uint32_t> used_;
    std::vector<AeuId> owners_;
  };
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_RING_TRANSPORT_H_
