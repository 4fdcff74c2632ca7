// Where what is written ends up: whole files, links, pipes, two writers at once.
#include "clients/cli/text/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace eris::cli {
namespace {

class OutputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char directory[] = "/tmp/eris_output_file_XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    directory_ = directory;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  static std::string Read(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }
  size_t Files() const {
    size_t files = 0;
    for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(directory_)) {
      ++files;
    }
    return files;
  }

  std::string directory_;
};

TEST_F(OutputFileTest, FileIsThereWholeOrAsItWas) {
  const std::string path = Path("a");
  Write(path, "before");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  {
    OutputFile lost;
    ASSERT_TRUE(lost.Open(path).ok());
    std::fputs("half", lost.file());
  }
  EXPECT_EQ(Read(path), "before");
  EXPECT_EQ(Files(), 1u);
  OutputFile kept;
  ASSERT_TRUE(kept.Open(path).ok());
  std::fputs("after", kept.file());
  EXPECT_EQ(Read(path), "before");
  EXPECT_TRUE(kept.Keep().ok());
  EXPECT_EQ(Read(path), "after");
  EXPECT_EQ(ModeOf(path), 0640u);
  EXPECT_EQ(Files(), 1u);
}

TEST_F(OutputFileTest, NewFileHasTheModeOfAnyOther) {
  OutputFile file;
  ASSERT_TRUE(file.Open(Path("a")).ok());
  EXPECT_TRUE(file.Keep().ok());
  Write(Path("other"), "");
  EXPECT_EQ(ModeOf(Path("a")), ModeOf(Path("other")));
}

TEST_F(OutputFileTest, TwoWritersDoNotMix) {
  OutputFile one, two;
  ASSERT_TRUE(one.Open(Path("a")).ok());
  ASSERT_TRUE(two.Open(Path("a")).ok());
  std::fputs("one", one.file());
  std::fputs("two", two.file());
  EXPECT_TRUE(one.Keep().ok());
  EXPECT_EQ(Read(Path("a")), "one");
  EXPECT_TRUE(two.Keep().ok());
  EXPECT_EQ(Read(Path("a")), "two");
}

TEST_F(OutputFileTest, LinksStay) {
  Write(Path("a"), "before");
  ASSERT_EQ(symlink("a", Path("link").c_str()), 0);
  ASSERT_EQ(symlink("new", Path("dangling").c_str()), 0);
  for (const char* name : {"link", "dangling"}) {
    OutputFile file;
    ASSERT_TRUE(file.Open(Path(name)).ok());
    std::fputs("after", file.file());
    EXPECT_TRUE(file.Keep().ok());
    EXPECT_TRUE(std::filesystem::is_symlink(Path(name)));
  }
  EXPECT_EQ(Read(Path("a")), "after");
  EXPECT_EQ(Read(Path("new")), "after");
}

TEST_F(OutputFileTest, PipeIsWrittenIntoAndStays) {
  const std::string path = Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  OutputFile file;
  ASSERT_TRUE(file.Open(path).ok());
  std::fputs("rows", file.file());
  EXPECT_TRUE(file.Keep().ok());
  char text[8] = {};
  EXPECT_EQ(read(reader, text, sizeof(text)), 4);
  EXPECT_STREQ(text, "rows");
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST_F(OutputFileTest, OpenFileOfTheProcessIsWrittenItself) {
  const int fd = open(Path("a").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  OutputFile file;
  ASSERT_TRUE(file.Open("/dev/fd/" + std::to_string(fd)).ok());
  std::fputs("rows", file.file());
  EXPECT_TRUE(file.Keep().ok());
  char text[8] = {};
  EXPECT_EQ(pread(fd, text, sizeof(text), 0), 4);
  close(fd);
}

TEST_F(OutputFileTest, WhatCannotBeWrittenIsNamed) {
  for (const std::string& path : {directory_, Path("no/such")}) {
    OutputFile file;
    const absl::Status status = file.Open(path);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.message()).find("cannot write " + path), std::string::npos)
        << status;
  }
}

}  // namespace
}  // namespace eris::cli
