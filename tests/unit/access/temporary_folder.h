// A folder of one test, with files that are written in one step.
#ifndef ERIS_TESTS_UNIT_ACCESS_TEMPORARY_FOLDER_H_
#define ERIS_TESTS_UNIT_ACCESS_TEMPORARY_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace eris::server {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(testing::TempDir() + "/eris_access_XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }
  // Returns its path.
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(File(name + ".new"), std::ios::binary) << text;
    std::filesystem::rename(File(name + ".new"), File(name));
    return File(name);
  }

 private:
  std::string path_;
};

}  // namespace eris::server

#endif  // ERIS_TESTS_UNIT_ACCESS_TEMPORARY_FOLDER_H_
