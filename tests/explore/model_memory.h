// The memory policy (base/memory_ops.h) of the explorer: every atomic access is a step of the
// engine, plain accesses are checked for races.
#ifndef ERIS_TESTS_EXPLORE_MODEL_MEMORY_H_
#define ERIS_TESTS_EXPLORE_MODEL_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>

#include "tests/explore/engine.h"

namespace eris::explore {

// As std::atomic<T>, for T of at most 8 bytes.
template <class T>
class ModelAtomic {
  static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>);
  using Where = std::source_location;
  using Order = std::memory_order;

 public:
  ModelAtomic() : ModelAtomic(T{}) {}
  ModelAtomic(T value) { engine().Construct(location_, Encode(value)); }  // NOLINT: as std::atomic
  ModelAtomic(const ModelAtomic&) = delete;
  ModelAtomic& operator=(const ModelAtomic&) = delete;

  T load(Order order = Order::seq_cst, const Where& where = Where::current()) const {
    return Decode(engine().Load(location_, order, where));
  }
  void store(T value, Order order = Order::seq_cst, const Where& where = Where::current()) {
    engine().Store(location_, Encode(value), order, where);
  }
  T exchange(T value, Order order = Order::seq_cst, const Where& where = Where::current()) {
    return Modify(Op::kExchange, Encode(value), order, where);
  }
  T fetch_add(T value, Order order = Order::seq_cst, const Where& where = Where::current()) {
    return Modify(Op::kFetchAdd, Encode(value), order, where);
  }
  T fetch_sub(T value, Order order = Order::seq_cst, const Where& where = Where::current()) {
    return Modify(Op::kFetchSub, Encode(value), order, where);
  }
  T fetch_and(T value, Order order = Order::seq_cst, const Where& where = Where::current()) {
    return Modify(Op::kFetchAnd, Encode(value), order, where);
  }
  T fetch_or(T value, Order order = Order::seq_cst, const Where& where = Where::current()) {
    return Modify(Op::kFetchOr, Encode(value), order, where);
  }
  bool compare_exchange_weak(T& expected, T desired, Order success, Order failure,
                             const Where& where = Where::current()) {
    return CompareExchange(expected, desired, success, failure, true, where);
  }
  bool compare_exchange_strong(T& expected, T desired, Order success, Order failure,
                               const Where& where = Where::current()) {
    return CompareExchange(expected, desired, success, failure, false, where);
  }
  // One order for both: what a failure cannot have is left out, as std::atomic does.
  bool compare_exchange_strong(T& expected, T desired, Order order,
                               const Where& where = Where::current()) {
    const Order failure = order == Order::acq_rel   ? Order::acquire
                          : order == Order::release ? Order::relaxed
                                                    : order;
    return CompareExchange(expected, desired, order, failure, false, where);
  }

 private:
  friend struct ModelMemory;
  static constexpr uint64_t kMask = ~uint64_t{0} >> (64 - 8 * sizeof(T));
  static Engine& engine() { return Engine::Get(); }
  static uint64_t Encode(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  static T Decode(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  T Modify(Op op, uint64_t operand, Order order, const Where& where) {
    return Decode(engine().Modify(location_, op, operand, kMask, order, where));
  }
  bool CompareExchange(T& expected, T desired, Order success, Order failure, bool weak,
                       const Where& where) {
    uint64_t bits = Encode(expected);
    const bool done =
        engine().CompareExchange(location_, bits, Encode(desired), success, failure, weak, where);
    if (!done) expected = Decode(bits);
    return done;
  }

  mutable Location location_;  // a load, too, changes what is known of it
};

struct ModelMemory {
  template <class T>
  using Atomic = ModelAtomic<T>;
  using Where = std::source_location;

  static void Copy(std::byte* to, const std::byte* from, size_t bytes,
                   const Where& where = Where::current()) {
    Engine::Get().PlainRead(from, bytes, where);
    Engine::Get().PlainWrite(to, bytes, where);
    std::memcpy(to, from, bytes);
  }
  static void WillRead(const void* memory, size_t bytes, const Where& where = Where::current()) {
    Engine::Get().PlainRead(memory, bytes, where);
  }
  static void WillWrite(const void* memory, size_t bytes, const Where& where = Where::current()) {
    Engine::Get().PlainWrite(memory, bytes, where);
  }
  static void FutexWait(Atomic<uint32_t>& word, uint32_t expected) {
    Engine::Get().FutexWait(word.location_, expected);
  }
  // Time does not pass; a spurious wake-up stands for its end.
  static void FutexWaitFor(Atomic<uint32_t>& word, uint32_t expected, int64_t) {
    FutexWait(word, expected);
  }
  static void FutexWakeAll(Atomic<uint32_t>& word) { Engine::Get().FutexWakeAll(word.location_); }
  static void Pause() { Engine::Get().GiveWay(); }
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_MODEL_MEMORY_H_
