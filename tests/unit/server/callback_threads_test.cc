// gRPC has two callback threads or more: those beyond the wanted number wait until the servers go.
#include "server/guard/callback_threads.h"

#include <gtest/gtest.h>

#include <memory>

#include "server/rpc_server.h"
#include "tests/unit/server/fake_engine.h"
#include "tests/unit/server/io_thread.h"

namespace eris::server {
namespace {

TEST(CallbackThreadsTest, AServerKeepsThoseThatItDoesNotWant) {
  FakeEngine engine;
  IoThread io_thread;
  ServerConfig config;
  config.listen = "127.0.0.1:0";
  config.callback_threads = 1;
  EXPECT_EQ(CallbackThreads::kept(), 0u);
  auto server = RpcServer::Start(config, &engine, io_thread.io());
  ASSERT_TRUE(server.ok()) << server.status();
  const uint32_t kept = CallbackThreads::kept();
  EXPECT_GE(kept, 1u);
  // A second one of the process finds them kept, and leaves them so.
  auto second = RpcServer::Start(config, &engine, io_thread.io());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(CallbackThreads::kept(), kept);
  second->reset();
  EXPECT_EQ(CallbackThreads::kept(), kept);
  server->reset();
  EXPECT_EQ(CallbackThreads::kept(), 0u);
}

TEST(CallbackThreadsTest, AsManyAsThereAreNeedNoKeeping) {
  FakeEngine engine;
  IoThread io_thread;
  ServerConfig config;
  config.listen = "127.0.0.1:0";
  config.callback_threads = 16;
  auto server = RpcServer::Start(config, &engine, io_thread.io());
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(CallbackThreads::kept(), 0u);
}

}  // namespace
}  // namespace eris::server
