#include "server/access/token_file.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/access/token_hash.h"
#include "server/access/watched_files.h"
#include "tests/unit/access/temporary_folder.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string HashOfText(const std::string& token) { return HexOf(HashOf(token)); }
std::string RefusalOf(const std::string& line) {
  const auto parsed = ParseTokens(absl::StrCat("# first\n", line), "tokens");
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << line;
  return std::string(parsed.status().message());
}

TEST(TokenFileTest, LinesAreReadBack) {
  const std::string hash = HashOfText("t");
  const auto callers = ParseTokens(
      absl::StrCat("# comment\n\n", hash, "  etl\twriter a*,b  2027-01-31T00:00:00Z # why\r\n",
                   "certificate:x.example ops admin * never"),
      "tokens");
  ASSERT_TRUE(callers.ok()) << callers.status();
  ASSERT_EQ(callers->size(), 2u);
  EXPECT_EQ((*callers)[0].name, "etl");
  EXPECT_EQ((*callers)[0].role, Role::kWriter);
  EXPECT_EQ((*callers)[0].patterns, (std::vector<std::string>{"a*", "b"}));
  EXPECT_EQ(TokenLine((*callers)[0]),
            absl::StrCat(hash, " etl writer a*,b 2027-01-31T00:00:00Z\n"));
  EXPECT_EQ(TokenLine((*callers)[1]), "certificate:x.example ops admin * never\n");
}

TEST(TokenFileTest, RefusalsNameTheLineAndQuoteNoCredential) {
  const std::string hash = HashOfText("t");
  EXPECT_THAT(RefusalOf("eris_secret a reader * never"), HasSubstr("tokens:2: the first field"));
  EXPECT_THAT(RefusalOf("eris_secret a reader * never"), Not(HasSubstr("secret")));
  EXPECT_THAT(RefusalOf(hash + " a reader *"), HasSubstr("4 fields"));
  EXPECT_THAT(RefusalOf(hash + " a root * never"), HasSubstr("the role is \"root\""));
  EXPECT_THAT(RefusalOf(hash + " a/b reader * never"), HasSubstr("a name has"));
  EXPECT_THAT(RefusalOf(hash + " a reader a,,b never"), HasSubstr("objects are patterns"));
  EXPECT_THAT(RefusalOf(hash + " a reader * tomorrow"), HasSubstr("the expiry must be"));
  EXPECT_THAT(RefusalOf(hash + " a reader * never\n" + hash + " b reader * never"),
              HasSubstr("tokens:3: the credential of \"b\" is there twice"));
  EXPECT_THAT(RefusalOf(hash + " a reader * never\n" + HashOfText("u") + " a reader * never"),
              HasSubstr("the name \"a\" is there twice"));
}

TEST(TokenFileTest, ExpiriesAreTimesDatesAndDurations) {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  EXPECT_EQ(*ExpiryFrom("never", now), absl::InfiniteFuture());
  EXPECT_EQ(*ExpiryFrom("90d", now), now + absl::Hours(24 * 90));
  EXPECT_EQ(*ExpiryFrom("12h", now), now + absl::Hours(12));
  EXPECT_EQ(ExpiryText(*ExpiryFrom("2027-01-31", now)), "2027-01-31T00:00:00Z");
  EXPECT_EQ(ExpiryText(*ExpiryFrom("2027-01-31T12:00:00+02:00", now)), "2027-01-31T10:00:00Z");
  for (const char* text : {"", "soon", "-5h", "0", "d", "31.1.2027"}) {
    EXPECT_FALSE(ExpiryFrom(text, now).ok()) << text;
  }
}

TEST(TokenFileTest, LinesAreAddedAndRemovedAndTheRestIsKept) {
  const TemporaryFolder folder;
  const std::string path =
      folder.Write("tokens", "# kept\ncertificate:x.example ops admin * never");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  Caller etl{.credential = HashOfText("t"), .name = "etl", .patterns = {"*"}};
  ASSERT_TRUE(AddToTokensFile(path, etl).ok());
  EXPECT_EQ(AddToTokensFile(path, etl).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*ReadTokensFile(path),
            absl::StrCat("# kept\ncertificate:x.example ops admin * never\n", TokenLine(etl)));
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(RemoveFromTokensFile(path, "nobody").code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(RemoveFromTokensFile(path, "ops").ok());
  EXPECT_EQ(*ReadTokensFile(path), absl::StrCat("# kept\n", TokenLine(etl)));
}

TEST(TokenFileTest, AMissingFileIsMadeToAddButNotToRemove) {
  const TemporaryFolder folder;
  const std::string path = folder.File("tokens");
  EXPECT_EQ(RemoveFromTokensFile(path, "a").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadTokensFile(path).status().code(), absl::StatusCode::kNotFound);
  const Caller one{.credential = HashOfText("t"), .name = "a", .patterns = {"*"}};
  EXPECT_TRUE(AddToTokensFile(path, one).ok());
  EXPECT_EQ(*ReadTokensFile(path), TokenLine(one));
}

// As on a full disk, the first write takes only a part of the text: the size of files is limited.
TEST(TokenFileTest, AFileThatCannotBeWrittenToItsEndKeepsTheOldOne) {
  const TemporaryFolder folder;
  const std::string text = "certificate:x.example ops admin * never\n";
  const std::string path = folder.Write("tokens", text);
  const Caller one{.credential = HashOfText("t"), .name = "a", .patterns = {"*"}};
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {.rlim_cur = text.size() + 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  errno = 0;
  const absl::Status status = AddToTokensFile(path, one);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(*ReadTokensFile(path), text);
}

TEST(TokenFileTest, ChangesAtTheSameTimeAreAllKept) {
  const TemporaryFolder folder;
  const std::string path = folder.File("tokens");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 20; ++i) {
        const std::string name = absl::StrCat("t", thread, "-", i);
        const Caller one{.credential = HashOfText(name), .name = name, .patterns = {"*"}};
        EXPECT_TRUE(AddToTokensFile(path, one).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ParseTokens(*ReadTokensFile(path), path)->size(), 80u);
}

TEST(WatchedFilesTest, ABadFileKeepsTheOldOneAndIsCountedOnce) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("file", "good 1");
  std::string taken;
  WatchedFiles files("test file", {path}, [&]() -> absl::Status {
    const auto text = ReadFile("test file", path, 100);
    if (!text.ok()) return text.status();
    if (!text->starts_with("good")) return absl::InvalidArgumentError("it is bad");
    taken = *text;
    return absl::OkStatus();
  });
  ASSERT_TRUE(files.LoadFirst().ok());
  files.Poll();
  EXPECT_EQ(files.reloads(), 0u);
  folder.Write("file", "good 2");
  files.Poll();
  EXPECT_EQ(taken, "good 2");
  folder.Write("file", "bad");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 4; ++i) files.Poll();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "eris: warning: test file refused, what was read before stays in force "
            "reason=\"it is bad\"\n");
  EXPECT_EQ(taken, "good 2");
  EXPECT_EQ(files.refusals(), 1u);
  EXPECT_EQ(files.reloads(), 1u);
  std::filesystem::remove(path);
  for (int i = 0; i < 3; ++i) files.Poll();
  EXPECT_EQ(files.refusals(), 2u);
  folder.Write("file", "good 3");
  files.Poll();
  EXPECT_EQ(taken, "good 3");
}

TEST(WatchedFilesTest, ATooLongFileIsRefused) {
  const TemporaryFolder folder;
  const auto text = ReadFile("test file", folder.Write("file", std::string(101, 'a')), 100);
  EXPECT_EQ(text.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace eris::server
