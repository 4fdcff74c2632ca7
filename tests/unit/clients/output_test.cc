#include "clients/cli/text/output.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "clients/cli/text/exit_code.h"

namespace eris::cli {
namespace {

TEST(OutputTest, ReaderThatHasGoneEndsQuietlyAndHidesNoFailure) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  std::FILE* file = fdopen(ends[1], "w");
  ASSERT_NE(file, nullptr);
  Output output(file);
  testing::internal::CaptureStderr();
  output.Write(std::string(1 << 20, 'x'));
  EXPECT_FALSE(output.open());
  EXPECT_EQ(output.Finish(kExitOk), kExitOk);
  EXPECT_EQ(output.Finish(kExitNotFound), kExitNotFound);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  std::fclose(file);
}

TEST(OutputTest, JsonOfWhatIsNoUtf8IsWritten) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  Output output(file);
  output.WriteJson({{"file", "a\xff"}});
  EXPECT_EQ(output.Finish(kExitOk), kExitOk);
  std::rewind(file);
  char text[64] = {};
  EXPECT_GT(std::fread(text, 1, sizeof(text) - 1, file), 0u);
  EXPECT_NE(std::string(text).find("a\xef\xbf\xbd"), std::string::npos) << text;
  std::fclose(file);
}

TEST(OutputTest, FullDiskIsReported) {
  std::FILE* file = std::fopen("/dev/full", "w");
  ASSERT_NE(file, nullptr);
  Output output(file);
  output.Write("x");
  testing::internal::CaptureStderr();
  EXPECT_EQ(output.Finish(kExitOk), kExitRefused);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cannot write"), std::string::npos);
  std::fclose(file);
}

TEST(OutputTest, TableAlignsNumbersRightAndTextLeft) {
  TextTable table({{"NAME", false}, {"N"}});
  table.Add({"a", "100"});
  table.Add({"longer", "7"});
  table.Add({"gr\xc3\xbc\xc3\x9f", "8"});
  EXPECT_EQ(table.ToString(),
            "NAME      N\n"
            "a       100\n"
            "longer    7\n"
            "gr\xc3\xbc\xc3\x9f      8\n");
}

TEST(OutputTest, BytesHaveOneDecimalAndTheLargestUnitUnderThem) {
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(uint64_t{3} << 30), "3.0 GiB");
}

TEST(ExitCodeTest, EveryKindOfStatusHasItsCode) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::ResourceExhaustedError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::AlreadyExistsError("")), 4);
}

}  // namespace
}  // namespace eris::cli
