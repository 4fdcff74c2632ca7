// A peer of the routing: moodycamel::ConcurrentQueue, one queue per receiver.
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
#include <utility>
#include <vector>

#include "bench/routing/command.h"
#include "bench/routing/huge_buffer.h"
#include "bench/routing/shape.h"

namespace eris::bench {

// moodycamel's defaults but for the block size and huge pages for the blocks it begins with.
template <size_t kBlockRecords>
struct QueueTraits : moodycamel::ConcurrentQueueDefaultTraits {
  static constexpr size_t BLOCK_SIZE = kBlockRecords;
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

// Bulk operations with tokens. Collected in an array per target as
// our commands are.
template <size_t kSegmentBytes, size_t kBlockRecords>
class QueueTransport {
 public:
  static constexpr bool kChecked = true;
  using R = Record<kSegmentBytes>;
  using Queue = moodycamel::ConcurrentQueue<R, QueueTraits<kBlockRecords>>;

  explicit QueueTransport(const Shape& shape)
      : shape_(shape),
        records_max_(std::max<size_t>(2 * shape.incoming_bytes / sizeof(R),
                                      2 * size_t{shape.batch} * (shape.aeus - 1))) {
    for (uint32_t i = 0; i < shape.aeus; ++i) {
      queues_.push_back(std::make_unique<Queue>(records_max_, shape.aeus, 0));
    }
  }

  class Lane {
   public:
    Lane(QueueTransport& all, uint32_t self)
        : self_(self),
          batch_(all.shape_.batch),
          records_max_(all.records_max_),
          queues_(all.queues_),
          incoming_(*all.queues_[self]),
          consumer_(incoming_),
          // A reader's bulk need not be as small as a writer's.
          read_(std::max(batch_, kReadRecordsMin)) {
      for (uint32_t i = 0; i < all.shape_.aeus; ++i) {
        producers_.emplace_back();
        if (i != self_) producers_.back().emplace(*queues_[i]);  // nobody looks into idle ones
        collected_.emplace_back(batch_);
        used_.push_back(0);
        room_.push_back(0);
      }
    }

    uint32_t Produce(uint32_t target, uint64_t first, uint32_t count, Tally& sent) {
      std::vector<R>& collected = collected_[target];
      uint32_t used = used_[target];
      uint32_t i = 0;
      for (; i < count; ++i) {
        if (used == batch_) {
          if (!Copy(target, used)) break;
          used = 0;
        }
        R& record = collected[used++];
        record.header = HeaderOf(sizeof(R), self_);
        FillSegment(record.segment, R::kSegmentWords, first + i);
        sent.Add(first + i, ~(first + i));
      }
      used_[target] = used;
      return i;
    }
    bool Flush() {
      bool all = true;
      for (uint32_t target = 0; target < used_.size(); ++target) {
        if (used_[target] == 0) continue;
        if (Copy(target, used_[target])) {
          used_[target] = 0;
        } else {
          all = false;
        }
      }
      return all;
    }
    bool Drain(Tally& received) {
      // At most a queue full at a time, as the others.
      size_t total = 0;
      while (total < kDrainRecordsMax) {
        const size_t count = incoming_.try_dequeue_bulk(consumer_, read_.begin(), read_.size());
        if (count == 0) break;
        for (size_t i = 0; i < count; ++i) {
          received.Add(read_[i].segment[0], read_[i].segment[R::kSegmentWords - 1]);
        }
        total += count;
      }
      return total != 0;
    }

   private:
    static constexpr uint32_t kReadRecordsMin = 256;
    static constexpr size_t kDrainRecordsMax = 32768;
    // The queue itself knows no bound, and a bounded one starves a producer: blocks stay with the
    // producer that had them first. So its size is bounded here; it is looked at seldom.
    bool Copy(uint32_t target, uint32_t count) {
      if (room_[target] < count) {
        const size_t size = queues_[target]->size_approx();
        room_[target] = size < records_max_ ? (records_max_ - size) / (used_.size() - 1) : 0;
        if (room_[target] < count) return false;
      }
      room_[target] -= count;
      return queues_[target]->enqueue_bulk(*producers_[target], collected_[target].begin(), count);
    }

    const uint32_t self_;
    const uint32_t batch_;
    const size_t records_max_;
    std::vector<std::unique_ptr<Queue>>& queues_;
    Queue& incoming_;
    moodycamel::ConsumerToken consumer_;
    std::vector<std::optional<moodycamel::ProducerToken>> producers_;
    std::vector<std::vector<R>> collected_;
    std::vector<uint32_t> used_;
    std::vector<size_t> room_;  // records that may be written before the size is looked at again
    std::vector<R> read_;
  };

 private:
  const Shape shape_;
  const size_t records_max_;  // in a queue, about
  std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_QUEUE_TRANSPORT_H_
