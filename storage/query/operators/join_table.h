// The build side of a join: finds the rows of an EnvelopeList whose keys equal those of a row of
// the other side. Built in steps by one thread; then immutable, and any thread may probe it
// (join_probe.h). Not from the paper.
//
//   kArray     an entry per possible key: the last row with it
//   kBuckets   buckets of one cache line by the hash of the word: 5 words and the last row with
//   each
//
// Rows with the same word are chained, the last one first, by an array per envelope that exists
// only if some row of the envelope has a row before it. Keys that are unique need none.
//
// An array is taken if it has at most 8 entries per row: 32 bytes a row, compared with 21 of
// buckets, and a probe of it needs no hash and no search. Words serve as tags: they are in the line
// that a search reads anyway, so a bucket needs no tag of its own. On average 3 of 5 places are
// taken; then about 18 of 100 buckets are full, and a search for an absent key reads on there.
#ifndef ERIS_STORAGE_QUERY_JOIN_TABLE_H_
#define ERIS_STORAGE_QUERY_JOIN_TABLE_H_

#include <cstdint>
#include <span>

#include "base/cache_line.h"
#include "storage/query/operators/join_keys.h"
#include "storage/query/rows/envelope_list.h"
#include "storage/query/rows/page_array.h"
#include "storage/query/rows/query_memory.h"

namespace eris::storage {

// Words that Find fetches at once (storage/hash/hash_table.h has the measurement).
inline constexpr uint32_t kJoinGroup = 256;

class JoinTable {
 public:
  // `memory` and `build` outlive the table; `build` is complete. REQUIRES: JoinKeys::Check is OK.
  JoinTable(QueryMemory& memory, const EnvelopeList& build, std::span<const JoinKey> keys,
            uint64_t seed);
  ~JoinTable();
  JoinTable(const JoinTable&) = delete;
  JoinTable& operator=(const JoinTable&) = delete;

  // One step: a page of 128 KiB, or at most kInsertedAtOnce rows.
  StepResult Build();
  // Frees a piece of the table, of which nothing else is asked any more. False: all is free.
  bool FreeSome();

  // All below REQUIRE that Build has returned kDone.

  // Whether no two rows have the same key: then rows have no Next.
  bool unique() const { return unique_; }
  const JoinKeys& keys() const { return keys_; }
  const EnvelopeList& build() const { return build_; }
  bool empty() const { return inserted_ == 0; }
  // Whether it is an array, for tests and reports.
  bool is_array() const { return form_ == Form::kArray; }

  // The last rows with the words[0 .. count), kNoRow if there is none; at most kJoinGroup. All are
  // fetched before the first one is searched.
  void Find(const uint64_t* words, uint32_t count, RowNumber* found) const;
  // The row before that one with the same word; kNoRow: there is none.
  RowNumber Next(RowNumber row) const {
    const RowNumber* const next = next_[EnvelopeOf(row)];
    return next == nullptr ? kNoRow : next[RowOf(row)];
  }
  void FetchNext(RowNumber row) const;

 private:
  enum class Form : uint8_t { kArray, kBuckets };
  enum class Phase : uint8_t { kMeasure, kRoom, kInsert, kDone };
  static constexpr uint32_t kBucketRows = 5;
  // The complement of a row's number: 0 is no row, and a search can combine all places by `or`.
  using Stored = uint32_t;
  struct alignas(base::kCacheLineBytes) Bucket {
    uint64_t words[kBucketRows];
    Stored rows[kBucketRows];  // 0: a free place; those before it are taken
    uint32_t unused;

    // 0: the word is not here. Without a branch on the place, which would be mispredicted for most
    // rows: with one, a probe took twice as long.
    Stored Find(uint64_t word) const {
      Stored found = 0;
      for (uint32_t i = 0; i < kBucketRows; ++i) found |= rows[i] & -Stored{words[i] == word};
      return found;
    }
    bool full() const { return rows[kBucketRows - 1] != 0; }
  };
  static_assert(sizeof(Bucket) == base::kCacheLineBytes);
  static constexpr uint32_t kRowsPerBucket = 3;
  static constexpr uint64_t kArrayEntriesPerRow = 8;
  static constexpr uint32_t kMeasuredAtOnce = 256;  // envelopes
  static constexpr uint32_t kFreedAtOnce = 8;       // pages, or chains of an envelope
  // Rows. A whole block would take more than 20 us.
  static constexpr uint32_t kInsertedAtOnce = kBlockRows / 2;
  static constexpr uint32_t kEntryPageBits = 15;
  static constexpr uint32_t kBucketPageBits = 11;
  static_assert((sizeof(Stored) << kEntryPageBits) == (sizeof(Bucket) << kBucketPageBits));

  void Measure();
  StepResult MakeRoom();
  StepResult InsertRows();
  // False: no memory.
  bool InsertNumber(RowNumber row, uint64_t word);
  bool InsertHashed(RowNumber row, uint64_t word);
  bool Chain(RowNumber row, RowNumber before);
  uint64_t BucketOf(uint64_t word) const {
    return static_cast<uint64_t>(Uint128{keys_.Hash(word)} * bucket_count_ >> 64);
  }
  uint64_t BucketAfter(uint64_t at) const { return at + 1 == bucket_count_ ? 0 : at + 1; }
  void FindInArray(const uint64_t* words, uint32_t count, RowNumber* found) const;
  void FindInBuckets(const uint64_t* words, uint32_t count, RowNumber* found) const;

  QueryMemory& memory_;
  const EnvelopeList& build_;
  JoinKeys keys_;
  Phase phase_ = Phase::kMeasure;
  Form form_ = Form::kBuckets;
  PageArray<Stored, kEntryPageBits> entries_;
  PageArray<Bucket, kBucketPageBits> buckets_;
  uint64_t entry_count_ = 0;
  uint64_t bucket_count_ = 0;
  QueryArray<RowNumber*> next_;  // by envelope, nullptr: no row there has one before it
  uint64_t nulls_ = 0;           // rows that join nothing, at least
  uint64_t inserted_ = 0;
  bool unique_ = true;
  // The row that is measured or inserted next.
  uint32_t envelope_ = 0;
  uint32_t row_ = 0;
  uint32_t freed_ = 0;  // envelopes, of next_
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_JOIN_TABLE_H_
