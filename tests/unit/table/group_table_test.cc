// Groups against a map: keys of all types, nulls, strings, enough groups that everything grows,
// equal hashes, extremes of strings, and memory refused at each allocation in turn.
#include "storage/table/groups/group_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/table/plan/table_plan.h"
#include "tests/support/seed.h"

namespace eris::storage {
namespace {

using Random = std::mt19937_64;

// Pages of the heap, counted, the n-th of which is refused.
class TestPages final : public PageSource {
 public:
  ~TestPages() override { EXPECT_EQ(bytes, 0u); }
  void* Allocate(size_t size) override {
    largest = std::max(largest, size);
    if (++allocations == refused) return nullptr;
    bytes += size;
    return ::operator new (size, std::align_val_t{64});
  }
  void Free(void* page, size_t size) override {
    bytes -= size;
    ::operator delete (page, std::align_val_t{64});
  }
  absl::Status Refusal() const override {
    return absl::ResourceExhaustedError("refused by the test");
  }

  uint64_t allocations = 0;
  uint64_t refused = 0;  // 0: none
  size_t bytes = 0;
  size_t largest = 0;
};

// A plan that groups by columns of those types: count, sum of a number, maximum of a string.
// Those in `carried` are carried.
std::shared_ptr<const TablePlan> PlanFor(const std::vector<ColumnType>& types,
                                         uint16_t carried = 0) {
  std::vector<ColumnSchema> columns;
  Query query;
  for (size_t i = 0; i < types.size(); ++i) {
    columns.push_back({.name = "k" + std::to_string(i), .type = types[i], .nullable = true});
    query.group_by.push_back(columns.back().name);
  }
  columns.push_back({.name = "number", .type = ColumnType::kInt64});
  columns.push_back({.name = "text", .type = ColumnType::kString});
  query.aggregates = {{AggregateFunction::kCount, std::nullopt, "rows"},
                      {AggregateFunction::kSum, expressions::Column("number"), "sum"},
                      {AggregateFunction::kMax, expressions::Column("text"), "max"}};
  auto plan = TablePlan::Create(columns, query, {}, carried);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}

// A key: per column its words, or a string; and which are null.
struct GroupKey {
  std::vector<uint64_t> words{};
  std::vector<std::string> texts{};
  uint16_t nulls = 0;
  bool operator<(const GroupKey& other) const {
    return std::tie(words, texts, nulls) < std::tie(other.words, other.texts, other.nulls);
  }
};

// What a group must have.
struct Wanted {
  uint32_t group = 0;
  uint64_t rows = 0;
  Int128 sum = 0;
  std::string max{};
};

class GroupLab {
 public:
  GroupLab(std::vector<ColumnType> types, uint64_t seed, PageSource& pages,
           const GroupLimits& limits = kNoGroupLimits)
      : types_(std::move(types)),
        plan_(PlanFor(types_)),
        random_(seed),
        table(plan_->body(), types_, pages, limits) {
    for (size_t a = 0; a < plan_->body().accumulators.size(); ++a) {
      const Accumulator::Kind kind = plan_->body().accumulators[a].kind;
      if (kind == Accumulator::Kind::kMax) max_ = a;
      if (kind == Accumulator::Kind::kSum) sum_ = a;
    }
  }

  // About `domain` different keys.
  GroupKey SomeKey(uint64_t domain) {
    GroupKey key;
    uint64_t number = random_() % domain;
    for (size_t c = 0; c < types_.size(); ++c) {
      // The last column has what is left.
      const uint64_t part = c + 1 == types_.size() ? number : number % 7;
      number /= 7;
      const bool null = random_() % 16 == 0;
      if (null) key.nulls = static_cast<uint16_t>(key.nulls | 1u << c);
      key.words.push_back(0);
      if (IsByteString(types_[c])) {
        key.texts.push_back(null ? "" : std::string(part % 40, 'x') + std::to_string(part));
      } else if (types_[c] == ColumnType::kFloat64) {
        if (!null) key.words.back() = GroupWord(static_cast<double>(part) / 8);
      } else {
        if (!null) key.words.back() = first + part * step;
        if (types_[c] == ColumnType::kInt128) key.words.push_back(null ? 0 : part % 3);
      }
    }
    return key;
  }

  // Adds a row to each of the keys' groups. Repeats what is refused; counts it.
  void AddRows(const std::vector<GroupKey>& keys) {
    const auto count = static_cast<uint32_t>(keys.size());
    GroupKeys made;
    uint32_t groups[kGroupsAtOnce];
    const uint32_t before = table.size();
    while (!MakeKeys(keys, made) || !table.FindOrAddAll(made, count, groups)) {
      ++refusals;
      ASSERT_EQ(table.status().message(), "refused by the test");
      ASSERT_LE(table.size(), before + count);
      ExpectAll(/*every=*/97);
    }
    for (uint32_t i = 0; i < count; ++i) {
      const auto [at, added] = wanted.try_emplace(keys[i]);
      Wanted& group = at->second;
      if (added) group.group = static_cast<uint32_t>(wanted.size() - 1);
      ASSERT_EQ(groups[i], group.group);
      const auto number = static_cast<int64_t>(random_());
      const std::string text(random_() % 60, static_cast<char>('a' + random_() % 26));
      table.AddRows(groups[i], 1);
      GroupTable::Cell* const cells = table.cells(groups[i]);
      cells[sum_].sum += number;
      while (!table.KeepExtreme(static_cast<uint32_t>(max_), text, cells[max_])) ++refusals;
      ++group.rows;
      group.sum += number;
      group.max = std::max(group.max, text);
    }
  }

  size_t accumulators() const { return plan_->body().accumulators.size(); }

  // Every so many-th of them.
  void ExpectAll(uint32_t every = 1) const {
    uint32_t number = 0;
    for (const auto& [key, group] : wanted) {
      if (++number % every != 0) continue;
      ASSERT_EQ(table.rows(group.group), group.rows);
      ASSERT_EQ(table.nulls(group.group), key.nulls);
      ASSERT_TRUE(table.cells(group.group)[sum_].sum == group.sum);
      ASSERT_EQ(GroupTable::ExtremeOf(table.cells(group.group)[max_]), group.max);
      size_t text = 0;
      for (size_t c = 0; c < types_.size(); ++c) {
        const uint64_t word = table.words(group.group)[table.word_of(c)];
        if (!IsByteString(types_[c])) {
          ASSERT_EQ(word, key.words[table.word_of(c)]);
        } else if (!table.null(group.group, c)) {
          ASSERT_EQ(table.Text(word), key.texts[text]);
        }
        text += IsByteString(types_[c]);
      }
    }
  }

  void AddManyRows(uint32_t rows, uint64_t domain) {
    for (uint32_t added = 0; added < rows;) {
      std::vector<GroupKey> keys(1 + random_() % kGroupsAtOnce);
      for (GroupKey& key : keys) key = SomeKey(domain);
      ASSERT_NO_FATAL_FAILURE(AddRows(keys));
      added += static_cast<uint32_t>(keys.size());
    }
    ASSERT_EQ(table.size(), wanted.size());
    ExpectAll();
  }

 private:
  bool MakeKeys(const std::vector<GroupKey>& keys, GroupKeys& made) {
    for (size_t i = 0; i < keys.size(); ++i) {
      made.nulls[i] = keys[i].nulls;
      uint64_t* const words = &made.words[i * table.key_words()];
      std::copy(keys[i].words.begin(), keys[i].words.end(), words);
      size_t text = 0;
      for (size_t c = 0; c < types_.size(); ++c) {
        if (!IsByteString(types_[c])) continue;
        const std::string_view one = keys[i].texts[text++];
        uint32_t number = 0;
        if ((keys[i].nulls >> c & 1) == 0 && !table.InternAll(&one, 1, &number)) return false;
        words[table.word_of(c)] = number;
      }
    }
    return true;
  }

  const std::vector<ColumnType> types_;
  const std::shared_ptr<const TablePlan> plan_;
  Random random_;
  size_t sum_ = 0, max_ = 0;  // accumulators

 public:
  GroupTable table;
  std::map<GroupKey, Wanted> wanted;
  uint64_t refusals = 0;
  // Integers begin with `first`, and are `step` apart.
  uint64_t first = 0;
  uint64_t step = 1'000'003;
};

constexpr ColumnType kAll[] = {ColumnType::kInt32,   ColumnType::kInt64,  ColumnType::kUint64,
                               ColumnType::kFloat64, ColumnType::kString, ColumnType::kInt128};

TEST(GroupTableTest, RandomGroupsAreThoseOfAMap) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  Random random(seed);
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    std::vector<ColumnType> types(1 + random() % 4);
    for (ColumnType& type : types) type = kAll[random() % std::size(kAll)];
    TestPages pages;
    GroupLab lab(types, random(), pages);
    lab.step = std::array<uint64_t, 3>{1, 20, 1'000'003}[random() % 3];
    if (random() % 2 == 0) lab.first = random();
    lab.AddManyRows(5000, 1 + random() % 5000);
    if (HasFatalFailure()) return;
  }
}

TEST(GroupTableTest, ManyGroupsGrowAPageAtATime) {
  for (const ColumnType type : kAll) {
    SCOPED_TRACE(ColumnTypeName(type));
    TestPages pages;
    GroupLab lab({type}, test::Seed(), pages);
    lab.AddManyRows(150'000, uint64_t{1} << 40);
    if (HasFatalFailure()) return;
    EXPECT_GT(lab.table.size(), 100'000u);
    EXPECT_LE(pages.largest, kGroupPageBytes);
    // 80 to 96 bytes of a record, 18 of its slot, and for strings the same again.
    EXPECT_LT(pages.bytes, lab.table.size() * size_t{320});
    uint32_t pieces = 1;
    while (lab.table.FreeSome()) ++pieces;
    EXPECT_GT(pieces, 2u);
    EXPECT_EQ(pages.bytes, 0u);
  }
}

// Numbers that are close together, then others, and then both.
TEST(GroupTableTest, NearAndFarNumbersAreFound) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  Random random(seed);
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    TestPages pages;
    GroupLab lab({round % 3 == 0 ? ColumnType::kUint64 : ColumnType::kInt64}, random(), pages);
    uint64_t window = random();
    for (int part = 0; part < 20; ++part) {
      // A window that moves up or down, at times far away, with gaps of several sizes.
      lab.step = std::array<uint64_t, 4>{1, 1, 7, 1u << 20}[random() % 4];
      const uint64_t moves[] = {5'000, ~uint64_t{40'000}, 300'000, random()};
      window += moves[random() % 4];
      lab.first = window;
      lab.AddManyRows(2'000, 1 + random() % 4'000);
      if (HasFatalFailure()) return;
    }
    EXPECT_LE(pages.largest, kGroupPageBytes);
  }
}

TEST(GroupTableTest, NearNumbersTakeTheirPlacesOnly) {
  const auto bytes_of = [](uint64_t step) {
    TestPages pages;
    GroupLab lab({ColumnType::kInt64}, 1, pages);
    lab.step = step;
    lab.AddManyRows(300'000, 100'000);
    return pages.bytes;
  };
  const size_t near = bytes_of(1), far = bytes_of(1'000'003);
  // 4 bytes for each instead of 18, but for those that came before the table knew.
  EXPECT_LT(near + 100'000 * 10, far);
  // With gaps they have places, too, as long as these take little.
  EXPECT_LT(bytes_of(8), far + 100'000 * 16);
  EXPECT_LT(bytes_of(100), far + 100'000);
}

TEST(GroupTableTest, RefusedPlacesAreDoneWithout) {
  uint64_t done_without = 0;
  for (uint64_t nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    TestPages pages;
    pages.refused = nth;
    GroupLab lab({ColumnType::kInt64}, 7, pages);
    lab.step = 1;
    lab.AddManyRows(10'000, 20'000);
    lab.first = 40'000;
    lab.AddManyRows(10'000, 20'000);
    if (HasFatalFailure()) return;
    if (pages.allocations < nth) break;
    done_without += lab.refusals == 0;
  }
  EXPECT_GT(done_without, 1u);
}

TEST(GroupTableTest, FewGroupsNeedNoPages) {
  TestPages pages;
  GroupLab lab({ColumnType::kInt64, ColumnType::kString}, 1, pages);
  for (uint64_t i = 0; i < 20; ++i) lab.AddRows({lab.SomeKey(100)});
  EXPECT_EQ(pages.allocations, 0u);
}

TEST(GroupTableTest, ARefusedAllocationLeavesItAsItWas) {
  uint64_t refused = 0;
  for (uint64_t nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    TestPages pages;
    pages.refused = nth;
    GroupLab lab({ColumnType::kString, ColumnType::kInt64}, 7, pages);
    lab.AddManyRows(20'000, 20'000);
    if (HasFatalFailure()) return;
    EXPECT_LE(lab.refusals, 1u);
    if (lab.refusals == 0) break;
    ++refused;
  }
  EXPECT_GT(refused, 20u);
}

TEST(GroupTableTest, LimitsAreErrorsAndEndNothing) {
  TestPages pages;
  GroupKeys keys;
  uint32_t group = 0;
  keys.nulls[0] = 0;
  const auto add = [&](GroupTable& table, uint64_t word) {
    keys.words[0] = word;
    return table.FindOrAddAll(keys, 1, &group);
  };
  GroupLab by_groups({ColumnType::kInt64}, 1, pages, {.groups = 100});
  for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(add(by_groups.table, i));
  EXPECT_FALSE(add(by_groups.table, 100));
  EXPECT_EQ(by_groups.table.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(by_groups.table.status().message(),
            "a query has more than 100 groups: group by fewer values, or filter rows");
  EXPECT_TRUE(add(by_groups.table, 99));
  EXPECT_EQ(group, 99u);

  GroupLab by_cells({ColumnType::kInt64}, 1, pages, {.cell_bytes = 1000});
  uint64_t added = 0;
  while (add(by_cells.table, added)) ++added;
  EXPECT_EQ(by_cells.table.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(added, 1000 / (sizeof(GroupTable::Cell) * by_cells.accumulators()));

  GroupLab by_texts({ColumnType::kString}, 1, pages, {.text_bytes = 10});
  const std::string_view texts[] = {"12345", "67890", "1"};
  uint32_t numbers[3];
  EXPECT_TRUE(by_texts.table.InternAll(texts, 2, numbers));
  EXPECT_FALSE(by_texts.table.InternAll(texts, 3, numbers));
  EXPECT_EQ(by_texts.table.status().code(), absl::StatusCode::kOutOfRange);
}

TEST(GroupTableTest, StringsLongerThanAPageAreKept) {
  TestPages pages;
  GroupLab lab({ColumnType::kString}, 1, pages);
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < 40; ++i) {
    texts.push_back(std::string((i % 4) * 50'000, static_cast<char>('a' + i)));
  }
  std::vector<std::string_view> views(texts.begin(), texts.end());
  uint32_t numbers[40];
  ASSERT_TRUE(lab.table.InternAll(views.data(), 40, numbers));
  for (uint32_t i = 0; i < 40; ++i) EXPECT_EQ(lab.table.Text(numbers[i]), texts[i]);
  EXPECT_EQ(numbers[4], numbers[0]);  // empty ones
  uint32_t again[40];
  ASSERT_TRUE(lab.table.InternAll(views.data(), 40, again));
  EXPECT_TRUE(std::equal(again, again + 40, numbers));
}

TEST(GroupTableTest, MergedTablesHaveTheGroupsOfBoth) {
  using Types = std::vector<ColumnType>;
  for (const auto& [types, step] :
       {std::pair(Types{ColumnType::kInt64}, 1u), std::pair(Types{ColumnType::kInt64}, 20u),
        std::pair(Types{ColumnType::kInt64}, 1'000'003u),
        std::pair(Types{ColumnType::kString, ColumnType::kFloat64}, 1u),
        std::pair(Types{ColumnType::kInt128, ColumnType::kString, ColumnType::kInt32}, 1u)}) {
    TestPages pages;
    GroupLab one(types, 1, pages), other(types, 2, pages);
    one.step = other.step = step;
    one.AddManyRows(20'000, 30'000);
    other.AddManyRows(20'000, 30'000);
    ASSERT_TRUE(one.table.Merge(other.table));
    for (const auto& [key, group] : other.wanted) {
      auto [at, added] = one.wanted.try_emplace(key);
      if (added) at->second.group = ~0u;
      at->second.rows += group.rows;
      at->second.sum += group.sum;
      at->second.max = std::max(at->second.max, group.max);
    }
    ASSERT_EQ(one.table.size(), one.wanted.size());
    // The new ones are in the order of the other table.
    std::vector<std::pair<uint32_t, const GroupKey*>> added;
    for (const auto& [key, group] : one.wanted) {
      if (group.group == ~0u) added.emplace_back(other.wanted[key].group, &key);
    }
    std::sort(added.begin(), added.end());
    auto next = static_cast<uint32_t>(one.wanted.size() - added.size());
    for (const auto& [from, key] : added) one.wanted[*key].group = next++;
    one.ExpectAll();
    if (HasFatalFailure()) return;
  }
}

// Groups by a number and a string, with a string, a wide number and a number carried around them.
class CarryingLab {
 public:
  explicit CarryingLab(PageSource& pages)
      : plan_(PlanFor(kTypes, 0b10101)), table(plan_->body(), kTypes, pages, kNoGroupLimits) {}

  // What a row carries is of the row, not of its key, so that it shows which row it came from.
  struct Carried {
    std::string text{};
    uint64_t number = 0;
    bool null = false;
  };
  using GroupKey = std::pair<uint64_t, std::string>;

  void AddRows(const std::vector<GroupKey>& rows) {
    GroupKeys keys;
    uint32_t groups[kGroupsAtOnce];
    const auto count = static_cast<uint32_t>(rows.size());
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t number = 0;
      const std::string_view text = rows[i].second;
      ASSERT_TRUE(table.InternAll(&text, 1, &number));
      keys.words[i * 2] = rows[i].first;
      keys.words[i * 2 + 1] = number;
      keys.nulls[i] = 0;
    }
    const uint32_t known = table.size();
    ASSERT_TRUE(table.FindOrAddAll(keys, count, groups));
    uint32_t added = 0;
    for (uint32_t i = 0; i < count; ++i) {
      ++row_;
      if (groups[i] == known + added) {
        const Carried carried{std::string(row_ % 50, 'c') + std::to_string(row_), row_,
                              row_ % 5 == 0};
        uint64_t* const words = &keys.words[size_t{added} * 5];
        std::fill_n(words, 5, 0);
        if (!carried.null) ASSERT_TRUE(table.PlaceCarried(carried.text, words));
        words[2] = carried.number;
        words[3] = ~carried.number;
        words[4] = carried.number * 3;
        keys.nulls[added++] = carried.null ? 1 : 0;
        wanted.emplace(rows[i], std::pair(groups[i], carried));
      }
      ASSERT_EQ(wanted.at(rows[i]).first, groups[i]);
    }
    ASSERT_EQ(table.size(), known + added);
    table.Carry(keys, added, known);
    for (uint32_t i = 0; i < count; ++i) table.AddRows(groups[i], 1);
  }

  void AddManyRows(uint32_t batches, uint64_t seed) {
    Random random(seed);
    row_ = seed * 1'000'000;
    for (uint32_t batch = 0; batch < batches; ++batch) {
      std::vector<GroupKey> rows(1 + random() % kGroupsAtOnce);
      for (GroupKey& row : rows) row = {random() % 100, std::to_string(random() % 100)};
      ASSERT_NO_FATAL_FAILURE(AddRows(rows));
    }
  }

  void ExpectAll() const {
    ASSERT_EQ(table.size(), wanted.size());
    for (const auto& [key, at] : wanted) {
      const auto& [group, carried] = at;
      const uint64_t* const words = table.words(group);
      ASSERT_EQ(words[table.word_of(1)], key.first);
      ASSERT_EQ(table.TextOf(3, words + table.word_of(3)), key.second);
      ASSERT_EQ(table.nulls(group), carried.null ? 1 : 0);
      if (!carried.null) ASSERT_EQ(table.TextOf(0, words + table.word_of(0)), carried.text);
      ASSERT_EQ(words[table.word_of(2)], carried.number);
      ASSERT_EQ(words[table.word_of(2) + 1], ~carried.number);
      ASSERT_EQ(words[table.word_of(4)], carried.number * 3);
      ASSERT_GT(table.rows(group), 0u);
    }
  }

 private:
  static inline const std::vector<ColumnType> kTypes = {ColumnType::kString, ColumnType::kInt64,
                                                        ColumnType::kInt128, ColumnType::kString,
                                                        ColumnType::kInt32};
  const std::shared_ptr<const TablePlan> plan_;
  uint64_t row_ = 0;

 public:
  GroupTable table;
  std::map<GroupKey, std::pair<uint32_t, Carried>> wanted;  // with the group's number
};

TEST(GroupTableTest, WhatIsCarriedIsOfTheFirstRow) {
  TestPages pages;
  CarryingLab lab(pages);
  lab.AddManyRows(600, 1);
  if (HasFatalFailure()) return;
  EXPECT_GT(lab.table.size(), 5000u);
  lab.ExpectAll();
}

TEST(GroupTableTest, MergedGroupsCarryWhatTheyBroughtAlong) {
  TestPages pages, other_pages;
  CarryingLab lab(pages);
  lab.AddManyRows(60, 1);
  {
    CarryingLab other(other_pages);
    other.AddManyRows(60, 2);
    if (HasFatalFailure()) return;
    ASSERT_TRUE(lab.table.Merge(other.table));
    std::map<uint32_t, CarryingLab::GroupKey> added;
    for (const auto& [key, at] : other.wanted) added.emplace(at.first, key);
    for (const auto& [group, key] : added) {
      const auto next = static_cast<uint32_t>(lab.wanted.size());
      lab.wanted.try_emplace(key, next, other.wanted.at(key).second);
    }
  }
  lab.ExpectAll();  // also when the other table's strings are gone
}

TEST(GroupTableTest, NoMemoryForCarriedStringsIsAnError) {
  TestPages pages;
  CarryingLab lab(pages);
  pages.refused = 1;
  uint64_t words[2];
  EXPECT_FALSE(lab.table.PlaceCarried(std::string(100'000, 'x'), words));
  EXPECT_EQ(lab.table.status().message(), "refused by the test");
}

TEST(GroupSlotsTest, EqualHashesAreChainedAndDivided) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  Random random(seed);
  // From all hashes equal to all different.
  for (const uint32_t hashes : {1u, 2u, 100u, 5000u, ~0u}) {
    SCOPED_TRACE(hashes);
    TestPages pages;
    GroupSlots slots(pages);
    std::multimap<uint32_t, uint32_t> model;
    const uint32_t shift = static_cast<uint32_t>(random() % 20);  // low bits may be equal, too
    for (uint32_t number = 0; number < (hashes <= 100 ? 2000u : 120'000u); ++number) {
      const uint32_t hash = static_cast<uint32_t>(random() % hashes) << shift;
      ASSERT_TRUE(slots.Reserve());
      slots.Add(hash, number);
      model.emplace(hash, number);
    }
    uint32_t looked = 0;
    for (auto [hash, number] : model) {
      if (hashes < 5000 && ++looked % 101 != 0) continue;  // chains are long
      ASSERT_EQ(slots.Find(hash, [n = number](uint32_t found) { return found == n; }), number);
    }
    for (int i = 0; i < 1000; ++i) {
      const auto hash = static_cast<uint32_t>(random());
      if (model.count(hash) > 0) continue;
      ASSERT_EQ(slots.Find(hash, [](uint32_t) { return true; }), GroupSlots::kNone);
    }
  }
}

TEST(RecordPagesTest, RecordsKeepTheirContents) {
  for (const size_t bytes : {8u, 16u, 40u, 1000u, 100'000u, 200'000u}) {
    SCOPED_TRACE(bytes);
    TestPages pages;
    RecordPages records(pages, bytes, 3);
    uint64_t count = 0;
    const uint64_t wanted = 3'000'000 / bytes + 5;
    for (; count < wanted; ++count) {
      if (count == records.room()) {
        pages.refused = pages.allocations + 1;
        EXPECT_FALSE(records.Grow());
        EXPECT_EQ(records.room(), count);
        ASSERT_TRUE(records.Grow());
      }
      *reinterpret_cast<uint64_t*>(records.At(count)) = count * 31;
    }
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(*reinterpret_cast<uint64_t*>(records.At(i)), i * 31);
    }
  }
}

TEST(CountedPagesTest, ARefusalNamesBytesAndLimit) {
  RunMemory memory(1000);
  CountedPages pages(&memory);
  void* const page = pages.Allocate(600);
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(memory.used(), 600u);
  EXPECT_EQ(pages.Allocate(601), nullptr);
  EXPECT_EQ(memory.used(), 600u);
  EXPECT_EQ(pages.Refusal().ToString(),
            "RESOURCE_EXHAUSTED: the groups of a query take 601 bytes more, of which the 1000 "
            "bytes for all queries have not so many left");
  pages.Free(page, 600);
  EXPECT_EQ(memory.used(), 0u);
}

}  // namespace
}  // namespace eris::storage
