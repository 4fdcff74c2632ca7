// Files of others' programs are refused by name, and text that begins like one of them is not.
#include "clients/cli/loading/foreign_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/loading/input_file.h"

namespace eris::cli {
namespace {

using std::string_literals::operator""s;

// The message about a file of this content; empty: it is taken for text.
std::string Told(const std::string& content) {
  const int fd = memfd_create("foreign", MFD_CLOEXEC);
  EXPECT_EQ(write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  InputFile input;
  EXPECT_TRUE(input.Open(absl::StrCat("/proc/self/fd/", fd)).ok());
  const absl::Status status = CheckIsText(input);
  EXPECT_EQ(lseek(input.fd(), 0, SEEK_CUR), 0);
  close(fd);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(ForeignFileTest, IsNamedWithWhatHelps) {
  struct Case {
    std::string content;
    const char* what;
    const char* help;
  };
  const Case cases[] = {
      {"PAR1\x15\x04"s, "is a Parquet file", ".write('/proc/self/fd/"},
      {"ARROW1\0\0"s, "is an Arrow file", "create_table(NAME, frame)"},
      {"\xff\xff\xff\xff\x70\0\0\0"s, "is a stream of Arrow", "frame"},
      {"SQLite format 3\0"s, "is a database of SQLite", "sqlite3 -header -csv /proc/self/fd/"},
      {"\1\2\3\4\5\6\7\x08"s + "DUCK" + "\x40\0"s, "is a database of DuckDB", "copy TABLE to"},
      {"PK\x03\x04"s, "is a ZIP archive", "as CSV"},
      {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"s, "old Excel", "as CSV"},
      {"BZh91AY&SY\x01"s, "compressed with bzip2", "unpack"},
      {"\xfd"s + "7zXZ\0"s, "compressed with xz", "unpack"},
      {"a.csv"s + std::string(252, '\0') + "ustar", "is a tar archive", "unpack"},
      {"\xff\xfe"s + "a\0,\0"s, "is text in UTF-16, and text is read here",
       "iconv -f UTF-16 -t UTF-8"},
      {"\xfe\xff\0a\0,"s, "text in UTF-16", "iconv"},
      {"\xff\xfe\0\0a\0\0\0"s, "text in UTF-32", "iconv -f UTF-32"},
  };
  for (const Case& one : cases) {
    const std::string told = Told(one.content + std::string(600, '\1'));
    EXPECT_THAT(told, testing::HasSubstr(one.what));
    EXPECT_THAT(told, testing::HasSubstr(one.help));
  }
}

TEST(ForeignFileTest, TextIsTakenWhateverItBeginsWith) {
  for (const std::string& text : {""s, "a"s, "id,x\n1,2\n"s, "PAR1,PAR2\r\n1\t,2\n"s, "ORC\n7\n"s,
                                  "BZh\n"s, "PK\n"s, "\xef\xbb\xbfid\n1\n"s, "id,name\n1,\0\n"s,
                                  "\x1b[1mid\n"s, std::string(257, 'x') + "ustar"}) {
    EXPECT_EQ(Told(text), "") << text;
  }
}

}  // namespace
}  // namespace eris::cli
