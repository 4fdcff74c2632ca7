#include "storage/table/kernels/civil_date.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "eris/key_text.h"

namespace eris::storage {
namespace {

void ExpectAsTheLibrary(int32_t days) {
  const absl::CivilDay wanted = CivilDayFromDate(days);
  const CivilDate got = CivilDateOf(days);
  ASSERT_EQ(got.year, wanted.year()) << days;
  ASSERT_EQ(got.month, wanted.month()) << days;
  ASSERT_EQ(got.day, wanted.day()) << days;
  ASSERT_EQ(PartOfDate(DatePart::kQuarter, days), (wanted.month() - 1) / 3 + 1) << days;
}

TEST(CivilDateTest, EveryDayOfTwelveHundredYearsIsThatOfTheLibrary) {
  for (int32_t days = -220'000; days <= 220'000; ++days) ExpectAsTheLibrary(days);
}

TEST(CivilDateTest, SoAreTheFarthestDays) {
  constexpr int32_t kLowest = std::numeric_limits<int32_t>::min();
  constexpr int32_t kHighest = std::numeric_limits<int32_t>::max();
  for (int32_t i = 0; i < 150'000; i += 7) {
    ExpectAsTheLibrary(kLowest + i);
    ExpectAsTheLibrary(kHighest - i);
  }
  for (int64_t days = kLowest; days <= kHighest; days += 99'991) {
    ExpectAsTheLibrary(static_cast<int32_t>(days));
  }
}

}  // namespace
}  // namespace eris::storage
