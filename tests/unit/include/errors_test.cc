#include "eris/errors.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace eris {
namespace {

TEST(ErrorsTest, NamesAreDifferentAndTextsAreSentences) {
  std::set<std::string> names;
  for (const ErrorKind& kind : kErrorKinds) {
    const std::string name(kind.name);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), std::string::npos) << name;
    EXPECT_EQ(kind.meaning.back(), '.') << name;
    EXPECT_EQ(kind.helps.back(), '.') << name;
    EXPECT_EQ(FindErrorKind(kind.name), &kind);
    // Only a call that was refused for want of room may succeed later by itself.
    if (kind.retry_ms > 0) {
      EXPECT_EQ(kind.code, absl::StatusCode::kResourceExhausted) << name;
    }
  }
  EXPECT_EQ(FindErrorKind("OF_A_NEWER_SERVER"), nullptr);
}

TEST(ErrorsTest, EveryCodeHasAReasonForStatusesWithoutOne) {
  for (int code = 1; code <= 16; ++code) {
    const auto status_code = static_cast<absl::StatusCode>(code);
    EXPECT_EQ(KindOf(ReasonOfCode(status_code)).code, status_code);
    const ErrorDetails details = ErrorDetailsOf(absl::Status(status_code, "text"));
    EXPECT_EQ(details.reason, KindOf(ReasonOfCode(status_code)).name);
    EXPECT_EQ(details.field + details.value + details.limit, "");
  }
  EXPECT_EQ(ReasonOfCode(static_cast<absl::StatusCode>(99)), ErrorReason::kUnknown);
}

TEST(ErrorsTest, DetailsTravelWithTheStatus) {
  const absl::Status status =
      Error(ErrorReason::kScanChunks, "all are used",
            {.field = "engine.scan_chunks_max", .value = "a\nb", .limit = "128"});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  for (const absl::Status& same : {status, WithText(status, "other text")}) {
    const ErrorDetails details = ErrorDetailsOf(same);
    EXPECT_EQ(details.reason, "SCAN_CHUNKS");
    EXPECT_EQ(details.field, "engine.scan_chunks_max");
    EXPECT_EQ(details.value, "a b");  // a break would end it
    EXPECT_EQ(details.limit, "128");
    EXPECT_EQ(details.retry_ms, KindOf(ErrorReason::kScanChunks).retry_ms);
  }
  EXPECT_EQ(WithText(status, "other text").message(), "other text");
}

TEST(ErrorsTest, TimeToTryAgainCanBeGivenByTheMaker) {
  const auto retry_ms = [](ErrorReason reason, ErrorDetails details) {
    return ErrorDetailsOf(Error(reason, "", std::move(details))).retry_ms;
  };
  EXPECT_EQ(retry_ms(ErrorReason::kScanChunks, {.retry_ms = 7}), 7u);
  EXPECT_EQ(retry_ms(ErrorReason::kObjectUnknown, {}), 0u);
}

}  // namespace
}  // namespace eris
