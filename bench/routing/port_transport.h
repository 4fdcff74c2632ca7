// Commands by the real way: a Port for each AEU and the AEUs' incoming buffers; and the same
// buffers without the Port, which tells what the Port costs.
#ifndef ERIS_BENCH_ROUTING_PORT_TRANSPORT_H_
#define ERIS_BENCH_ROUTING_PORT_TRANSPORT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "bench/routing/command.h"
#include "bench/routing/huge_buffer.h"
#include "bench/routing/shape.h"
#include "routing/endpoint.h"
#include "routing/outgoing_buffer.h"
#include "routing/port.h"

namespace eris::bench {

// kWithPort: Port::SendTo. Else commands are built in the outgoing buffer where they will stand.
template <size_t kSegmentBytes, bool kWithPort>
class PortTransport {
 public:
  static constexpr bool kChecked = true;
  using R = Record<kSegmentBytes>;

  explicit PortTransport(const Shape& shape) : shape_(shape) {
    for (uint32_t i = 0; i < shape.aeus; ++i) {
      memory_.push_back(std::make_unique<HugeBuffer>(2 * shape.incoming_bytes));
      directory_.push_back(
          std::make_unique<routing::AeuEndpoint>(memory_.back()->data(), shape.incoming_bytes));
    }
  }

  class Lane {
   public:
    Lane(PortTransport& all, uint32_t self)
        : self_(self),
          outgoing_bytes_(sizeof(R) * all.shape_.batch),
          directory_(all.directory_),
          incoming_(directory_[self]->incoming),
          port_(directory_, outgoing_bytes_, /*wait_ns=*/0),
          outgoing_(all.shape_.aeus) {}

    uint32_t Produce(uint32_t target, uint64_t first, uint32_t count, Tally& sent) {
      for (uint32_t i = 0; i < count; ++i) {
        if (!Send(target, first + i)) return i;
        sent.Add(first + i, ~(first + i));
      }
      return count;
    }
    bool Flush() {
      if constexpr (kWithPort) return port_.Flush();
      bool all = true;
      for (uint32_t target = 0; target < outgoing_.size(); ++target) all &= CopyOver(target);
      return all;
    }
    bool Drain(Tally& received) {
      const std::optional<std::span<const std::byte>> taken = incoming_.TryTake();
      if (!taken) return false;
      for (size_t at = 0; at < taken->size();) {
        const auto* header = reinterpret_cast<const routing::CommandHeader*>(taken->data() + at);
        const auto* segment = reinterpret_cast<const uint64_t*>(DataSegment(header));
        const size_t words = (header->size_bytes - sizeof *header) / 8;
        received.Add(segment[0], segment[words - 1]);
        at += header->size_bytes;
      }
      return true;
    }

   private:
    bool Send(uint32_t target, uint64_t number) {
      if constexpr (kWithPort) {
        uint64_t segment[R::kSegmentWords];
        FillSegment(segment, R::kSegmentWords, number);
        return port_.SendTo(AeuId{target}, HeaderOf(sizeof(R), self_),
                            std::as_bytes(std::span(segment)));
      }
      routing::OutgoingBuffer& buffer = outgoing_[target];
      if (buffer.room_bytes() < sizeof(R)) {
        if (!buffer.Prepare(outgoing_bytes_) || !CopyOver(target)) return false;
      }
      R* record = new (buffer.Append(sizeof(R))) R;
      record->header = HeaderOf(sizeof(R), self_);
      FillSegment(record->segment, R::kSegmentWords, number);
      return true;
    }
    bool CopyOver(uint32_t target) {
      routing::OutgoingBuffer& buffer = outgoing_[target];
      if (buffer.empty()) return true;
      if (!directory_[target]->TrySend(buffer.records())) return false;
      buffer.Clear();
      return true;
    }

    const uint32_t self_;
    const size_t outgoing_bytes_;
    const routing::EndpointDirectory& directory_;
    routing::IncomingBuffer& incoming_;
    routing::Port port_;
    std::vector<routing::OutgoingBuffer> outgoing_;  // without the Port, by target
  };

 private:
  const Shape shape_;
  std::vector<std::unique_ptr<HugeBuffer>> memory_;
  routing::EndpointDirectory directory_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_PORT_TRANSPORT_H_
