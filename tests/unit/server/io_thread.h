// The thread that a server's timers run on.
#ifndef ERIS_TESTS_UNIT_SERVER_IO_THREAD_H_
#define ERIS_TESTS_UNIT_SERVER_IO_THREAD_H_

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

namespace eris::server {

// The server's Asio thread, without the signals.
class IoThread {
 public:
  IoThread() : work_(io_.get_executor()), thread_([this] { io_.run(); }) {}
  ~IoThread() {
    io_.stop();
    thread_.join();
  }
  boost::asio::io_context* io() { return &io_; }

 private:
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace eris::server

#endif  // ERIS_TESTS_UNIT_SERVER_IO_THREAD_H_
