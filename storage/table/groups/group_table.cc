#include "storage/table/groups/group_table.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cache_line.h"
#include "base/check.h"
#include "base/prefetch.h"
#include "storage/table/groups/group_hash.h"
#include "storage/table/kernels/kernels.h"

namespace eris::storage {
namespace {

// Groups in memory of the run's own.
constexpr uint32_t kFirstGroups = 32;
// Fewer are in the nearest caches, and need no fetching ahead.
constexpr uint32_t kNearGroups = 256;
// Whether keys lie close together is looked at whenever there are twice as many groups: first when
// a page is worth it, and as long as it takes five pages at most.
constexpr uint32_t kFirstNearTry = 1u << 10;
constexpr uint32_t kNearTriesMax = 1u << 14;
constexpr uint64_t kNearSpanPerGroup = 8;
// Some 30 us.
constexpr uint32_t kPagesFreedAtOnce = 16;

// Cells are aligned; without cells there is no gap.
size_t CellsOffset(uint32_t words, size_t cells) {
  const size_t bytes = words * sizeof(uint64_t);
  return cells == 0 ? bytes : base::RoundUp(bytes, alignof(GroupTable::Cell));
}

GroupTable::Cell EmptyCell(Accumulator::Kind kind, ValueClass value_class) {
  GroupTable::Cell cell{.sum = 0};
  const bool extreme = kind == Accumulator::Kind::kMin || kind == Accumulator::Kind::kMax;
  const bool min = kind == Accumulator::Kind::kMin;
  if (extreme && value_class == ValueClass::kInt128) {
    cell.sum = min ? kInt128Max : kInt128Min;
  } else if (extreme && value_class != ValueClass::kString) {
    cell.key = min ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
  } else if (kind == Accumulator::Kind::kSum && value_class == ValueClass::kDouble) {
    cell.real = 0;
  }
  return cell;
}

}  // namespace

GroupTable::GroupTable(const PlanBody& plan, std::vector<ColumnType> types, PageSource& source,
                       const GroupLimits& limits)
    : plan_(plan),
      limits_(limits),
      types_(std::move(types)),
      source_(source),
      key_words_(WordsOf(plan, types_, /*carried=*/false)),
      carried_words_(WordsOf(plan, types_, /*carried=*/true)),
      key_nulls_(static_cast<uint16_t>(~plan.carried)),
      cells_offset_(CellsOffset(key_words_ + 1 + carried_words_, plan.accumulators.size())),
      texts_(source),
      values_(source),
      slots_(source),
      near_keys_(source),
      try_near_at_(key_words_ == 1 ? kFirstNearTry : 0),
      records_(source, cells_offset_ + plan.accumulators.size() * sizeof(Cell), kFirstGroups) {
  for (const Accumulator& accumulator : plan.accumulators) {
    empty_.push_back(EmptyCell(accumulator.kind, plan.values[accumulator.value].value_class));
  }
  uint32_t key_word = 0;
  uint32_t carried_word = key_words_ + 1;
  for (size_t i = 0; i < types_.size(); ++i) {
    uint32_t& word = plan.IsCarried(i) ? carried_word : key_word;
    word_of_.push_back(word);
    word += WordsOf(types_[i], plan.IsCarried(i));
  }
  // Without group columns there is one group, even without rows.
  if (types_.empty()) Add(0, nullptr, 0);
}

uint32_t GroupTable::WordsOf(const PlanBody& plan, const std::vector<ColumnType>& types,
                             bool carried) {
  uint32_t words = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    if (plan.IsCarried(i) == carried) words += WordsOf(types[i], carried);
  }
  return words;
}

template <uint32_t kWords>
uint32_t GroupTable::HashOf(const uint64_t* words, uint16_t nulls) const {
  uint64_t hash = nulls;
  for (uint32_t i = 0; i < WordCount<kWords>(); ++i) {
    hash = MixForGroups(hash + 0x632b'e59b'd9b4'e019, words[i]);
  }
  return static_cast<uint32_t>(hash);
}

template <uint32_t kWords>
bool GroupTable::Equal(uint32_t group, const uint64_t* words, uint16_t nulls) const {
  const uint64_t* const kept = this->words(group);
  uint64_t differs = (kept[WordCount<kWords>()] >> kRowBits ^ nulls) & key_nulls_;
  for (uint32_t i = 0; i < WordCount<kWords>(); ++i) differs |= kept[i] ^ words[i];
  return differs == 0;
}

void GroupTable::PrefetchRecord(uint32_t group) const {
  const std::byte* const record = this->record(group);
  const size_t bytes = cells_offset_ + empty_.size() * sizeof(Cell);
  base::Prefetch(record);
  if (bytes <= sizeof(Cell)) return;  // so aligned that it is in one line
  // Longer ones are fetched by the core's own prefetcher.
  base::Prefetch(record + std::min(bytes, 2 * base::kCacheLineBytes) - 1);
}

bool GroupTable::FindOrAddAll(const GroupKeys& keys, uint32_t count, uint32_t* groups) {
  ERIS_DCHECK(count <= kGroupsAtOnce);
  switch (key_words_) {
    case 1:
      return near_keys_.used() ? FindOrAddNear(keys, count, groups)
                               : FindOrAddSome<1>(keys, count, groups);
    case 2:
      return FindOrAddSome<2>(keys, count, groups);
    default:
      return FindOrAddSome<0>(keys, count, groups);
  }
}

template <uint32_t kWords>
bool GroupTable::FindOrAddSome(const GroupKeys& keys, uint32_t count, uint32_t* groups) {
  const auto words_of = [&](uint32_t i) {
    return keys.words.data() + size_t{i} * WordCount<kWords>();
  };
  uint32_t hashes[kGroupsAtOnce];
  if (size_ <= kNearGroups) {
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t hash = HashOf<kWords>(words_of(i), keys.nulls[i]);
      groups[i] = FindOrAdd<kWords>(hash, words_of(i), keys.nulls[i]);
      if (groups[i] == kNoGroup) return false;
    }
    return true;
  }
  for (uint32_t i = 0; i < count; ++i) {
    hashes[i] = HashOf<kWords>(words_of(i), keys.nulls[i]);
    slots_.Prefetch(hashes[i]);
  }
  for (uint32_t i = 0; i < count; ++i) {
    groups[i] = slots_.Find(hashes[i], [](uint32_t) { return true; });
    if (groups[i] != kNoGroup) PrefetchRecord(groups[i]);
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (groups[i] != kNoGroup && Equal<kWords>(groups[i], words_of(i), keys.nulls[i])) continue;
    // Another one with the same hash; or none, unless a row before it has added it.
    groups[i] = FindOrAdd<kWords>(hashes[i], words_of(i), keys.nulls[i]);
    if (groups[i] == kNoGroup) return false;
  }
  return true;
}

bool GroupTable::FindOrAddNear(const GroupKeys& keys, uint32_t count, uint32_t* groups) {
  near_keys_.Find(keys.words.data(), count, groups);
  // Rows whose keys are found by their hashes, ascending.
  uint16_t hashed[kGroupsAtOnce];
  uint32_t hashes[kGroupsAtOnce];
  uint32_t hashed_count = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (keys.nulls[i] != 0 || (groups[i] == kNoGroup && near_keys_.IsOutside(keys.words[i]))) {
      hashes[hashed_count] = HashOf<1>(&keys.words[i], keys.nulls[i]);
      slots_.Prefetch(hashes[hashed_count]);
      hashed[hashed_count++] = static_cast<uint16_t>(i);
    } else if (groups[i] != kNoGroup) {
      PrefetchRecord(groups[i]);
    }
  }
  for (uint32_t k = 0; k < hashed_count; ++k) {
    uint32_t& group = groups[hashed[k]];
    group = slots_.Find(hashes[k], [](uint32_t) { return true; });
    if (group != kNoGroup) PrefetchRecord(group);
  }
  uint32_t k = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t* const word = &keys.words[i];
    if (k < hashed_count && hashed[k] == i) {
      const uint32_t hash = hashes[k++];
      if (groups[i] != kNoGroup && Equal<1>(groups[i], word, keys.nulls[i])) continue;
      groups[i] = FindOrAddByHash<1>(hash, word, keys.nulls[i]);
    } else if (groups[i] == kNoGroup) {
      groups[i] = FindOrAddNear(*word, keys.nulls[i]);
    }
    if (groups[i] == kNoGroup) return false;
  }
  return true;
}

uint32_t GroupTable::FindOrAddNear(uint64_t word, uint16_t nulls) {
  uint32_t* place = nulls == 0 ? near_keys_.Place(word) : nullptr;
  if (place == nullptr && nulls == 0) place = near_keys_.Extend(word, size_);
  if (place == nullptr) return FindOrAddByHash<1>(HashOf<1>(&word, nulls), &word, nulls);
  if (*place == kNoGroup) *place = AddRecord(&word, nulls);
  return *place;
}

void GroupTable::TryNearKeys() {
  try_near_at_ = size_ < kNearTriesMax ? 2 * size_ : 0;
  // Distances from one key, so that negative ones are close to the others.
  std::optional<uint64_t> from;
  int64_t least = 0, most = 0;
  for (uint32_t group = 0; group < size_; ++group) {
    if ((nulls(group) & key_nulls_) != 0) continue;
    if (!from) from = words(group)[0];
    const auto distance = static_cast<int64_t>(words(group)[0] - *from);
    least = std::min(least, distance);
    most = std::max(most, distance);
  }
  const uint64_t span = static_cast<uint64_t>(most) - static_cast<uint64_t>(least);
  if (!from || span > size_ * kNearSpanPerGroup ||
      !near_keys_.Begin(*from + static_cast<uint64_t>(least), span + 1)) {
    return;
  }
  try_near_at_ = 0;
  for (uint32_t group = 0; group < size_; ++group) {
    if ((nulls(group) & key_nulls_) == 0) *near_keys_.Place(words(group)[0]) = group;
  }
}

template <uint32_t kWords>
uint32_t GroupTable::FindOrAdd(uint32_t hash, const uint64_t* words, uint16_t nulls) {
  if constexpr (kWords == 1) {
    if (near_keys_.used()) return FindOrAddNear(words[0], nulls);
  }
  return FindOrAddByHash<kWords>(hash, words, nulls);
}

template <uint32_t kWords>
uint32_t GroupTable::FindOrAddByHash(uint32_t hash, const uint64_t* words, uint16_t nulls) {
  const uint32_t found =
      slots_.Find(hash, [&](uint32_t group) { return Equal<kWords>(group, words, nulls); });
  return found != kNoGroup ? found : Add(hash, words, nulls);
}

uint32_t GroupTable::Add(uint32_t hash, const uint64_t* words, uint16_t nulls) {
  // Before the group is there: what throws leaves the table as it was.
  if (size_ == try_near_at_ && size_ > 0) {
    TryNearKeys();
    if (near_keys_.used()) return FindOrAddNear(words[0], nulls);
  }
  const uint32_t added = AddRecord(words, nulls);
  if (added != kNoGroup) slots_.Add(hash, added);
  return added;
}

uint32_t GroupTable::AddRecord(const uint64_t* words, uint16_t nulls) {
  if (!MayAdd()) return kNoGroup;
  std::byte* const record = this->record(size_);
  std::copy_n(words, key_words_, WordsIn(record));
  WordsIn(record)[key_words_] = uint64_t{nulls} << kRowBits;
  std::copy(empty_.begin(), empty_.end(), cells(size_));
  return size_++;
}

void GroupTable::Carry(const GroupKeys& carried, uint32_t count, uint32_t first) {
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t* const words = WordsIn(record(first + i)) + key_words_;
    words[0] |= uint64_t{carried.nulls[i]} << kRowBits;
    std::copy_n(&carried.words[size_t{i} * carried_words_], carried_words_, words + 1);
  }
}

bool GroupTable::PlaceCarried(std::string_view text, uint64_t* words) {
  char* const place = texts_.Place(std::max<size_t>(text.size(), 1));
  if (place == nullptr) return Refused();
  std::copy(text.begin(), text.end(), place);
  words[0] = reinterpret_cast<uint64_t>(place);
  words[1] = text.size();
  return true;
}

bool GroupTable::MayAdd() {
  if (size_ == limits_.groups) {
    status_ = absl::OutOfRangeError(absl::StrCat("a query has more than ", limits_.groups,
                                                 " groups: group by fewer values, or filter rows"));
    return false;
  }
  if ((size_t{size_} + 1) * empty_.size() * sizeof(Cell) > limits_.cell_bytes) {
    status_ = absl::OutOfRangeError(
        absl::StrCat("what a query adds up for its groups takes more than ", limits_.cell_bytes,
                     " bytes with ", size_, " groups: ask for fewer aggregates or groups"));
    return false;
  }
  if (size_ == records_.room() && !records_.Grow()) return Refused();
  return slots_.Reserve() || Refused();
}

bool GroupTable::Refused() {
  status_ = source_.Refusal();
  return false;
}

bool GroupTable::InternAll(const std::string_view* texts, uint32_t count, uint32_t* numbers) {
  ERIS_DCHECK(count <= kGroupsAtOnce);
  uint32_t hashes[kGroupsAtOnce];
  for (uint32_t i = 0; i < count; ++i) {
    hashes[i] = GroupTexts::HashOf(texts[i]);
    texts_.Prefetch(hashes[i]);
  }
  for (uint32_t i = 0; i < count; ++i) numbers[i] = texts_.PrefetchLikely(hashes[i]);
  for (uint32_t i = 0; i < count; ++i) {
    if (numbers[i] != kNoGroup) texts_.PrefetchBytes(numbers[i]);
  }
  for (uint32_t i = 0; i < count; ++i) {
    numbers[i] = Intern(texts[i], hashes[i]);
    if (numbers[i] == kNoGroup) return false;
  }
  return true;
}

uint32_t GroupTable::Intern(std::string_view text, uint32_t hash) {
  const uint32_t found = texts_.Find(text, hash);
  if (found != kNoGroup) return found;
  if (texts_.bytes() + text.size() > limits_.text_bytes) {
    status_ = absl::OutOfRangeError(
        absl::StrCat("the strings that a query groups by take more than ", limits_.text_bytes,
                     " bytes: group by shorter strings, or filter rows"));
    return kNoGroup;
  }
  const uint32_t added = texts_.Add(text, hash);
  if (added == kNoGroup) Refused();
  return added;
}

bool GroupTable::TakeKeys(const GroupTable& other, uint32_t from, uint32_t count, GroupKeys& keys) {
  for (uint32_t i = 0; i < count; ++i) {
    keys.nulls[i] = static_cast<uint16_t>(other.nulls(from + i) & key_nulls_);
    std::copy_n(other.words(from + i), key_words_, &keys.words[size_t{i} * key_words_]);
  }
  for (size_t column = 0; column < types_.size(); ++column) {
    if (!IsByteString(types_[column]) || plan_.IsCarried(column)) continue;
    for (uint32_t i = 0; i < count; ++i) {
      if (other.null(from + i, column)) continue;
      uint64_t& word = keys.words[size_t{i} * key_words_ + word_of_[column]];
      const std::string_view text = other.Text(word);
      const uint32_t number = Intern(text, GroupTexts::HashOf(text));
      if (number == kNoGroup) return false;
      word = number;
    }
  }
  return true;
}

bool GroupTable::TakeCarried(const GroupTable& other, uint32_t from, uint32_t group) {
  const uint64_t* const kept = other.words(from) + key_words_;
  uint64_t* const words = WordsIn(record(group)) + key_words_;
  words[0] |= kept[0] >> kRowBits << kRowBits;
  std::copy_n(kept + 1, carried_words_, words + 1);
  for (size_t column = 0; column < types_.size(); ++column) {
    if (!IsByteString(types_[column]) || !plan_.IsCarried(column)) continue;
    uint64_t* const place = WordsIn(record(group)) + word_of_[column];
    if (!null(group, column) && !PlaceCarried(TextOf(column, place), place)) return false;
  }
  return true;
}

bool GroupTable::Merge(const GroupTable& other) {
  GroupKeys keys;
  uint32_t groups[kGroupsAtOnce];
  for (uint32_t first = 0; first < other.size_; first += kGroupsAtOnce) {
    const uint32_t count = std::min(kGroupsAtOnce, other.size_ - first);
    uint32_t known = size_;
    if (!TakeKeys(other, first, count, keys) || !FindOrAddAll(keys, count, groups)) return false;
    for (uint32_t i = 0; i < count; ++i) {
      const bool added = groups[i] == known;
      if (added) ++known;
      if (added && carried_words_ > 0 && !TakeCarried(other, first + i, groups[i])) return false;
      AddRows(groups[i], other.rows(first + i));
      const Cell* const from = other.cells(first + i);
      Cell* const to = cells(groups[i]);
      for (uint32_t a = 0; a < empty_.size(); ++a) {
        if (!AddCell(a, from[a], to[a])) return false;
      }
    }
  }
  return true;
}

bool GroupTable::FreeSome() {
  size_ = 0;
  uint32_t pages = kPagesFreedAtOnce;
  return records_.FreeSome(pages) || slots_.FreeSome(pages) || near_keys_.FreeSome(pages) ||
         texts_.FreeSome(pages) || values_.FreeSome(pages);
}

int GroupTable::CompareColumn(uint32_t a, uint32_t b, size_t column) const {
  if (null(a, column) || null(b, column)) return int{null(b, column)} - int{null(a, column)};
  const auto sign = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
  const uint64_t* const a_words = words(a) + word_of_[column];
  const uint64_t* const b_words = words(b) + word_of_[column];
  const Scalar x{.u64 = a_words[0]};
  const Scalar y{.u64 = b_words[0]};
  switch (ClassOf(types_[column])) {
    case ValueClass::kString:
      return sign(TextOf(column, a_words), TextOf(column, b_words));
    case ValueClass::kUnsigned:
      return sign(x.u64, y.u64);
    case ValueClass::kDouble:
      return sign(kernels::OrderKey(x.f64), kernels::OrderKey(y.f64));
    case ValueClass::kSigned:
      return sign(x.i64, y.i64);
    case ValueClass::kInt128:
      return sign(NumberOfHalves({a_words[0], a_words[1]}),
                  NumberOfHalves({b_words[0], b_words[1]}));
  }
  return 0;
}

void GroupTable::Sort(std::vector<uint32_t>& order) const {
  order.resize(size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    for (size_t i = 0; i < types_.size(); ++i) {
      const int sign = CompareColumn(a, b, i);
      if (sign != 0) return sign < 0;
    }
    return false;
  });
}

bool GroupTable::KeepExtreme(uint32_t accumulator, std::string_view text, Cell& cell) {
  const bool min = plan_.accumulators[accumulator].kind == Accumulator::Kind::kMin;
  Extreme& kept = cell.extreme;
  const bool first = kept.data == nullptr;
  if (!first && (min ? text >= ExtremeOf(cell) : text <= ExtremeOf(cell))) return true;
  if (first || text.size() > kept.room) {
    // At least twice as much, so places that are given up take less than the last one.
    constexpr size_t kLeast = 16;
    const size_t room = base::RoundUp(std::max(text.size(), size_t{2} * kept.room), kLeast);
    char* const place = texts_.Place(std::max(room, kLeast));
    if (place == nullptr) return Refused();
    kept.data = place;
    kept.room = static_cast<uint32_t>(std::max(room, kLeast));
  }
  std::copy(text.begin(), text.end(), kept.data);
  kept.size = static_cast<uint32_t>(text.size());
  return true;
}

bool GroupTable::AddWide(uint32_t accumulator, Int128 value, Cell& cell) {
  if (!__builtin_add_overflow(cell.sum, value, &cell.sum)) return true;
  status_ = absl::OutOfRangeError(
      absl::StrCat("the sum of ", plan_.values[plan_.accumulators[accumulator].value].text,
                   " is outside its type, ", ColumnTypeName(ColumnType::kInt128)));
  return false;
}

bool GroupTable::AddCell(uint32_t accumulator, const Cell& from, Cell& to) {
  const Accumulator& what = plan_.accumulators[accumulator];
  const ValueClass value_class = plan_.values[what.value].value_class;
  const bool wide = value_class == ValueClass::kInt128;
  switch (what.kind) {
    case Accumulator::Kind::kSum:
      if (value_class != ValueClass::kDouble) return AddWide(accumulator, from.sum, to);
      to.real += from.real;
      break;
    case Accumulator::Kind::kMin:
    case Accumulator::Kind::kMax:
      if (value_class == ValueClass::kString) {
        return from.extreme.data == nullptr || KeepExtreme(accumulator, ExtremeOf(from), to);
      }
      if (what.kind == Accumulator::Kind::kMin) {
        if (wide) to.sum = std::min(to.sum, from.sum);
        if (!wide) to.key = std::min(to.key, from.key);
      } else {
        if (wide) to.sum = std::max(to.sum, from.sum);
        if (!wide) to.key = std::max(to.key, from.key);
      }
      break;
    case Accumulator::Kind::kCount:
      to.count += from.count;
      break;
    case Accumulator::Kind::kValues:
      return (wide ? values_.AddAll<Int128>(from.values, to.values)
                   : values_.AddAll<int64_t>(from.values, to.values)) ||
             Refused();
  }
  return true;
}

}  // namespace eris::storage
