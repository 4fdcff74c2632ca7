// One connection of a client to the server of the page, over a raw socket.
#ifndef ERIS_TESTS_UNIT_SERVER_HTTP_CLIENT_H_
#define ERIS_TESTS_UNIT_SERVER_HTTP_CLIENT_H_

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace eris::server {

class HttpClient {
 public:
  explicit HttpClient(const std::string& address) {
    uint32_t port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  HttpClient(HttpClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~HttpClient() {
    if (fd_ >= 0) close(fd_);
  }

  // False: the server has closed the connection, or takes nothing for a second.
  bool Send(absl::string_view text) const {
    while (!text.empty()) {
      pollfd ready{fd_, POLLOUT, 0};
      if (poll(&ready, 1, 1000) != 1) return false;
      const ssize_t sent = send(fd_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // The next answer, or what has come when the connection ended.
  std::string Receive() {
    for (;;) {
      const size_t head = taken_.find("\r\n\r\n");
      if (head != std::string::npos) {
        const size_t at = taken_.find("Content-Length: ");
        const size_t body = std::strtoul(taken_.c_str() + at + 16, nullptr, 10);
        if (taken_.size() >= head + 4 + body) {
          std::string answer = taken_.substr(0, head + 4 + body);
          taken_.erase(0, answer.size());
          return answer;
        }
      }
      if (!More()) return std::exchange(taken_, "");
    }
  }
  // Whether it has ended, with nothing left to be read.
  bool Ended() { return taken_.empty() && !More() && taken_.empty(); }

 private:
  bool More() {
    pollfd ready{fd_, POLLIN, 0};
    if (poll(&ready, 1, 20'000) != 1) return false;
    char bytes[4096];
    const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
    if (count <= 0) return false;
    taken_.append(bytes, static_cast<size_t>(count));
    return true;
  }

  int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string taken_;
};

inline std::string Get(const std::string& target, const std::string& host = "localhost") {
  return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
}
inline std::string BodyOf(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

}  // namespace eris::server

#endif  // ERIS_TESTS_UNIT_SERVER_HTTP_CLIENT_H_
