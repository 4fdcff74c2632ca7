#include "storage/table/query/group_table.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/table/kernels/kernels.h"

namespace eris::storage {
namespace {

uint64_t Mix(uint64_t hash, uint64_t word) {
  const Uint128 product = Uint128{(hash ^ word) * 0x9e37'79b9'7f4a'7c15} * 0xd6e8'feb8'6659'fd93;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t HashOfText(std::string_view text) {
  uint64_t hash = text.size();
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word = 0;
    __builtin_memcpy(&word, text.data() + i, sizeof word);
    hash = Mix(hash, word);
  }
  uint64_t rest = 0;
  for (; i < text.size(); ++i) rest = rest << 8 | static_cast<uint8_t>(text[i]);
  return Mix(hash, rest);
}

constexpr size_t kFirstSlots = 64;
// Room that a run has without counting it.
constexpr size_t kFirstGroups = kFirstSlots / 2;
constexpr size_t kFirstTextBytes = 4096;
// Bytes of a string besides its text: its end, and two slots.
constexpr size_t kBytesBesideText = sizeof(uint64_t) + 2 * sizeof(uint32_t);

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

GroupTable::GroupTable(const PlanBody& plan, std::vector<ColumnType> types, RunMemory* memory,
                       const GroupLimits& limits)
    : plan_(plan),
      limits_(limits),
      types_(std::move(types)),
      accumulators_(static_cast<uint32_t>(plan.accumulators.size())),
      share_(memory) {
  for (const Accumulator& accumulator : plan.accumulators) {
    empty_.push_back(EmptyCell(accumulator.kind, plan.values[accumulator.value].value_class));
  }
  for (const ColumnType type : types_) {
    word_of_.push_back(stride_);
    stride_ += type == ColumnType::kInt128 ? 2 : 1;
  }
  Clear();
}

void GroupTable::Clear() {
  // Frees their memory too.
  std::vector<uint64_t>().swap(words_);
  std::vector<uint16_t>().swap(nulls_);
  std::vector<std::string>().swap(extremes_);
  std::vector<uint64_t>().swap(rows_);
  std::vector<Cell>().swap(cells_);
  std::vector<char>().swap(text_);
  std::vector<uint64_t>(1, 0).swap(text_ends_);
  std::vector<uint32_t>(kFirstSlots, kNoGroup).swap(slots_);
  std::vector<uint32_t>(kFirstSlots, kNoGroup).swap(text_slots_);
  share_.GiveAll();
  groups_room_ = kFirstGroups;
  text_room_ = kFirstTextBytes;
  // Without group columns there is one group, even without rows.
  if (types_.empty()) FindOrAdd({});
}

uint64_t GroupTable::HashOf(const uint64_t* words, uint16_t nulls) const {
  uint64_t hash = nulls;
  for (size_t i = 0; i < stride_; ++i) hash = Mix(hash + 0x632b'e59b'd9b4'e019, words[i]);
  return hash;
}

void GroupTable::Rehash(size_t slots) {
  slots_.assign(slots, kNoGroup);
  for (uint32_t group = 0; group < size(); ++group) {
    size_t at = HashOf(words(group), nulls_[group]) & (slots - 1);
    while (slots_[at] != kNoGroup) at = (at + 1) & (slots - 1);
    slots_[at] = group;
  }
}

bool GroupTable::Take(uint64_t bytes) {
  if (share_.Take(bytes)) return true;
  status_ = absl::ResourceExhaustedError(
      absl::StrCat("the groups of a query take ", bytes, " bytes more, of which the ",
                   share_.bytes_max(), " bytes for all queries have not so many left"));
  return false;
}

bool GroupTable::GrowGroups() {
  const uint64_t each = stride_ * sizeof(uint64_t) + sizeof(uint16_t) + sizeof(uint64_t) +
                        2 * sizeof(uint32_t) + empty_.size() * sizeof(Cell);
  if (!Take(groups_room_ * each)) return false;
  groups_room_ *= 2;
  words_.reserve(groups_room_ * stride_);
  nulls_.reserve(groups_room_);
  rows_.reserve(groups_room_);
  cells_.reserve(groups_room_ * empty_.size());
  return true;
}

bool GroupTable::GrowText(size_t bytes) {
  const size_t more = std::max(text_room_, bytes);
  if (!Take(more)) return false;
  text_room_ += more;
  return true;
}

uint32_t GroupTable::FindOrAdd(const GroupKey& key) {
  size_t at = HashOf(key.words.data(), key.nulls) & (slots_.size() - 1);
  for (; slots_[at] != kNoGroup; at = (at + 1) & (slots_.size() - 1)) {
    const uint32_t found = slots_[at];
    if (nulls_[found] == key.nulls &&
        std::equal(words(found), words(found) + stride_, key.words.data())) {
      return found;
    }
  }
  if (size() == limits_.groups) {
    status_ = absl::OutOfRangeError(absl::StrCat("a query has more than ", limits_.groups,
                                                 " groups: group by fewer values, or filter rows"));
    return kNoGroup;
  }
  if ((size_t{size()} + 1) * empty_.size() * sizeof(Cell) > limits_.cell_bytes) {
    status_ = absl::OutOfRangeError(
        absl::StrCat("what a query adds up for its groups takes more than ", limits_.cell_bytes,
                     " bytes with ", size(), " groups: ask for fewer aggregates or groups"));
    return kNoGroup;
  }
  if (size() == groups_room_ && !GrowGroups()) return kNoGroup;
  const uint32_t group = size();
  words_.insert(words_.end(), key.words.data(), key.words.data() + stride_);
  nulls_.push_back(key.nulls);
  rows_.push_back(0);
  cells_.insert(cells_.end(), empty_.begin(), empty_.end());
  slots_[at] = group;
  if (size_t{size()} * 2 > slots_.size()) Rehash(slots_.size() * 2);
  return group;
}

uint32_t GroupTable::Intern(std::string_view text) {
  size_t at = HashOfText(text) & (text_slots_.size() - 1);
  while (text_slots_[at] != kNoGroup) {
    if (Text(text_slots_[at]) == text) return text_slots_[at];
    at = (at + 1) & (text_slots_.size() - 1);
  }
  if (text_.size() + text.size() > limits_.text_bytes) {
    status_ = absl::OutOfRangeError(
        absl::StrCat("the strings that a query groups by take more than ", limits_.text_bytes,
                     " bytes: group by shorter strings, or filter rows"));
    return kNoGroup;
  }
  const size_t needed = text_.size() + text.size() + text_ends_.size() * kBytesBesideText;
  if (needed > text_room_ && !GrowText(needed - text_room_)) return kNoGroup;
  const auto number = static_cast<uint32_t>(text_ends_.size() - 1);
  text_.insert(text_.end(), text.begin(), text.end());
  text_ends_.push_back(text_.size());
  text_slots_[at] = number;
  if (text_ends_.size() * 2 > text_slots_.size()) {
    const size_t slots = text_slots_.size() * 2;
    text_slots_.assign(slots, kNoGroup);
    for (uint32_t i = 0; i <= number; ++i) {
      size_t to = HashOfText(Text(i)) & (slots - 1);
      while (text_slots_[to] != kNoGroup) to = (to + 1) & (slots - 1);
      text_slots_[to] = i;
    }
  }
  return number;
}

bool GroupTable::Merge(const GroupTable& other) {
  for (uint32_t from = 0; from < other.size(); ++from) {
    GroupKey key;
    key.nulls = other.nulls_[from];
    std::copy_n(other.words(from), stride_, key.words.data());
    for (size_t i = 0; i < types_.size(); ++i) {
      if (types_[i] != ColumnType::kString || other.null(from, i)) continue;
      uint64_t& word = key.words[word_of_[i]];
      const uint32_t number = Intern(other.Text(word));
      if (number == kNoGroup) return false;
      word = number;
    }
    const uint32_t to = FindOrAdd(key);
    if (to == kNoGroup) return false;
    rows_[to] += other.rows_[from];
    for (uint32_t i = 0; i < accumulators_; ++i) {
      const Cell& cell = other.cells_[size_t{from} * accumulators_ + i];
      if (!AddCell(i, other, cell, cells(to)[i])) return false;
    }
  }
  return true;
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
      return sign(Text(x.u64), Text(y.u64));
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
  if (cell.count != 0 && (min ? text >= ExtremeOf(cell) : text <= ExtremeOf(cell))) return true;
  const bool first = cell.count == 0;
  const size_t room = first ? 0 : extremes_[cell.count - 1].capacity();
  if (first || text.size() > room) {
    if (!Take(text.size() - (first ? 0 : room) + (first ? 2 * sizeof(std::string) : 0)))
      return false;
  }
  if (first) {
    extremes_.emplace_back();
    cell.count = extremes_.size();
  }
  extremes_[cell.count - 1].assign(text);
  return true;
}

bool GroupTable::AddWide(uint32_t accumulator, Int128 value, Cell& cell) {
  if (!__builtin_add_overflow(cell.sum, value, &cell.sum)) return true;
  status_ = absl::OutOfRangeError(
      absl::StrCat("the sum of ", plan_.values[plan_.accumulators[accumulator].value].text,
                   " is outside its type, ", ColumnTypeName(ColumnType::kInt128)));
  return false;
}

bool GroupTable::AddCell(uint32_t accumulator, const GroupTable& other, const Cell& from,
                         Cell& to) {
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
        return from.count == 0 || KeepExtreme(accumulator, other.ExtremeOf(from), to);
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
  }
  return true;
}

}  // namespace eris::storage
