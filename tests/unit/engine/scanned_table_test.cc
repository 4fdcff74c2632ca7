// Where the keys of a table are, as filters of its scan need it: every key is in the range of its
// owner's NumaNode.
#include "engine/query/scanned_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eris/key_encoding.h"
#include "tests/support/hand_engine.h"

namespace eris::engine {
namespace {

constexpr uint32_t kScannedAeus = 4;

class ScannedTableTest : public testing::Test {
 protected:
  // `makers`: by AEU, the first one on its NumaNode. `expected`: of the keys.
  ScannedTable Describe(const CreateOptions& create, const std::vector<uint32_t>& makers,
                        const std::string& name = "t") {
    engine_.Create(name, create);
    return Describe(name, makers);
  }
  ScannedTable Describe(const std::string& name, const std::vector<uint32_t>& makers) {
    storage::QueryParts parts;
    parts.parts.resize(kScannedAeus + 1);
    parts.filter_makers = makers;
    return DescribeScanned(*Entry(name), parts);
  }
  ObjectRef Entry(const std::string& name) { return *engine_->core().catalogue.Find(name); }
  // Among them the bounds of partitions.
  void ExpectHas(const ScannedTable& table, const std::vector<uint32_t>& makers, bool has_sign) {
    ASSERT_EQ(table.met.size(), kScannedAeus);
    const auto routed = Entry("t")->route.Pin();
    for (size_t i = 0; i < routed->size(); ++i) {
      const uint64_t start = routed->starts()[i];
      for (const uint64_t word : {start, start + 1, start - 1}) {
        const uint32_t maker = makers[routed->OwnerOf(word).value];
        const uint64_t number = has_sign ? static_cast<uint64_t>(Int64FromKey(word)) : word;
        for (uint32_t aeu = 0; aeu < kScannedAeus; ++aeu) {
          if (makers[aeu] == aeu) EXPECT_EQ(table.met[aeu].Has(number), aeu == maker) << word;
        }
      }
    }
  }

  static CreateOptions KeyedBy(ColumnType type) {
    CreateOptions create{.kind = ObjectKind::kTable,
                         .schema = {.columns = {{.name = "v", .type = ColumnType::kInt64},
                                                {.name = "k", .type = type},
                                                {.name = "l", .type = ColumnType::kInt64}},
                                    .key = {1, 2}}};
    for (const int64_t cut : {-2000, -1, 3000}) {
      create.split_points.push_back(type == ColumnType::kUint64 ? static_cast<uint64_t>(cut + 2001)
                                                                : KeyFromInt64(cut));
    }
    return create;
  }

  test::HandEngine engine_{kScannedAeus};
};

TEST_F(ScannedTableTest, KeysAreInTheRangeOfTheirNumaNode) {
  for (const ColumnType type : {ColumnType::kInt64, ColumnType::kDecimal, ColumnType::kUint64}) {
    for (const std::vector<uint32_t>& makers : {std::vector<uint32_t>{0, 1, 2, 3}, {0, 0, 2, 2}}) {
      const ScannedTable table = Describe(KeyedBy(type), makers);
      EXPECT_EQ(table.columns.size(), 3u);
      EXPECT_EQ(table.key, 1u);
      ExpectHas(table, makers, type != ColumnType::kUint64);
      ASSERT_TRUE(engine_.While([&] { return engine_->Drop("t"); }).ok());
    }
  }
}

TEST_F(ScannedTableTest, OneNumaNodeHasAllKeys) {
  const ScannedTable table = Describe(KeyedBy(ColumnType::kInt64), {0, 0, 0, 0});
  ASSERT_EQ(table.met.size(), kScannedAeus);
  EXPECT_TRUE(table.met[0].all());
}

TEST_F(ScannedTableTest, OtherKeysMayBeAnywhere) {
  CreateOptions narrow = KeyedBy(ColumnType::kInt32);
  narrow.split_points.clear();
  EXPECT_TRUE(Describe(narrow, {0, 1, 2, 3}, "narrow").met.empty());
  CreateOptions heap = KeyedBy(ColumnType::kInt64);
  heap.kind = ObjectKind::kHeapTable;
  heap.schema.key.clear();
  heap.split_points.clear();
  const ScannedTable table = Describe(heap, {0, 1, 2, 3}, "heap");
  EXPECT_EQ(table.columns.size(), 3u);
  EXPECT_TRUE(table.met.empty());
  EXPECT_TRUE(Describe(CreateOptions(), {0, 1, 2, 3}, "index").columns.empty());
}

}  // namespace
}  // namespace eris::engine
