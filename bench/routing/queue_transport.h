// A peer of routing: moodycamel::ConcurrentQueue, one queue per receiver.
#ifndef ERIS_BENCH_ROUTING_QUEUE_TRANSPORT_H_
#define ERIS_BENCH_ROUTING_QUEUE_TRANSPORT_H_

#include <concurrentqueue/concurrentqueue.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bench/routing/collector.h"
#include "bench/routing/command.h"
#include "bench/routing/huge_buffer.h"
#include "bench/routing/shape.h"

namespace eris::bench {

// moodycamel's defaults, except the block size, and huge pages for the initial blocks.
template <size_t kBlockElements>
struct QueueTraits : moodycamel::ConcurrentQueueDefaultTraits {
  static constexpr size_t BLOCK_SIZE = kBlockElements;
  static void* malloc(size_t bytes) {
    if (bytes < kHugeBytesMin) return std::malloc(bytes);
    auto buffer = std::make_unique<HugeBuffer>(bytes);
    std::byte* memory = buffer->data();
    const std::lock_guard lock(Mutex());
    Large().push_back(std::move(buffer));
    return memory;
  }
  static void free(void* memory) {
    {
      const std::lock_guard lock(Mutex());
      auto& large = Large();
      const auto found = std::find_if(large.begin(), large.end(),
                                      [&](const auto& one) { return one->data() == memory; });
      if (found != large.end()) {
        large.erase(found);
        return;
      }
    }
    std::free(memory);
  }

 private:
  static constexpr size_t kHugeBytesMin = size_t{256} << 10;
  static std::mutex& Mutex() {
    static std::mutex mutex;
    return mutex;
  }
  static std::vector<std::unique_ptr<HugeBuffer>>& Large() {
    static std::vector<std::unique_ptr<HugeBuffer>> large;
    return large;
  }
};

// Bulk operations with tokens. Collected in an array per target like our commands.
template <class Element, size_t kBlockElements>
class QueueTransport {
 public:
  static constexpr bool kGenerated = true;
  using Queue = moodycamel::ConcurrentQueue<Element, QueueTraits<kBlockElements>>;

  explicit QueueTransport(const Shape& shape)
      : shape_(shape),
        table_(EvenTable(shape.aeus)),
        elements_max_(std::max<size_t>(2 * shape.incoming_bytes / sizeof(Element),
                                       2 * size_t{shape.batch} * (shape.aeus - 1))) {
    for (uint32_t i = 0; i < shape.aeus; ++i) {
      queues_.push_back(std::make_unique<Queue>(elements_max_, shape.aeus, 0));
    }
  }
  double CommandsPerUnit() const { return 1; }

  class Lane {
   public:
    Lane(QueueTransport& all, uint32_t self)
        : range_(RangeOf(self)),
          others_(all.shape_.aeus - 1),
          elements_max_(all.elements_max_),
          queues_(all.queues_),
          incoming_(*all.queues_[self]),
          consumer_(incoming_),
          room_(all.shape_.aeus, 0),
          // A reader's bulk may be larger than a writer's.
          read_(std::max(all.shape_.batch, kReadElementsMin)),
          collector_(all.shape_, self, *all.table_, Copy{this}) {
      for (uint32_t i = 0; i < all.shape_.aeus; ++i) {
        producers_.emplace_back();
        if (i != self) producers_.back().emplace(*queues_[i]);  // nobody looks into idle ones
      }
    }

    uint32_t Send(uint32_t target, std::span<const uint64_t> keys, const uint64_t* values) {
      return collector_.Send(target, keys, values);
    }
    void SendMixed(std::span<const uint64_t> keys, const uint64_t* values,
                   std::vector<uint32_t>& refused) {
      collector_.SendMixed(keys, values, refused);
    }
    bool Flush() { return collector_.Flush(); }
    bool Drain(Tally& received) {
      // At most a queue full at a time, like the other transports.
      size_t total = 0;
      while (total < kDrainElementsMax) {
        const size_t count = incoming_.try_dequeue_bulk(consumer_, read_.begin(), read_.size());
        if (count == 0) break;
        for (size_t i = 0; i < count; ++i) {
          received.Add(read_[i].key(), read_[i].value(), range_);
        }
        total += count;
      }
      received.bytes += total * sizeof(Element);
      return total != 0;
    }

   private:
    static constexpr uint32_t kReadElementsMin = 256;
    static constexpr size_t kDrainElementsMax = 32768;
    // The queue itself has no limit, and a bounded one starves a producer, because blocks stay with
    // the producer that had them first. So its size is limited here; it is checked rarely.
    struct Copy {
      Lane* lane;
      bool operator()(uint32_t target, const Element* elements, uint32_t count) const {
        Queue& queue = *lane->queues_[target];
        size_t& room = lane->room_[target];
        if (room < count) {
          const size_t size = queue.size_approx();
          room = size < lane->elements_max_ ? (lane->elements_max_ - size) / lane->others_ : 0;
          if (room < count) return false;
        }
        room -= count;
        return queue.enqueue_bulk(*lane->producers_[target], elements, count);
      }
    };

    const uint64_t range_;
    const uint32_t others_;
    const size_t elements_max_;
    std::vector<std::unique_ptr<Queue>>& queues_;
    Queue& incoming_;
    moodycamel::ConsumerToken consumer_;
    std::vector<std::optional<moodycamel::ProducerToken>> producers_;
    std::vector<size_t> room_;  // elements that may be written before the size is checked again
    std::vector<Element> read_;
    Collector<Element, Copy> collector_;
  };

 private:
  const Shape shape_;
  const std::unique_ptr<const routing::RangeTable> table_;
  const size_t elements_max_;  // in a queue, about
  std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_QUEUE_TRANSPORT_H_
