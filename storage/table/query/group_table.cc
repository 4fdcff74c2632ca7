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

uint64_t HashOf(const GroupKey& key, size_t columns) {
  uint64_t hash = key.nulls;
  for (size_t i = 0; i < columns; ++i) hash = Mix(hash + 0x632b'e59b'd9b4'e019, key.words[i]);
  return hash;
}

uint64_t HashOf(std::string_view text) {
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

}  // namespace

GroupTable::GroupTable(const PlanBody& plan, std::vector<ColumnType> types, RunMemory* memory)
    : plan_(plan),
      types_(std::move(types)),
      accumulators_(static_cast<uint32_t>(plan.accumulators.size())),
      share_(memory) {
  for (const Accumulator& accumulator : plan.accumulators) {
    Cell cell{.sum = 0};
    if (accumulator.kind == Accumulator::Kind::kMin) {
      cell.key = std::numeric_limits<int64_t>::max();
    } else if (accumulator.kind == Accumulator::Kind::kMax) {
      cell.key = std::numeric_limits<int64_t>::min();
    } else if (accumulator.kind == Accumulator::Kind::kSum &&
               plan.values[accumulator.value].value_class == ValueClass::kDouble) {
      cell.real = 0;
    }
    empty_.push_back(cell);
  }
  Clear();
}

void GroupTable::Clear() {
  // Frees their memory too.
  std::vector<GroupKey>().swap(keys_);
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
  if (plan_.group_columns.empty()) FindOrAdd({});
}

void GroupTable::Rehash(size_t slots) {
  slots_.assign(slots, kNoGroup);
  for (uint32_t group = 0; group < keys_.size(); ++group) {
    size_t at = HashOf(keys_[group], types_.size()) & (slots - 1);
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
  const uint64_t each =
      sizeof(GroupKey) + sizeof(uint64_t) + 2 * sizeof(uint32_t) + empty_.size() * sizeof(Cell);
  if (!Take(groups_room_ * each)) return false;
  groups_room_ *= 2;
  keys_.reserve(groups_room_);
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
  size_t at = HashOf(key, types_.size()) & (slots_.size() - 1);
  while (slots_[at] != kNoGroup) {
    if (keys_[slots_[at]] == key) return slots_[at];
    at = (at + 1) & (slots_.size() - 1);
  }
  if (keys_.size() == kGroupsMax) {
    status_ = absl::OutOfRangeError(absl::StrCat("a query has more than ", kGroupsMax,
                                                 " groups: group by fewer values, or filter rows"));
    return kNoGroup;
  }
  if ((keys_.size() + 1) * empty_.size() * sizeof(Cell) > kGroupCellBytesMax) {
    status_ = absl::OutOfRangeError(
        absl::StrCat("what a query adds up for its groups takes more than ", kGroupCellBytesMax,
                     " bytes with ", keys_.size(), " groups: ask for fewer aggregates or groups"));
    return kNoGroup;
  }
  if (keys_.size() == groups_room_ && !GrowGroups()) return kNoGroup;
  const uint32_t group = size();
  keys_.push_back(key);
  rows_.push_back(0);
  cells_.insert(cells_.end(), empty_.begin(), empty_.end());
  slots_[at] = group;
  if (keys_.size() * 2 > slots_.size()) Rehash(slots_.size() * 2);
  return group;
}

uint32_t GroupTable::Intern(std::string_view text) {
  size_t at = HashOf(text) & (text_slots_.size() - 1);
  while (text_slots_[at] != kNoGroup) {
    if (Text(text_slots_[at]) == text) return text_slots_[at];
    at = (at + 1) & (text_slots_.size() - 1);
  }
  if (text_.size() + text.size() > kGroupTextBytesMax) {
    status_ = absl::OutOfRangeError(
        absl::StrCat("the strings that a query groups by take more than ", kGroupTextBytesMax,
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
      size_t to = HashOf(Text(i)) & (slots - 1);
      while (text_slots_[to] != kNoGroup) to = (to + 1) & (slots - 1);
      text_slots_[to] = i;
    }
  }
  return number;
}

bool GroupTable::Merge(const GroupTable& other) {
  for (uint32_t from = 0; from < other.size(); ++from) {
    GroupKey key = other.keys_[from];
    for (size_t i = 0; i < plan_.group_columns.size(); ++i) {
      if (types_[i] == ColumnType::kString && (key.nulls >> i & 1) == 0) {
        const uint32_t number = Intern(other.Text(key.words[i]));
        if (number == kNoGroup) return false;
        key.words[i] = number;
      }
    }
    const uint32_t to = FindOrAdd(key);
    if (to == kNoGroup) return false;
    rows_[to] += other.rows_[from];
    for (uint32_t i = 0; i < accumulators_; ++i) {
      AddCell(plan_, i, other.cells_[size_t{from} * accumulators_ + i], cells(to)[i]);
    }
  }
  return true;
}

void GroupTable::Sort(std::vector<uint32_t>& order) const {
  order.resize(keys_.size());
  std::iota(order.begin(), order.end(), 0);
  // -1, 0 or 1 by column i.
  const auto compare = [&](const GroupKey& a, const GroupKey& b, size_t i) {
    const bool a_null = (a.nulls >> i & 1) != 0;
    const bool b_null = (b.nulls >> i & 1) != 0;
    if (a_null || b_null) return int{b_null} - int{a_null};
    const auto sign = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
    const Scalar x{.u64 = a.words[i]};
    const Scalar y{.u64 = b.words[i]};
    switch (ClassOf(types_[i])) {
      case ValueClass::kString:
        return sign(Text(x.u64), Text(y.u64));
      case ValueClass::kUnsigned:
        return sign(x.u64, y.u64);
      case ValueClass::kDouble:
        return sign(kernels::OrderKey(x.f64), kernels::OrderKey(y.f64));
      case ValueClass::kSigned:
        return sign(x.i64, y.i64);
    }
    return 0;
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    for (size_t i = 0; i < types_.size(); ++i) {
      const int sign = compare(keys_[a], keys_[b], i);
      if (sign != 0) return sign < 0;
    }
    return false;
  });
}

void AddCell(const PlanBody& plan, uint32_t accumulator, const GroupTable::Cell& from,
             GroupTable::Cell& to) {
  const Accumulator& what = plan.accumulators[accumulator];
  switch (what.kind) {
    case Accumulator::Kind::kSum:
      if (plan.values[what.value].value_class == ValueClass::kDouble) {
        to.real += from.real;
      } else {
        to.sum += from.sum;
      }
      break;
    case Accumulator::Kind::kMin:
      to.key = std::min(to.key, from.key);
      break;
    case Accumulator::Kind::kMax:
      to.key = std::max(to.key, from.key);
      break;
    case Accumulator::Kind::kCount:
      to.count += from.count;
      break;
  }
}

}  // namespace eris::storage
