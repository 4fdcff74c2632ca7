// Groups and their sums. A group is one record, so its key and what is added up for it are fetched
// together:
//
//   words of the key | rows (48 bits), nulls (16 bits) | carried words | a cell per accumulator
//
// The key are the group columns that tell groups apart. The others are carried: they are the same
// in all rows of a group, and are taken from its first one (Carry), neither hashed nor compared.
// Where an aggregate needs all values of a group, they are in chunks (group_values.h), and the cell
// has the end of them. Strings of keys are kept once, and have numbers; those that are carried have
// places. Grows at most to its limits, and as far as the source of its pages allows, a page at a
// time (five when it begins to find keys by their places). Beyond a limit of its own it refuses
// with OutOfRange, since the same query meets it again; where memory is short just now with
// ResourceExhausted. Either way it stays as it was, unless what is refused is a carried string
// (PlaceCarried). Its limit of bytes is of strings in keys: those that are carried are bounded by
// memory alone. One TableRun owns it; no latch. Paper: ERIS 3.1.
#ifndef ERIS_STORAGE_TABLE_GROUP_TABLE_H_
#define ERIS_STORAGE_TABLE_GROUP_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "storage/table/groups/group_limits.h"
#include "storage/table/groups/group_pages.h"
#include "storage/table/groups/group_slots.h"
#include "storage/table/groups/group_texts.h"
#include "storage/table/groups/group_values.h"
#include "storage/table/groups/near_keys.h"
#include "storage/table/plan/plan_body.h"

namespace eris::storage {

// Rows whose groups are found together: while one row waits for memory, the others are fetched.
inline constexpr uint32_t kGroupsAtOnce = 64;

// The keys of some rows, or their carried columns. Only as many words as these columns have are
// used.
struct GroupKeys {
  // Row by row, and in a row by column: an integer, of 128 bits in two words, a double's bits (one
  // zero, one NaN), or a string's number; a carried string's place and size. If null 0.
  std::array<uint64_t, size_t{kGroupsAtOnce} * 2 * kGroupColumnsMax> words;
  std::array<uint16_t, kGroupsAtOnce> nulls;  // by row; bit i: group column i is null
};
static_assert(kGroupColumnsMax <= 16);

// A number as a group: an integer in 64 bits, of a double its only spelling.
template <class T>
uint64_t GroupWord(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    uint64_t bits = 0x7ff8'0000'0000'0000;
    if (value == 0) return 0;
    if (value == value) __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
  } else {
    return static_cast<uint64_t>(value);
  }
}

class GroupTable {
 public:
  static constexpr uint32_t kNoGroup = ~uint32_t{0};

  // A minimum or maximum of strings. nullptr: none so far.
  struct Extreme {
    char* data;
    uint32_t size;
    uint32_t room;
  };
  // By accumulator: a sum of integers or an extreme of 128 bits, a sum of doubles, an order key, a
  // count, an extreme of strings, or where all values are: order keys, or numbers of 128 bits.
  union Cell {
    Int128 sum;
    double real;
    int64_t key;
    uint64_t count;
    Extreme extreme;
    GroupValues::Chain values;
  };
  static_assert(sizeof(Cell) == sizeof(Int128));

  // `types`: of the group columns. `source` outlives it. Throws std::bad_alloc, as all that adds
  // something does; then, too, the table stays as it was.
  GroupTable(const PlanBody& plan, std::vector<ColumnType> types, PageSource& source,
             const GroupLimits& limits = {});

  uint32_t size() const { return size_; }
  // Words of a key, and of what is carried with it.
  uint32_t key_words() const { return key_words_; }
  uint32_t carried_words() const { return carried_words_; }
  uint32_t words_of(size_t column) const {
    return WordsOf(types_[column], plan_.IsCarried(column));
  }
  // Where the words of a column begin: in a record; and in a row of GroupKeys.
  uint32_t word_of(size_t column) const { return word_of_[column]; }
  uint32_t row_word_of(size_t column) const {
    return plan_.IsCarried(column) ? word_of_[column] - key_words_ - 1 : word_of_[column];
  }
  // The groups with the first `count` of the keys, at most kGroupsAtOnce, added if absent: new ones
  // have numbers from size() on, in the order of their first rows. False: there are too many,
  // status(); those before have been added.
  [[nodiscard]] bool FindOrAddAll(const GroupKeys& keys, uint32_t count, uint32_t* groups);
  // Gives new groups, from `first` on, what they carry; to be called before any group is added.
  void Carry(const GroupKeys& carried, uint32_t count, uint32_t first);
  // Writes the two words of a carried string. False: no memory, status(). Then there are groups
  // without what they carry, and the run must end.
  [[nodiscard]] bool PlaceCarried(std::string_view text, uint64_t* words);
  // The numbers of `count` strings, at most kGroupsAtOnce, for use in keys. False: too many bytes,
  // status(); those before have been added.
  [[nodiscard]] bool InternAll(const std::string_view* texts, uint32_t count, uint32_t* numbers);
  std::string_view Text(uint64_t number) const { return texts_.Text(number); }
  // The string of a group column that is not null, from its words.
  std::string_view TextOf(size_t column, const uint64_t* words) const {
    if (!plan_.IsCarried(column)) return Text(words[0]);
    return {reinterpret_cast<const char*>(words[0]), words[1]};
  }

  // A group's record. It stays where it is until a group is added.
  std::byte* record(uint32_t group) const { return records_.At(group); }
  static uint64_t* WordsIn(std::byte* record) { return reinterpret_cast<uint64_t*>(record); }
  void AddRows(std::byte* record, uint64_t rows) const { WordsIn(record)[key_words_] += rows; }
  // Where the cell of an accumulator is in a record.
  size_t cell_offset(size_t accumulator) const {
    return cells_offset_ + accumulator * sizeof(Cell);
  }

  const uint64_t* words(uint32_t group) const { return WordsIn(record(group)); }
  uint16_t nulls(uint32_t group) const {
    return static_cast<uint16_t>(words(group)[key_words_] >> kRowBits);
  }
  bool null(uint32_t group, size_t column) const { return (nulls(group) >> column & 1) != 0; }
  uint64_t rows(uint32_t group) const {
    return words(group)[key_words_] & ((uint64_t{1} << kRowBits) - 1);
  }
  void AddRows(uint32_t group, uint64_t rows) { AddRows(record(group), rows); }
  Cell* cells(uint32_t group) const {
    return reinterpret_cast<Cell*>(record(group) + cells_offset_);
  }

  // Combines a value with a cell for a minimum or maximum of strings. False: no memory, status().
  bool KeepExtreme(uint32_t accumulator, std::string_view text, Cell& cell);
  static std::string_view ExtremeOf(const Cell& cell) {
    return {cell.extreme.data, cell.extreme.size};
  }
  // Adds a value to all values of a group. False: no memory, status().
  template <class T>
  [[nodiscard]] bool KeepValue(T value, Cell& cell) {
    return values_.Add(cell.values, value) || Refused();
  }
  // Adds to a sum of numbers of 128 bits. False: it is outside them, status().
  bool AddWide(uint32_t accumulator, Int128 value, Cell& cell);

  // Merges `other`, of the same plan. False: too many groups, or a sum outside 128 bits, status().
  bool Merge(const GroupTable& other);
  // Groups in the order of their keys.
  void Sort(std::vector<uint32_t>& order) const;
  // Frees a piece of its memory. True: there is more. After it only FreeSome may be called.
  bool FreeSome();

  const absl::Status& status() const { return status_; }

 private:
  static constexpr uint32_t kRowBits = 48;

  // A carried string has a place and a size.
  static uint32_t WordsOf(ColumnType type, bool carried) {
    return type == ColumnType::kInt128 || (carried && IsByteString(type)) ? 2 : 1;
  }
  static uint32_t WordsOf(const PlanBody& plan, const std::vector<ColumnType>& types, bool carried);

  // Words of a key, known to the compiler unless kWords is 0.
  template <uint32_t kWords>
  uint32_t WordCount() const {
    return kWords != 0 ? kWords : key_words_;
  }
  template <uint32_t kWords>
  uint32_t HashOf(const uint64_t* words, uint16_t nulls) const;
  template <uint32_t kWords>
  bool Equal(uint32_t group, const uint64_t* words, uint16_t nulls) const;
  void PrefetchRecord(uint32_t group) const;
  template <uint32_t kWords>
  bool FindOrAddSome(const GroupKeys& keys, uint32_t count, uint32_t* groups);
  // FindOrAddSome for keys of one word, some of which have places.
  bool FindOrAddNear(const GroupKeys& keys, uint32_t count, uint32_t* groups);
  // kNoGroup, of all: as FindOrAddAll.
  template <uint32_t kWords>
  uint32_t FindOrAdd(uint32_t hash, const uint64_t* words, uint16_t nulls);
  template <uint32_t kWords>
  uint32_t FindOrAddByHash(uint32_t hash, const uint64_t* words, uint16_t nulls);
  uint32_t FindOrAddNear(uint64_t word, uint16_t nulls);
  uint32_t Add(uint32_t hash, const uint64_t* words, uint16_t nulls);
  // A group without a way to find it.
  uint32_t AddRecord(const uint64_t* words, uint16_t nulls);
  bool MayAdd();
  // Gives places to the keys of all groups if they lie close together.
  void TryNearKeys();
  uint32_t Intern(std::string_view text, uint32_t hash);
  // False, with the status of the source.
  bool Refused();
  // Copies the keys of groups [from, from + count) of `other`; strings get their numbers here.
  bool TakeKeys(const GroupTable& other, uint32_t from, uint32_t count, GroupKeys& keys);
  // Copies what group `from` of `other` carries to a new group; strings get places here.
  bool TakeCarried(const GroupTable& other, uint32_t from, uint32_t group);
  // Adds up two partial results of one accumulator.
  bool AddCell(uint32_t accumulator, const Cell& from, Cell& to);
  // -1, 0 or 1 by a column of the keys of two groups.
  int CompareColumn(uint32_t a, uint32_t b, size_t column) const;

  const PlanBody& plan_;
  const GroupLimits limits_;
  const std::vector<ColumnType> types_;
  PageSource& source_;
  std::vector<uint32_t> word_of_;  // by group column
  const uint32_t key_words_;
  const uint32_t carried_words_;
  const uint64_t key_nulls_;  // bit i: group column i is one of the key
  const size_t cells_offset_;
  std::vector<Cell> empty_;  // the initial cells of a new group
  GroupTexts texts_;
  GroupValues values_;
  GroupSlots slots_;
  NearKeys near_keys_;        // only for keys of one word
  uint32_t try_near_at_ = 0;  // groups; 0: no more
  RecordPages records_;       // by group
  uint32_t size_ = 0;
  absl::Status status_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_GROUP_TABLE_H_
