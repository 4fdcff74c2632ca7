#include "server/data/columns.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "eris/key_encoding.h"
#include "eris/types.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {
thread_local bool refuse_arrays = false;
}  // namespace

// What columns are copied into; refused where a test says so.
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  if (refuse_arrays) return nullptr;
  try {
    return ::operator new[](bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

namespace eris::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ColumnParts Parts(absl::string_view data) { return {kColumnTypeUint64, data, "", ""}; }

std::string MessageOf(const ColumnParts& parts) {
  const auto column = DecodeUint64Column("keys", parts);
  EXPECT_EQ(column.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(column.status().message());
}

TEST(ColumnsTest, DecodesWhatEncodeWrote) {
  const std::string bytes = EncodeUint64Column({0, 1, ~uint64_t{0}});
  const auto column = DecodeUint64Column("keys", Parts(bytes));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_THAT(column->elements(), ElementsAre(0, 1, ~uint64_t{0}));
}

TEST(ColumnsTest, BytesAreLittleEndian) {
  const std::string bytes("\x02\x01\0\0\0\0\0\0", 8);
  const auto column = DecodeUint64Column("keys", Parts(bytes));
  ASSERT_TRUE(column.ok());
  EXPECT_THAT(column->elements(), ElementsAre(258));
}

TEST(ColumnsTest, AlignedBytesAreReadInPlaceAndOthersAreCopied) {
  alignas(8) char buffer[24] = {};
  const uint64_t elements[2] = {5, 7};
  for (size_t shift : {0, 1, 7}) {
    std::memcpy(buffer + shift, elements, sizeof(elements));
    auto column = DecodeUint64Column("keys", Parts({buffer + shift, sizeof(elements)}));
    ASSERT_TRUE(column.ok());
    const Uint64Column moved = *std::move(column);
    EXPECT_THAT(moved.elements(), ElementsAre(5, 7)) << "shift " << shift;
    const bool in_place = reinterpret_cast<const char*>(moved.elements().data()) == buffer + shift;
    EXPECT_EQ(in_place, shift == 0);
  }
}

TEST(ColumnsTest, RefusalsNameValueAndLimit) {
  const std::string one(8, 'x');
  EXPECT_THAT(MessageOf({0, one, "", ""}), HasSubstr("column keys: type is 0, must be"));
  EXPECT_THAT(MessageOf({99, one, "", ""}), HasSubstr("type is 99"));
  EXPECT_THAT(MessageOf(Parts("")), HasSubstr("no elements, a batch has at least 1"));
  EXPECT_THAT(MessageOf(Parts("123456789")), HasSubstr("9 bytes, not a multiple of 8"));
  EXPECT_THAT(MessageOf({kColumnTypeUint64, one, "\x01", ""}), HasSubstr("validity of 1 bytes"));
  EXPECT_THAT(MessageOf({kColumnTypeUint64, one, "", "abcd"}), HasSubstr("offsets of 4 bytes"));
}

TEST(ColumnsTest, LargestBatchIsTakenAndOneMoreRefused) {
  const std::string bytes((kBatchKeysMax + 1) * 8, '\0');
  EXPECT_TRUE(DecodeUint64Column("keys", Parts({bytes.data(), bytes.size() - 8})).ok());
  EXPECT_THAT(MessageOf(Parts(bytes)), HasSubstr("1048577 elements, a batch has at most 1048576"));
}

TEST(ColumnsTest, UnequalLengthsAreRefused) {
  const std::string two = EncodeUint64Column({1, 2});
  const std::string three = EncodeUint64Column({1, 2, 3});
  const auto keys = *DecodeUint64Column("keys", Parts(two));
  const auto values = *DecodeUint64Column("values", Parts(three));
  EXPECT_TRUE(CheckEqualLength(keys, "values", keys).ok());
  const absl::Status status = CheckEqualLength(keys, "values", values);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("keys has 2 elements, column values 3: must be equal"));
}

TEST(ColumnsTest, KeysOfEveryTypeGoRoundAtAnyAddress) {
  std::mt19937_64 random(20240711);
  const ColumnType types[] = {ColumnType::kUint64, ColumnType::kInt64, ColumnType::kFloat64, ColumnType::kDate};
  for (const ColumnType type : types) {
    for (const size_t count : {1, 2, 3, 511, 512, 513, 1500}) {
      std::vector<uint64_t> keys(count);
      for (uint64_t& key : keys) {
        key = std::clamp(random() >> (random() % 64), LowestKey(type), HighestKey(type));
      }
      const std::string bytes = EncodeKeyColumn(type, keys);
      EXPECT_EQ(bytes.size(), count * (type == ColumnType::kDate ? 4 : 8));
      EXPECT_EQ(ElementsSaid(ColumnTypeOf(type), bytes.size()), count);
      for (const size_t shift : {0, 1, 4, 7}) {
        const std::string shifted = std::string(shift, 'x') + bytes;
        auto column = DecodeKeyColumn(
            "keys", type, {ColumnTypeOf(type), absl::string_view(shifted).substr(shift), "", ""});
        ASSERT_TRUE(column.ok()) << column.status();
        const Uint64Column moved = *std::move(column);
        ASSERT_EQ(moved.elements(), absl::MakeConstSpan(keys)) << "shift " << shift;
      }
    }
  }
}

TEST(ColumnsTest, UnsignedKeysAreReadInPlace) {
  const std::vector<uint64_t> keys = {1, 2};
  const absl::string_view bytes(reinterpret_cast<const char*>(keys.data()), 16);
  const auto column = DecodeKeyColumn("keys", ColumnType::kUint64, Parts(bytes));
  ASSERT_TRUE(column.ok());
  EXPECT_EQ(column->elements().data(), keys.data());
}

TEST(ColumnsTest, KeysOfAnotherTypeOrWidthAreRefused) {
  const auto message = [](ColumnType type, const ColumnParts& parts) {
    const auto column = DecodeKeyColumn("second_keys", type, parts);
    EXPECT_EQ(column.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(column.status().message());
  };
  const std::string bytes(12, '\0');
  EXPECT_THAT(message(ColumnType::kDate, Parts(bytes)),
              HasSubstr("type is COLUMN_TYPE_UINT64 (1), must be COLUMN_TYPE_DATE32 (22) as the"));
  EXPECT_THAT(message(ColumnType::kInt64, {kColumnTypeInt64, bytes, "", ""}),
              HasSubstr("12 bytes, not a multiple of 8"));
  EXPECT_TRUE(DecodeKeyColumn("keys", ColumnType::kDate, {kColumnTypeDate32, bytes, "", ""}).ok());
  EXPECT_THAT(message(ColumnType::kDate, {kColumnTypeDate32, "", "", ""}), HasSubstr("no elements"));
  const std::string many((kBatchKeysMax + 1) * 4, '\0');
  EXPECT_THAT(message(ColumnType::kDate, {kColumnTypeDate32, many, "", ""}),
              HasSubstr("1048577 elements, a batch has at most 1048576"));
  EXPECT_THAT(message(ColumnType::kFloat64, {kColumnTypeFloat64, std::string(16, '\xff'), "", ""}),
              HasSubstr("column second_keys: element 0 is NaN"));
}

TEST(ColumnsTest, CopyThatFindsNoMemoryIsResourceExhausted) {
  const std::string bytes(80, '\0');
  alignas(8) char buffer[88] = {};
  const ColumnType types[] = {ColumnType::kInt64, ColumnType::kFloat64, ColumnType::kDate};
  for (const ColumnType type : types) {
    const ColumnParts parts = {ColumnTypeOf(type), bytes, "", ""};
    ASSERT_TRUE(DecodeKeyColumn("keys", type, parts).ok());
    refuse_arrays = true;
    const auto column = DecodeKeyColumn("second_keys", type, parts);
    const auto unaligned = DecodeUint64Column("values", Parts({buffer + 1, 80}));
    const auto in_place = DecodeUint64Column("values", Parts({buffer, 80}));
    refuse_arrays = false;
    EXPECT_EQ(column.status(), absl::ResourceExhaustedError(absl::StrCat(
                                   "column second_keys: no memory for ",
                                   type == ColumnType::kDate ? 20 : 10, " elements of 8 bytes")));
    EXPECT_EQ(unaligned.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(in_place.ok());
  }
}

// Parts of any type, length and alignment: refused with a message, or exactly the elements sent.
TEST(ColumnsTest, RandomPartsAreRefusedOrReadWhole) {
  constexpr uint64_t kSeed = 20240711;
  std::mt19937_64 random(kSeed);
  std::string bytes(600, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  const auto piece = [&](size_t length_max) {
    const size_t length = random() % (length_max + 1);
    return absl::string_view(bytes).substr(random() % (bytes.size() - length), length);
  };
  int read = 0;
  for (int i = 0; i < 100'000; ++i) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", column " << i);
    ColumnParts parts;
    parts.type = random() % 4 == 0 ? static_cast<int>(random()) : kColumnTypeUint64;
    parts.data = piece(500);
    if (random() % 2 == 0) parts.data = parts.data.substr(0, parts.data.size() / 8 * 8);
    if (random() % 4 == 0) parts.validity = piece(9);
    if (random() % 4 == 0) parts.offsets = piece(9);
    const auto column = DecodeUint64Column("keys", parts);
    // The same bytes as keys of another type. No -0.0 comes up, which would be read as 0.0.
    const auto type = static_cast<ColumnType>(2 + random() % 3);
    if (column.ok()) parts.type = ColumnTypeOf(type);
    const auto keys = DecodeKeyColumn("keys", type, parts);
    if (keys.ok()) {
      ASSERT_EQ(EncodeKeyColumn(type, keys->elements()), std::string(parts.data));
    } else {
      ASSERT_EQ(keys.status().code(), absl::StatusCode::kInvalidArgument);
    }
    if (column.ok()) {
      ++read;
      ASSERT_EQ(EncodeUint64Column(column->elements()), std::string(parts.data));
    } else {
      ASSERT_EQ(column.status().code(), absl::StatusCode::kInvalidArgument);
    }
  }
  EXPECT_GT(read, 10'000) << "seed " << kSeed;
}

}  // namespace
}  // namespace eris::server
