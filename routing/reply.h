// The reply space of a request: columns of answers, each at its keys' own positions. Commands from
// outside the engine are answered in their blocks, and the thread that takes a block home fills
// values and states; commands between AEUs are answered here directly (answers.h), and so are
// columns of tables. It belongs to a reference-counted request, never to a caller's stack, because
// commands may be under way after a deadline has passed. Paper: ERIS 3.2 (callback).
#ifndef ERIS_ROUTING_REPLY_H_
#define ERIS_ROUTING_REPLY_H_

#include <atomic>
#include <cstdint>

#include "storage/batch.h"

namespace eris::routing {

class Reply {
 public:
  // Immutable while commands are under way. One byte per key: no two writers share one.
  uint64_t* values = nullptr;
  storage::KeyState* states = nullptr;
  // For byte strings: receives the answers, whose words are in `values`. Else nullptr.
  storage::BytesSink* bytes_sink = nullptr;
  // For tables: the rows that a write stores, and the columns for the answers of lookups.
  const RowBatch* rows = nullptr;
  const storage::OutputColumns* columns_out = nullptr;

  // Asks AEUs to skip what they have not begun. Only advice: an AEU that sees it late does
  // unnecessary work. seq_cst, so that a Waker::Wake can follow it for an AEU that sleeps during a
  // scan.
  void SetCancelled() { cancelled_.store(true, std::memory_order_seq_cst); }
  bool cancelled() const { return cancelled_.load(std::memory_order_seq_cst); }

  // Some state is kMoved. Set before the key is answered. relaxed: the answers publish it.
  void SetMoved(bool moved = true) { moved_.store(moved, std::memory_order_relaxed); }
  bool moved() const { return moved_.load(std::memory_order_relaxed); }

 protected:
  ~Reply() = default;

 private:
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> moved_{false};
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_REPLY_H_
