// A client of a server's door that writes bytes of its own instead of what gRPC would.
#ifndef ERIS_TESTS_UNIT_SERVER_RAW_CLIENT_H_
#define ERIS_TESTS_UNIT_SERVER_RAW_CLIENT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace eris::server {

// A frame of HTTP/2.
inline std::string Frame(char type, char flags, uint32_t stream, const std::string& payload) {
  const size_t n = payload.size();
  std::string frame = {static_cast<char>(n >> 16), static_cast<char>(n >> 8), static_cast<char>(n),
                       type, flags};
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(stream >> shift);
  return frame + payload;
}

class RawClient {
 public:
  explicit RawClient(int family = AF_INET) : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval most = {20, 0};  // it only ends a test that has failed
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  }
  RawClient(RawClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~RawClient() {
    if (fd_ >= 0) close(fd_);
  }

  bool Connect(const std::string& address) const {
    sockaddr_storage to = {};
    if (address.rfind("unix:", 0) == 0) {
      auto& path = reinterpret_cast<sockaddr_un&>(to);
      path.sun_family = AF_UNIX;
      std::strncpy(path.sun_path, address.c_str() + 5, sizeof path.sun_path - 1);
      return connect(fd_, reinterpret_cast<sockaddr*>(&path), sizeof path) == 0;
    }
    auto& in = reinterpret_cast<sockaddr_in&>(to);
    uint32_t port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    in.sin_family = AF_INET;
    in.sin_port = htons(static_cast<uint16_t>(port));
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(fd_, reinterpret_cast<sockaddr*>(&in), sizeof in) == 0;
  }
  // Makes it come from another address of the loopback: 127.0.0.`last`.
  bool ComeFrom(uint8_t last) const {
    sockaddr_in from = {};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~uint32_t{0xff}) | last);
    return bind(fd_, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0;
  }
  // False: the server has closed it.
  bool Send(const std::string& bytes) const {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  bool Begin() const {
    return Send(absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Frame(4, 0, 0, "")));
  }
  // Whether the server closes it within ten seconds; what it sends is thrown away.
  bool IsClosed() const {
    for (;;) {
      pollfd wait = {fd_, POLLIN, 0};
      char scrap[4096];
      if (poll(&wait, 1, 10'000) <= 0) return false;
      if (recv(fd_, scrap, sizeof scrap, 0) <= 0) return true;
    }
  }
  // Resets it, without a word.
  void Drop() {
    const linger at_once = {1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace eris::server

#endif  // ERIS_TESTS_UNIT_SERVER_RAW_CLIENT_H_
