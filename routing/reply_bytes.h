// The reply memory of a request for byte strings: AEUs take pieces and copy their answers into
// them; the pieces are freed with the request. Bounded, so that a few keys with large values cannot
// take unlimited memory. Taking is latch-free: one CAS on the limit, one on the list.
#ifndef ERIS_ROUTING_REPLY_BYTES_H_
#define ERIS_ROUTING_REPLY_BYTES_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "storage/byte_value.h"

namespace eris::routing {

class ReplyBytes final : public storage::BytesSink {
 public:
  // At most `bytes_max`. Taken bytes are also taken from `credit`, which outlives this, and
  // returned by FreeAll. nullptr: none.
  explicit ReplyBytes(uint64_t bytes_max, std::atomic<int64_t>* credit = nullptr)
      : bytes_max_(bytes_max), credit_(credit), left_(bytes_max) {}
  ~ReplyBytes() { FreeAll(); }
  ReplyBytes(const ReplyBytes&) = delete;
  ReplyBytes& operator=(const ReplyBytes&) = delete;

  std::byte* Take(size_t least, size_t wanted, size_t& given) override {
    // relaxed, here and in FreeAll: counts that publish no data.
    uint64_t left = left_.load(std::memory_order_relaxed);
    uint64_t taken;
    do {
      taken = std::min<uint64_t>(wanted, left);
      if (taken < least) return nullptr;
    } while (!left_.compare_exchange_weak(left, left - taken, std::memory_order_relaxed));
    const auto bytes = static_cast<int64_t>(taken);
    if (credit_ != nullptr && credit_->fetch_sub(bytes, std::memory_order_relaxed) < bytes) {
      credit_->fetch_add(bytes, std::memory_order_relaxed);
      left_.fetch_add(taken, std::memory_order_relaxed);
      return nullptr;
    }
    taken_.fetch_add(taken, std::memory_order_relaxed);  // returned by FreeAll
    auto* piece = static_cast<Piece*>(std::malloc(sizeof(Piece) + taken));
    if (piece == nullptr) return nullptr;
    // relaxed: the thread that frees the list has the request to itself, which its reference count
    // ensures.
    piece->next = pieces_.load(std::memory_order_relaxed);
    while (!pieces_.compare_exchange_weak(piece->next, piece, std::memory_order_relaxed)) {
    }
    given = taken;
    return reinterpret_cast<std::byte*>(piece + 1);
  }

  // All room is available again. REQUIRES: no AEU takes meanwhile. Idempotent.
  void FreeAll() {
    Piece* piece = pieces_.exchange(nullptr, std::memory_order_relaxed);
    while (piece != nullptr) {
      Piece* const next = piece->next;
      std::free(piece);
      piece = next;
    }
    const uint64_t taken = taken_.exchange(0, std::memory_order_relaxed);
    if (credit_ != nullptr) {
      credit_->fetch_add(static_cast<int64_t>(taken), std::memory_order_relaxed);
    }
    left_.store(bytes_max_, std::memory_order_relaxed);
  }
  uint64_t bytes_max() const { return bytes_max_; }

 private:
  struct alignas(16) Piece {
    Piece* next;
  };
  static_assert(sizeof(Piece) % storage::kRecordAlignment == 0);

  // Immutable after construction.
  const uint64_t bytes_max_;
  std::atomic<int64_t>* const credit_;

  // Shared: written by every AEU that answers.
  std::atomic<uint64_t> left_;
  std::atomic<uint64_t> taken_{0};
  std::atomic<Piece*> pieces_{nullptr};
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_REPLY_BYTES_H_
