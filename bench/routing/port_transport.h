// Commands by the real way: a Port for each AEU, and the AEUs' incoming buffers.
#ifndef ERIS_BENCH_ROUTING_PORT_TRANSPORT_H_
#define ERIS_BENCH_ROUTING_PORT_TRANSPORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bench/routing/command.h"
#include "bench/routing/huge_buffer.h"
#include "bench/routing/shape.h"
#include "routing/endpoint.h"
#include "routing/port.h"

namespace eris::bench {

enum class PortUse {
  // Port::Send: commands of one source, object and request share a header, as the keys of a batch
  // do. 16 bytes of segment: a key and its value; 4 more say where its answer goes.
  kKeyed,
  // Port::Open: each command a record of its own, with its own header, built in place.
  kSingle,
};

template <size_t kSegmentBytes, PortUse kUse>
class PortTransport {
 public:
  static constexpr bool kChecked = true;
  using R = Record<kSegmentBytes>;
  static_assert(kUse == PortUse::kSingle || kSegmentBytes == 16);

  // Of one command, with what it has of a header.
  static size_t BytesPerCommand(uint32_t batch) {
    if (kUse == PortUse::kSingle) return sizeof(R);
    return routing::KeyedRecordBytes(routing::CommandType::kUpsert, batch) / batch;
  }

  explicit PortTransport(const Shape& shape) : shape_(shape) {
    std::vector<uint64_t> starts;
    std::vector<AeuId> owners;
    for (uint32_t i = 0; i < shape.aeus; ++i) {
      memory_.push_back(std::make_unique<HugeBuffer>(2 * shape.incoming_bytes));
      directory_.Add(
          std::make_unique<routing::AeuEndpoint>(memory_.back()->data(), shape.incoming_bytes));
      starts.push_back(uint64_t{i} << kTargetShift);
      owners.push_back({i});
    }
    route_ = std::make_unique<routing::ObjectRoute>(
        0, ObjectId{1}, std::make_unique<routing::RangeTable>(1, starts, owners));
  }

  class Lane {
   public:
    Lane(PortTransport& all, uint32_t self)
        : self_(self),
          route_(*all.route_),
          incoming_(all.directory_[AeuId{self}].incoming),
          port_(all.directory_, OptionsOf(all.shape_)) {}

    uint32_t Produce(uint32_t target, uint64_t first, uint32_t count, Tally& sent) {
      if constexpr (kUse == PortUse::kSingle) {
        for (uint32_t i = 0; i < count; ++i) {
          routing::CommandHeader* record = port_.Open({target}, kSegmentBytes);
          if (record == nullptr) return i;
          const uint32_t size_bytes = record->size_bytes;
          *record = HeaderOf(size_bytes, self_);
          FillSegment(reinterpret_cast<uint64_t*>(record + 1), R::kSegmentWords, first + i);
          sent.Add(first + i, ~(first + i));
        }
        return count;
      }
      if (keys_.size() < count) {
        keys_.resize(count);
        values_.resize(count);
        states_.resize(count);
        reply_.states = states_.data();
      }
      const uint64_t range = uint64_t{target} << kTargetShift;
      for (uint32_t i = 0; i < count; ++i) {
        keys_[i] = range | (first + i);
        values_[i] = ~(first + i);
      }
      const uint32_t refused = port_.Send(route_,
                                          {.type = routing::CommandType::kUpsert,
                                           .keys = std::span(keys_).first(count),
                                           .values = std::span(values_).first(count),
                                           .context = &reply_},
                                          storage::KeyState::kRefused);
      // Keys of one target are refused from some key on.
      for (uint32_t i = 0; i < count - refused; ++i) sent.Add(first + i, ~(first + i));
      return count - refused;
    }
    bool Flush() { return port_.Flush(); }
    bool Drain(Tally& received) {
      const std::optional<std::span<const std::byte>> taken = incoming_.TryTake();
      if (!taken) return false;
      for (size_t at = 0; at < taken->size();) {
        const auto* header = reinterpret_cast<const routing::CommandHeader*>(taken->data() + at);
        if constexpr (kUse == PortUse::kSingle) {
          const auto* segment = reinterpret_cast<const uint64_t*>(DataSegment(header));
          received.Add(segment[0], segment[R::kSegmentWords - 1]);
        } else {
          const routing::KeyedSegment segment = routing::KeyedSegmentOf(header);
          for (uint32_t i = 0; i < header->count; ++i) {
            received.Add(segment.keys[i] & kNumberMask, segment.values[i]);
          }
        }
        at += header->size_bytes;
      }
      return true;
    }

   private:
    static routing::PortOptions OptionsOf(const Shape& shape) {
      const size_t bytes =
          kUse == PortUse::kSingle
              ? sizeof(R) * shape.batch
              : routing::KeyedRecordBytes(routing::CommandType::kUpsert, shape.batch);
      return {.way = routing::PortOptions::Way::kIncoming,
              .outgoing_bytes = bytes,
              .pool_bytes_max = std::max<size_t>(bytes * shape.aeus, 4 << 20)};
    }
    struct NoReply final : routing::Reply {};

    const uint32_t self_;
    const routing::ObjectRoute& route_;
    routing::IncomingBuffer& incoming_;
    routing::Port port_;
    std::vector<uint64_t> keys_;
    std::vector<uint64_t> values_;
    std::vector<storage::KeyState> states_;
    NoReply reply_;
  };

 private:
  static constexpr int kTargetShift = 56;  // above the numbers
  static constexpr uint64_t kNumberMask = (uint64_t{1} << kTargetShift) - 1;

  const Shape shape_;
  std::vector<std::unique_ptr<HugeBuffer>> memory_;
  routing::EndpointDirectory directory_;
  std::unique_ptr<routing::ObjectRoute> route_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_PORT_TRANSPORT_H_
