// A simple radix tree as a peer: what a few lines get when they search a group of keys side by
// side. TreeNodes with a child for each byte, or with up to four children, and a leaf of 16 bytes
// below the first byte that tells a key from all others. No erase, no scan, no path compression.
// Its figure says how much of the index's speed is the grouping, and how much the structure.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "bench/index/side.h"
#include "bench/index/structure_lab.h"

namespace eris::bench {
namespace {

class RadixStructure {
 public:
  static constexpr bool kOrdered = false;  // it has no scan
  static constexpr bool kBulkLoads = false;
  static constexpr bool kReplaces = true;

  explicit RadixStructure(uint64_t) {}

  void Insert(const uint64_t* keys, const uint64_t* values, size_t count, size_t) {
    for (size_t i = 0; i < count; ++i) Upsert(keys[i], values[i]);
  }
  void Replace(const uint64_t* keys, const uint64_t* values, size_t count, size_t batch) {
    Leaf* found[kGroup];
    for (size_t i = 0; i < count;) {
      const size_t group = std::min({batch, kGroup, count - i});
      FindGroup(keys + i, group, found);
      for (size_t j = 0; j < group; ++j) found[j]->value = values[i + j];
      i += group;
    }
  }
  Found Lookup(const uint64_t* keys, size_t count, size_t batch) {
    Found all;
    Leaf* found[kGroup];
    for (size_t i = 0; i < count;) {
      const size_t group = std::min({batch, kGroup, count - i});
      FindGroup(keys + i, group, found);
      for (size_t j = 0; j < group; ++j) {
        if (found[j] != nullptr) all.Add(keys[i + j], found[j]->value);
      }
      i += group;
    }
    return all;
  }
  uint64_t Erase(const uint64_t*, size_t, size_t) { Die("radix has no erase"); }
  uint64_t ValueAt(uint64_t key) {
    Leaf* found = nullptr;
    FindGroup(&key, 1, &found);
    return found->value;
  }
  uint64_t size() const { return leaves_.size(); }
  void AddMemory(Json&) const {}

 private:
  // Keys side by side. Groups of 16, 32, 64 and 128, in M keys/s at 16 M: 20, 29, 37, 41 (AMD Zen
  // 5).
  static constexpr size_t kGroup = 128;

  struct Leaf {
    uint64_t key;
    uint64_t value;
  };
  // 0: nothing; a Leaf; a Few, which has up to four children; a Node. Which of them is in the
  // lowest two bits.
  using Word = uintptr_t;
  enum Tag : Word { kNode = 0, kLeaf = 1, kFew = 2, kTags = 3 };
  struct Few {
    uint8_t count = 0;
    uint8_t bytes[4] = {};
    Word children[4] = {};
  };
  struct Node {
    Word children[256] = {};
  };

  static Tag TagOf(Word word) { return static_cast<Tag>(word & kTags); }
  template <class T>
  static T* To(Word word) {
    return reinterpret_cast<T*>(word & ~Word{kTags});
  }
  static Word WordOf(const void* block, Tag tag) { return reinterpret_cast<Word>(block) | tag; }
  static unsigned ByteAt(uint64_t key, unsigned level) { return (key >> (56 - 8 * level)) & 0xff; }

  // The child of a Few or a Node, or nullptr.
  static Word* ChildOf(Word word, unsigned byte) {
    if (TagOf(word) == kNode) return &To<Node>(word)->children[byte];
    Few* const few = To<Few>(word);
    for (unsigned i = 0; i < few->count; ++i) {
      if (few->bytes[i] == byte) return &few->children[i];
    }
    return nullptr;
  }
  // The same, made if it is not there; a Few that is full becomes a Node.
  Word* MakeChild(Word& word, unsigned byte) {
    if (Word* const child = ChildOf(word, byte)) return child;
    Few* const few = To<Few>(word);
    if (few->count < 4) {
      few->bytes[few->count] = static_cast<uint8_t>(byte);
      return &few->children[few->count++];
    }
    Node* const node = &nodes_.emplace_back();
    for (unsigned i = 0; i < 4; ++i) node->children[few->bytes[i]] = few->children[i];
    word = WordOf(node, kNode);
    return &node->children[byte];
  }
  void Upsert(uint64_t key, uint64_t value) {
    Word* word = &root_.children[ByteAt(key, 0)];
    for (unsigned level = 1; *word != 0; ++level) {
      if (TagOf(*word) == kLeaf) {
        Leaf* const other = To<Leaf>(*word);
        if (other->key == key) {
          other->value = value;
          return;
        }
        Word few = WordOf(&fews_.emplace_back(), kFew);
        *MakeChild(few, ByteAt(other->key, level)) = *word;
        *word = few;
      }
      word = MakeChild(*word, ByteAt(key, level));
    }
    *word = WordOf(&leaves_.emplace_back(Leaf{key, value}), kLeaf);
  }

  // The leaves of up to kGroup keys, or nullptr: a level at a time, behind prefetches.
  void FindGroup(const uint64_t* keys, size_t count, Leaf** found) {
    Word at[kGroup];
    uint8_t active[kGroup];
    uint8_t at_leaf[kGroup];
    size_t active_count = count, leaves = 0;
    for (size_t i = 0; i < count; ++i) {
      at[i] = WordOf(&root_, kNode);
      active[i] = static_cast<uint8_t>(i);
      found[i] = nullptr;
    }
    for (unsigned level = 0; active_count > 0; ++level) {
      const size_t going = active_count;
      active_count = 0;
      for (size_t j = 0; j < going; ++j) {
        const uint8_t i = active[j];
        const Word* const child = ChildOf(at[i], ByteAt(keys[i], level));
        if (child == nullptr || *child == 0) continue;
        at[i] = *child;
        if (TagOf(*child) == kLeaf) {
          found[i] = To<Leaf>(*child);
          __builtin_prefetch(found[i]);
          at_leaf[leaves++] = i;
          continue;
        }
        active[active_count++] = i;
        __builtin_prefetch(TagOf(*child) == kFew
                               ? To<void>(*child)
                               : &To<Node>(*child)->children[ByteAt(keys[i], level + 1)]);
      }
    }
    for (size_t j = 0; j < leaves; ++j) {
      const uint8_t i = at_leaf[j];
      if (found[i]->key != keys[i]) found[i] = nullptr;
    }
  }

  Node root_;
  std::deque<Node> nodes_;
  std::deque<Few> fews_;
  std::deque<Leaf> leaves_;
};

}  // namespace

std::vector<NamedSide> RadixSides() {
  return {{"radix", [](const SideOptions& options) -> std::unique_ptr<Side> {
             return std::make_unique<StructureLab<RadixStructure>>(options);
           }}};
}

}  // namespace eris::bench
