// A file with given content that is gone with the object.
#ifndef ERIS_TESTS_UNIT_CLIENTS_TEMP_FILE_H_
#define ERIS_TESTS_UNIT_CLIENTS_TEMP_FILE_H_

#include <unistd.h>

#include <cstdio>
#include <string>

namespace eris {

class TempFile {
 public:
  explicit TempFile(const std::string& content) : file_(std::tmpfile()), bytes_(content.size()) {
    std::fwrite(content.data(), 1, content.size(), file_);
    std::fflush(file_);
    lseek(fd(), 0, SEEK_SET);
  }
  ~TempFile() { std::fclose(file_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  int fd() const { return fileno(file_); }
  size_t bytes() const { return bytes_; }

 private:
  std::FILE* const file_;
  const size_t bytes_;
};

}  // namespace eris

#endif  // ERIS_TESTS_UNIT_CLIENTS_TEMP_FILE_H_
