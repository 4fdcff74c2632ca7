// Commands by the real path: a Port for each AEU, and the AEUs' incoming buffers.
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
  // Port::Send: commands of one source, object and request share a header, like the keys of a
  // batch. 16 bytes of segment: a key and its value; 4 more for the position of its answer.
  kKeyed,
  // Port::Open: each command is a separate record with its own header, built in place.
  kSingle,
};

template <size_t kSegmentBytes, PortUse kUse>
class PortTransport {
 public:
  static constexpr bool kGenerated = true;
  using R = Record<kSegmentBytes>;
  static_assert(kUse == PortUse::kSingle || kSegmentBytes == 16);

  explicit PortTransport(const Shape& shape)
      : shape_(shape),
        table_(EvenTable(shape.aeus)),
        route_(0, ObjectId{1}, EvenTable(shape.aeus)) {
    for (uint32_t i = 0; i < shape.aeus; ++i) {
      memory_.push_back(std::make_unique<HugeBuffer>(2 * shape.incoming_bytes));
      directory_.Add(
          std::make_unique<routing::AeuEndpoint>(memory_.back()->data(), shape.incoming_bytes));
    }
  }
  double CommandsPerUnit() const { return 1; }

  class Lane {
   public:
    Lane(PortTransport& all, uint32_t self)
        : self_(self),
          table_(*all.table_),
          route_(all.route_),
          incoming_(all.directory_[AeuId{self}].incoming),
          port_(all.directory_, OptionsOf(all.shape_)) {}

    uint32_t Send(uint32_t target, std::span<const uint64_t> keys, const uint64_t* values) {
      if constexpr (kUse == PortUse::kSingle) {
        for (uint32_t i = 0; i < keys.size(); ++i) {
          if (!SendSingle(target, keys[i], values[i])) return i;
        }
        return static_cast<uint32_t>(keys.size());
      }
      // Keys of one target are refused from some key on.
      return static_cast<uint32_t>(keys.size()) - SendKeyed(keys, values);
    }
    void SendMixed(std::span<const uint64_t> keys, const uint64_t* values,
                   std::vector<uint32_t>& refused) {
      if constexpr (kUse == PortUse::kSingle) {
        owners_.resize(keys.size());
        table_.OwnersOf(keys, owners_);
        for (uint32_t i = 0; i < keys.size(); ++i) {
          if (!SendSingle(owners_[i].value, keys[i], values[i])) refused.push_back(i);
        }
        return;
      }
      if (SendKeyed(keys, values) == 0) return;
      for (uint32_t i = 0; i < keys.size(); ++i) {
        if (states_[i] == storage::KeyState::kPending) continue;
        refused.push_back(i);
        states_[i] = storage::KeyState::kPending;
      }
    }
    bool Flush() { return port_.Flush(); }
    bool Drain(Tally& received) {
      const std::optional<std::span<const std::byte>> taken = incoming_.TryTake();
      if (!taken) return false;
      const uint64_t range = RangeOf(self_);
      for (size_t at = 0; at < taken->size();) {
        const auto* header = reinterpret_cast<const routing::CommandHeader*>(taken->data() + at);
        if constexpr (kUse == PortUse::kSingle) {
          const auto* segment = reinterpret_cast<const uint64_t*>(DataSegment(header));
          received.Add(segment[0], segment[R::kSegmentWords - 1], range);
        } else {
          const routing::KeyedSegment segment = routing::KeyedSegmentOf(header);
          received.Add({segment.keys, header->count}, segment.values, range);
        }
        at += header->size_bytes;
      }
      received.bytes += taken->size();
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
    bool SendSingle(uint32_t target, uint64_t key, uint64_t value) {
      routing::CommandHeader* record = port_.Open({target}, kSegmentBytes);
      if (record == nullptr) return false;
      *record = R::HeaderOf(self_);
      R::FillSegment(reinterpret_cast<uint64_t*>(record + 1), key, value);
      return true;
    }
    // Returns the number of refused keys.
    uint32_t SendKeyed(std::span<const uint64_t> keys, const uint64_t* values) {
      if (states_.size() < keys.size()) {
        states_.resize(keys.size(), storage::KeyState::kPending);
        reply_.states = states_.data();
      }
      return port_.Send(route_,
                        {.type = routing::CommandType::kUpsert,
                         .keys = keys,
                         .values = {values, keys.size()},
                         .context = &reply_},
                        storage::KeyState::kRefused);
    }
    struct NoReply final : routing::Reply {};

    const uint32_t self_;
    const routing::RangeTable& table_;  // the route's
    const routing::ObjectRoute& route_;
    routing::IncomingBuffer& incoming_;
    routing::Port port_;
    std::vector<storage::KeyState> states_;
    std::vector<AeuId> owners_;
    NoReply reply_;
  };

 private:
  const Shape shape_;
  const std::unique_ptr<const routing::RangeTable> table_;
  std::vector<std::unique_ptr<HugeBuffer>> memory_;
  routing::EndpointDirectory directory_;
  routing::ObjectRoute route_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_PORT_TRANSPORT_H_
