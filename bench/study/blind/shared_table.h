// The hash table that all threads of the blind program share: chains of nodes, a spin lock for each
// chain. A node is an allocation of its own. Any thread, except where told.
// Paper: IV-B, the shared global hash table of W1 and W2; the non-partitioning join's of W3.
#ifndef ERIS_BENCH_STUDY_BLIND_SHARED_TABLE_H_
#define ERIS_BENCH_STUDY_BLIND_SHARED_TABLE_H_

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "bench/key_order.h"
#include "bench/study/blind/large_array.h"

namespace eris::bench::study {

// `Node` has `uint64_t key` and `Node* next`, and is made of a key.
template <class Node>
class SharedTable {
 public:
  SharedTable(uint64_t keys_expected, bool advise_huge)
      : chains_(std::bit_ceil(std::max<uint64_t>(keys_expected, 2)), advise_huge) {}

  uint64_t chains() const { return chains_.size(); }

  // Calls use(node) for the key's node, which is made if absent, under the chain's lock.
  template <class Use>
  void Update(uint64_t key, const Use& use) {
    Chain& chain = ChainOf(key);
    Lock(chain);
    Node* node = chain.first;
    while (node != nullptr && node->key != key) node = node->next;
    if (node == nullptr) {
      node = new Node(key);
      node->next = chain.first;
      chain.first = node;
    }
    use(*node);
    Unlock(chain);
  }
  // Adds a node, whether the key is there or not.
  void Add(Node* node) {
    Chain& chain = ChainOf(node->key);
    Lock(chain);
    node->next = chain.first;
    chain.first = node;
    Unlock(chain);
  }
  // Calls use(node) for each node of the key. REQUIRES: no thread writes.
  template <class Use>
  void ForEachOf(uint64_t key, const Use& use) const {
    for (const Node* node = chains_[IndexOf(key)].first; node != nullptr; node = node->next) {
      if (node->key == key) use(*node);
    }
  }
  // Calls use(node) for all nodes of some chains. REQUIRES: no other thread is at these chains.
  template <class Use>
  void ForEach(uint64_t begin, uint64_t end, const Use& use) {
    for (uint64_t i = begin; i < end; ++i) {
      for (Node* node = chains_[i].first; node != nullptr; node = node->next) use(*node);
    }
  }
  // Deletes the nodes of some chains; the table's owner has to call it for all. REQUIRES: as above.
  void Free(uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      for (Node* node = chains_[i].first; node != nullptr;) {
        Node* const next = node->next;
        delete node;
        node = next;
      }
      chains_[i].first = nullptr;
    }
  }

 private:
  struct Chain {
    std::atomic<uint32_t> locked;
    Node* first;
  };
  static constexpr int kSpinsPerTurn = 64;

  uint64_t IndexOf(uint64_t key) const { return Mix(key) & (chains_.size() - 1); }
  Chain& ChainOf(uint64_t key) { return chains_[IndexOf(key)]; }

  static void Lock(Chain& chain) {
    // Acquire: pairs with the release in Unlock.
    for (int spins = 1; chain.locked.exchange(1, std::memory_order_acquire) != 0; ++spins) {
      // Its owner may have lost its cpu.
      if (spins % kSpinsPerTurn == 0) sched_yield();
    }
  }
  static void Unlock(Chain& chain) { chain.locked.store(0, std::memory_order_release); }

  LargeArray<Chain> chains_;
};

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_BLIND_SHARED_TABLE_H_
