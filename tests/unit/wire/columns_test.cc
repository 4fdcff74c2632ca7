#include "wire/columns.h"

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Schema kSchema = {.columns = {{.name = "a", .type = ColumnType::kInt64},
                                    {.name = "b", .type = ColumnType::kString, .nullable = true},
                                    {.name = "c", .type = ColumnType::kDate, .nullable = true},
                                    {.name = "d", .type = ColumnType::kString}},
                        .key = {0}};

template <class T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Two rows of b and a.
Columns TwoRows() {
  Columns columns;
  v1::Column* strings = columns.Add();
  strings->set_type(v1::COLUMN_TYPE_STRING);
  strings->set_data("abc");
  strings->set_offsets(Bytes<uint32_t>({0, 1, 3}));
  v1::Column* numbers = columns.Add();
  numbers->set_type(v1::COLUMN_TYPE_INT64);
  numbers->set_data(std::string(16, '\1'));
  return columns;
}

TEST(ColumnsTest, ColumnsAreReadWhereTheyLie) {
  Columns columns = TwoRows();
  columns[0].set_validity("\2");
  const auto viewed = ViewColumns("rows", kSchema, {1, 0}, columns);
  ASSERT_TRUE(viewed.ok()) << viewed.status();
  EXPECT_EQ(viewed->batch().rows, 2u);
  EXPECT_EQ(viewed->views[0].values, columns[0].data().data());
  EXPECT_EQ(viewed->views[0].offsets[1], 1u);
  EXPECT_EQ(*viewed->views[0].validity, 2);
  EXPECT_EQ(viewed->views[1].values, columns[1].data().data());
  EXPECT_EQ(static_cast<const int64_t*>(viewed->views[1].values)[1], 0x0101010101010101);
  EXPECT_EQ(viewed->views[1].validity, nullptr);
  EXPECT_TRUE(viewed->copies.empty());
}

TEST(ColumnsTest, BytesAreLittleEndian) {
  Columns columns;
  columns.Add()->set_type(v1::COLUMN_TYPE_INT64);
  columns[0].set_data(std::string("\x02\x01\0\0\0\0\0\0", 8));
  const auto viewed = ViewColumns("keys", kSchema, {0}, columns);
  ASSERT_TRUE(viewed.ok());
  EXPECT_EQ(*static_cast<const int64_t*>(viewed->views[0].values), 258);
}

std::string Refusal(std::function<void(Columns&)> change) {
  Columns columns = TwoRows();
  change(columns);
  const auto viewed = ViewColumns("rows", kSchema, {1, 0}, columns);
  EXPECT_EQ(viewed.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(viewed.status().message());
}

TEST(ColumnsTest, RefusalsNameValueAndLimit) {
  EXPECT_EQ(Refusal([](Columns& c) { c.RemoveLast(); }),
            "rows: 1 columns, must be 2 (b COLUMN_TYPE_STRING, a COLUMN_TYPE_INT64)");
  EXPECT_EQ(Refusal([](Columns& c) { c[1].set_type(v1::COLUMN_TYPE_UINT64); }),
            "column rows.a: type is COLUMN_TYPE_UINT64 (1), must be COLUMN_TYPE_INT64 (20)");
  EXPECT_THAT(Refusal([](Columns& c) { c[1].set_type(static_cast<v1::ColumnType>(99)); }),
              HasSubstr("type is 99, must be"));
  EXPECT_THAT(Refusal([](Columns& c) { c[1].mutable_data()->pop_back(); }),
              HasSubstr("rows.a: data of 15 bytes, must be 16 for 2 rows"));
  EXPECT_THAT(Refusal([](Columns& c) { c[1].set_offsets("1234"); }),
              HasSubstr("rows.a: offsets of 4 bytes, must be empty"));
  EXPECT_THAT(Refusal([](Columns& c) { c[0].set_validity("12"); }),
              HasSubstr("rows.b: validity of 2 bytes, must be empty or 1 for 2 rows"));
  // A column that is not nullable may come with a bitmap, if all is there.
  EXPECT_EQ(Refusal([](Columns& c) { c[1].set_validity("\1"); }),
            "column rows.a: row 1 is null, which the column cannot be");
  Columns all = TwoRows();
  all[1].set_validity("\3");
  const auto viewed = ViewColumns("rows", kSchema, {1, 0}, all);
  ASSERT_TRUE(viewed.ok());
  EXPECT_EQ(viewed->views[1].validity, nullptr);
}

TEST(ColumnsTest, BrokenOffsetsAreRefused) {
  const auto refusal = [](const std::string& offsets) {
    return Refusal([&](Columns& c) { c[0].set_offsets(offsets); });
  };
  EXPECT_THAT(refusal(""), HasSubstr("no elements, a batch has at least 1; strings have one more"));
  EXPECT_THAT(refusal("abc"), HasSubstr("offsets of 3 bytes, must be a multiple of 4"));
  EXPECT_THAT(refusal(Bytes<uint32_t>({0})), HasSubstr("no elements"));
  EXPECT_THAT(refusal(Bytes<uint32_t>({0, 3})), HasSubstr("data of 16 bytes, must be 8 for 1"));
  EXPECT_THAT(refusal(Bytes<uint32_t>({1, 1, 3})), HasSubstr("offset 0 is 1, must be 0"));
  EXPECT_THAT(refusal(Bytes<uint32_t>({0, 4, 3})), HasSubstr("offset 2 is 3, less than"));
  EXPECT_THAT(refusal(Bytes<uint32_t>({0, 1, 4})), HasSubstr("last offset is 4, there are 3"));
  EXPECT_THAT(refusal(Bytes<uint32_t>({0, 1, 2})), HasSubstr("last offset is 2, there are 3"));
  // A column other than the first, which determines the number of rows.
  Columns columns = TwoRows();
  columns.SwapElements(0, 1);
  columns[1].set_offsets(Bytes<uint32_t>({0, 3}));
  EXPECT_THAT(std::string(ViewColumns("rows", kSchema, {0, 1}, columns).status().message()),
              HasSubstr("rows.b: offsets of 8 bytes, must be 12 for 2 rows"));
}

TEST(ColumnsTest, LargestBatchIsTakenAndOneMoreRefused) {
  Columns columns;
  columns.Add()->set_type(v1::COLUMN_TYPE_INT64);
  EXPECT_THAT(std::string(ViewColumns("keys", kSchema, {0}, columns).status().message()),
              HasSubstr("keys.a: no elements, a batch has at least 1"));
  columns[0].set_data(std::string(size_t{kBatchKeysMax} * 8, '\0'));
  EXPECT_TRUE(ViewColumns("keys", kSchema, {0}, columns).ok());
  columns[0].mutable_data()->append(8, '\0');
  EXPECT_THAT(std::string(ViewColumns("keys", kSchema, {0}, columns).status().message()),
              HasSubstr("1048577 elements, a batch has at most 1048576"));
  columns[0].set_data(std::string(kTableBatchBytesMax + 1, '\0'));
  EXPECT_THAT(std::string(ViewColumns("keys", kSchema, {0}, columns).status().message()),
              HasSubstr("keys: 134217729 bytes, must be at most 134217728"));
}

// Parts of any type and length: refused with a message, or exactly the elements sent.
TEST(ColumnsTest, RandomPartsAreRefusedOrReadWhole) {
  constexpr uint64_t kSeed = 20240711;
  std::mt19937_64 random(kSeed);
  std::string bytes(600, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  const auto piece = [&](size_t length_max) {
    const size_t length = random() % (length_max + 1);
    return bytes.substr(random() % (bytes.size() - length), length);
  };
  int read = 0;
  for (int i = 0; i < 100'000; ++i) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", columns " << i);
    const uint32_t which = random() % 4;
    Columns columns;
    v1::Column& column = *columns.Add();
    column.set_type(ToProto(kSchema.columns[which].type));
    if (random() % 8 == 0) column.set_type(static_cast<v1::ColumnType>(random() % 40));
    column.set_data(piece(100));
    if (random() % 2 == 0) column.mutable_data()->resize(column.data().size() / 8 * 8);
    if (random() % 4 == 0) column.set_validity(piece(9));
    if (IsByteString(kSchema.columns[which].type) && random() % 8 != 0) {
      std::vector<uint32_t> offsets = {0};
      for (uint64_t row = random() % 9; row > 0; --row) {
        offsets.push_back(offsets.back() + static_cast<uint32_t>(random() % 10));
      }
      column.set_offsets(Bytes(offsets));
      if (random() % 2 == 0) column.mutable_data()->resize(offsets.back());
    } else if (random() % 4 == 0) {
      column.set_offsets(piece(9));
    }
    const auto viewed = ViewColumns("keys", kSchema, {which}, columns);
    if (!viewed.ok()) {
      ASSERT_EQ(viewed.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    ++read;
    Columns again;
    FillColumns({kSchema.columns[which].type}, viewed->batch(), &again);
    if (!kSchema.columns[which].nullable) column.clear_validity();
    ASSERT_EQ(again[0].SerializeAsString(), column.SerializeAsString());
    std::vector<ColumnBuffers> taken;
    ASSERT_TRUE(TakeColumns({kSchema.columns[which].type}, viewed->rows, &again, &taken).ok());
  }
  EXPECT_GT(read, 10'000) << "seed " << kSeed;
}

TEST(ColumnsTest, RowsSaidAreByTheTypeSaid) {
  v1::Column column;
  column.set_data(std::string(80, 'x'));
  EXPECT_EQ(RowsSaid(column), 10u);
  column.set_type(v1::COLUMN_TYPE_DATE32);
  EXPECT_EQ(RowsSaid(column), 20u);
  for (const auto type : {v1::COLUMN_TYPE_BYTES, v1::COLUMN_TYPE_STRING}) {
    column.set_type(type);
    column.set_offsets(std::string(48, 'x'));
    EXPECT_GE(RowsSaid(column), 11u);
  }
}

TEST(ColumnsTest, LookupsAnswerWhatTheyAskForOrAllThatIsNotOfTheKey) {
  EXPECT_THAT(*AnsweredTypes(kSchema, {}),
              ElementsAre(ColumnType::kString, ColumnType::kDate, ColumnType::kString));
  const std::vector<std::string> names = {"c", "a", "c"};
  EXPECT_THAT(*AnsweredTypes(kSchema, names),
              ElementsAre(ColumnType::kDate, ColumnType::kInt64, ColumnType::kDate));
  const std::vector<std::string> none = {"c", std::string(100, 'x')};
  EXPECT_EQ(AnsweredTypes(kSchema, none).status(),
            absl::InvalidArgumentError("column \"" + std::string(64, 'x') +
                                       "\" of the lookup is none of the object"));
  const std::vector<std::string> many(kTableColumnsMax + 1, "a");
  EXPECT_THAT(std::string(AnsweredTypes(kSchema, many).status().message()), HasSubstr("257"));
}

TEST(ColumnsTest, AnswersAreMovedThereAndBack) {
  const ColumnTypes types = {ColumnType::kString, ColumnType::kUint64};
  std::vector<ColumnBuffers> columns(2);
  columns[0] = {.values = "ab" + std::string(100, 'c'), .offsets = Bytes<uint32_t>({0, 2, 102})};
  columns[1] = {.values = std::string(16, '\7'), .validity = "\1"};
  const char* const values = columns[0].values.data();
  Columns message;
  MoveColumns(types, std::move(columns), &message);
  EXPECT_EQ(message[0].data().data(), values);
  EXPECT_EQ(message[1].validity(), "\1");
  std::vector<ColumnBuffers> back;
  ASSERT_TRUE(TakeColumns(types, 2, &message, &back).ok());
  EXPECT_EQ(back[0].values.data(), values);
  EXPECT_EQ(back[1].values, std::string(16, '\7'));
  EXPECT_EQ(back[1].validity, "\1");
}

TEST(ColumnsTest, AnswersThatBreakTheProtocolAreInternalErrors) {
  const ColumnTypes types = {ColumnType::kString, ColumnType::kInt64};
  const auto refused = [&](uint64_t rows, std::function<void(Columns&)> change) {
    Columns columns = TwoRows();
    change(columns);
    std::vector<ColumnBuffers> taken;
    return TakeColumns(types, rows, &columns, &taken).code() == absl::StatusCode::kInternal;
  };
  EXPECT_FALSE(refused(2, [](Columns&) {}));
  EXPECT_TRUE(refused(3, [](Columns&) {}));
  EXPECT_TRUE(refused(2, [](Columns& c) { c.RemoveLast(); }));
  EXPECT_TRUE(refused(2, [](Columns& c) { c.Clear(); }));
  EXPECT_FALSE(refused(0, [](Columns& c) { c.Clear(); }));
  EXPECT_TRUE(refused(2, [](Columns& c) { c[1].set_type(v1::COLUMN_TYPE_UINT64); }));
  EXPECT_TRUE(refused(2, [](Columns& c) { c[1].mutable_data()->pop_back(); }));
  EXPECT_TRUE(refused(2, [](Columns& c) { c[0].mutable_data()->pop_back(); }));
  EXPECT_TRUE(refused(2, [](Columns& c) { c[0].set_offsets(Bytes<uint32_t>({0, 4, 3})); }));
  EXPECT_TRUE(refused(2, [](Columns& c) { c[0].set_offsets(Bytes<uint32_t>({1, 2, 3})); }));
}

// A piece of longer columns, as scans of tables hand them out.
class PieceOfAChunk final : public Chunk {
 public:
  uint64_t rows() const override { return 2; }
  const Schema& schema() const override { return schema_; }
  ColumnView column(size_t i) const override {
    if (i == 0) return {.values = "abcdef", .offsets = offsets_ + 1};
    return {.values = numbers_, .validity = reinterpret_cast<const uint8_t*>("\2")};
  }
  std::string resume() const override { return ""; }

 private:
  const Schema schema_ = {.columns = {{.name = "s", .type = ColumnType::kString},
                                      {.name = "n", .type = ColumnType::kInt32}}};
  const uint32_t offsets_[4] = {0, 2, 3, 6};
  const int32_t numbers_[2] = {5, 6};
};

TEST(ColumnsTest, OffsetsOfAPieceBeginAtZeroOnTheWire) {
  Columns message;
  for (int i = 0; i < 3; ++i) message.Add()->set_offsets("of an answer before");
  const PieceOfAChunk chunk;
  FillColumns(chunk, /*take_strings=*/false, &message);
  ASSERT_EQ(message.size(), 2);
  EXPECT_EQ(message[0].data(), "cdef");
  EXPECT_EQ(message[0].offsets(), Bytes<uint32_t>({0, 1, 4}));
  EXPECT_EQ(message[1].data(), Bytes<int32_t>({5, 6}));
  EXPECT_EQ(message[1].validity(), "\2");
  EXPECT_EQ(message[1].offsets(), "");
  EXPECT_EQ(ChunkBytes(chunk), 4 + 12 + 8 + 1u);
}

TEST(ColumnsTest, ExpectedBytesGrowWithRowsUpToTheirLimit) {
  const Schema schema{.columns = {{.name = "a", .type = ColumnType::kInt32},
                                  {.name = "b", .type = ColumnType::kString}}};
  EXPECT_EQ(ExpectedChunkBytes(schema, 1, 1 << 20), 5u + 37u);
  EXPECT_EQ(ExpectedChunkBytes(schema, 100, 1 << 20), 100 * (5u + 37u));
  EXPECT_EQ(ExpectedChunkBytes(schema, 0, 1 << 20), uint64_t{1} << 20);
  EXPECT_EQ(ExpectedChunkBytes(schema, ~uint64_t{0}, 1 << 20), uint64_t{1} << 20);
}

}  // namespace
}  // namespace eris::wire
