// Maps the keys of a clustered table to the addresses of their rows: an index partition, of one or
// of two words, called in batches. It accepts any key: the table checks ranges and loans. Used by
// the thread of the AEU that owns the partition. Paper: ERIS 3.1.
#ifndef ERIS_STORAGE_TABLE_KEY_INDEX_H_
#define ERIS_STORAGE_TABLE_KEY_INDEX_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "memory/local_cache.h"
#include "storage/batch.h"
#include "storage/index/index_partition.h"
#include "storage/ordered_partition.h"
#include "storage/table/rows/row_source.h"

namespace eris::storage {

// Keys that are processed together. `tails` may be nullptr if keys have one word.
struct KeyPick {
  uint32_t count = 0;  // at most kPieceRows
  const uint64_t* heads = nullptr;
  const uint64_t* tails = nullptr;
};

class KeyIndex {
 public:
  // Errors: ResourceExhausted.
  static absl::StatusOr<KeyIndex> Create(memory::LocalCache& cache, bool two_words);

  uint64_t size() const { return rows_->size(); }
  bool two_words() const { return two_words_; }

  // kPresent with the row's address, or kAbsent.
  void Find(const KeyPick& keys, uint64_t* words, KeyState* states);
  // For each key in order. kAbsent: it was inserted with the row address words[i]. kPresent: it
  // existed, and there[i] is its row. kNoMemory.
  void InsertIfAbsent(const KeyPick& keys, const uint64_t* words, uint64_t* there,
                      KeyState* states);
  // Sets the row addresses of existing keys. Needs no memory. REQUIRES: all keys exist.
  void Point(const KeyPick& keys, const uint64_t* words);
  // kPresent if the key existed, else kAbsent. Needs no memory.
  void Erase(const KeyPick& keys, KeyState* states);
  // Keys of cursor.rest and their row addresses, in the cursor's direction, until `out` is full or
  // the cursor is done.
  void Scan(ScanCursor& cursor, ScanRows& out) { rows_->Scan(cursor, ScanBudget{}, out); }
  void Abandon() { rows_->Abandon(); }

 private:
  KeyIndex(std::unique_ptr<OrderedPartition> rows, bool two_words);
  void Run(Operation operation, const KeyPick& keys, const uint64_t* in, uint64_t* out,
           KeyState* states);

  std::unique_ptr<OrderedPartition> rows_;
  IndexPartition* one_word_ = nullptr;  // the same object
  bool two_words_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_KEY_INDEX_H_
