// What is counted of real calls, the log of slow ones, and what HTTP answers to other programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/http/http_server.h"
#include "server/http/metrics_answer.h"
#include "server/metrics/refusals.h"
#include "server/state/server_state.h"
#include "tests/unit/server/http_client.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CallWatchTest : public RpcTest {
 protected:
  explicit CallWatchTest(ServerConfig config_in = {}) : RpcTest(std::move(config_in)) {
    auto started = HttpServer::Start("127.0.0.1:0", &server->state());
    EXPECT_TRUE(started.ok()) << started.status();
    http = *std::move(started);
  }

  CallCounts CountsOf(const std::string& method) const {
    for (const CallCounts& counts : server->state().watch.metrics.Read()) {
      if (counts.method == method) return counts;
    }
    ADD_FAILURE() << "no method " << method;
    return {};
  }
  // Calls are counted when gRPC has released them, shortly after their answer.
  bool AwaitEnded(const std::string& method, int code, uint64_t calls) const {
    return FakeEngine::Await([&] { return CountsOf(method).ended[code] == calls; });
  }
  std::string Ask(const std::string& path, const std::string& host = "localhost") const {
    HttpClient client(http->address());
    EXPECT_TRUE(client.Send(Get(path, host)));
    return client.Receive();
  }

  std::unique_ptr<HttpServer> http;
};

TEST_F(CallWatchTest, UnaryCallsAreCountedByCodeWithTheirBytes) {
  v1::LookupRequest request = LookupOf({1, 2, 3});
  ASSERT_TRUE(Lookup(request).ok());
  ASSERT_TRUE(Lookup(request).ok());
  request.set_object("nothing");
  EXPECT_EQ(Lookup(request).error_code(), grpc::StatusCode::NOT_FOUND);
  ASSERT_TRUE(AwaitEnded("eris.v1.Data/Lookup", grpc::StatusCode::OK, 2));
  ASSERT_TRUE(AwaitEnded("eris.v1.Data/Lookup", grpc::StatusCode::NOT_FOUND, 1));
  const CallCounts counts = CountsOf("eris.v1.Data/Lookup");
  EXPECT_EQ(counts.under_way, 0u);
  const uint64_t bytes = 2 * LookupOf({1, 2, 3}).ByteSizeLong() + request.ByteSizeLong();
  EXPECT_EQ(counts.received_bytes, bytes);
  EXPECT_GT(counts.sent_bytes, 0u);
  EXPECT_GT(counts.latency_ns, 0u);
  uint64_t stages_ns = 0;
  for (const uint64_t ns : counts.stage_ns) stages_ns += ns;
  EXPECT_EQ(stages_ns, counts.latency_ns);
  for (const uint64_t ns : counts.stage_ns) EXPECT_GT(ns, 0u);
  uint64_t in_buckets = 0;
  for (const uint64_t calls : counts.latencies) in_buckets += calls;
  EXPECT_EQ(in_buckets, 3u);
}

TEST_F(CallWatchTest, CallsUnderWayAreShown) {
  engine.Hold();
  std::thread caller([&] { EXPECT_TRUE(Lookup(LookupOf({1})).ok()); });
  EXPECT_TRUE(engine.AwaitHeld(1));
  EXPECT_EQ(CountsOf("eris.v1.Data/Lookup").under_way, 1u);
  EXPECT_THAT(Ask("/metrics"),
              HasSubstr("\neris_calls_in_flight{method=\"eris.v1.Data/Lookup\"} 1\n"));
  engine.Release();
  caller.join();
  EXPECT_TRUE(AwaitEnded("eris.v1.Data/Lookup", grpc::StatusCode::OK, 1));
}

TEST_F(CallWatchTest, RequestsOfStreamsAreCountedOneByOne) {
  grpc::ClientContext context;
  const auto stream = data->LookupStream(&context);
  for (int i = 0; i < 3; ++i) {
    v1::LookupRequest request = LookupOf({1, 2});
    if (i == 2) request.set_object("nothing");
    ASSERT_TRUE(stream->Write(request));
    v1::LookupStreamResponse response;
    ASSERT_TRUE(stream->Read(&response));
  }
  const CallCounts open = CountsOf("eris.v1.Data/LookupStream");
  EXPECT_EQ(open.requests[grpc::StatusCode::OK], 2u);
  EXPECT_EQ(open.requests[grpc::StatusCode::NOT_FOUND], 1u);
  EXPECT_EQ(open.under_way, 1u);
  EXPECT_GT(open.received_bytes, 0u);  // as they come: streams may be open for days
  EXPECT_GT(open.sent_bytes, 0u);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  ASSERT_TRUE(AwaitEnded("eris.v1.Data/LookupStream", grpc::StatusCode::OK, 1));
  uint64_t in_buckets = 0;
  for (const uint64_t one : CountsOf("eris.v1.Data/LookupStream").latencies) in_buckets += one;
  EXPECT_EQ(in_buckets, 3u);  // the stream itself is no latency
}

TEST_F(CallWatchTest, ACallThatItsClientCancelsIsCountedAsCancelled) {
  engine.Hold();
  grpc::ClientContext context;
  std::thread caller([&] {
    v1::LookupResponse response;
    EXPECT_FALSE(data->Lookup(&context, LookupOf({1}), &response).ok());
  });
  EXPECT_TRUE(engine.AwaitHeld(1));
  context.TryCancel();
  caller.join();
  EXPECT_TRUE(AwaitEnded("eris.v1.Data/Lookup", grpc::StatusCode::CANCELLED, 1));
  engine.Release();
}

uint64_t AllRefusals() {
  uint64_t all = 0;
  for (const auto& [cause, count] : Refusals::OfProcess().Read()) all += count;
  return all;
}

TEST_F(CallWatchTest, RefusalsAreCounted) {
  const uint64_t before = AllRefusals();
  v1::LookupRequest request = LookupOf({1});
  request.set_object("nothing");
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Lookup(request).ok());
  EXPECT_EQ(AllRefusals(), before + 5);
  request = LookupOf({});
  request.mutable_keys()->Add()->set_data("x");
  EXPECT_FALSE(Lookup(request).ok());
  EXPECT_EQ(AllRefusals(), before + 6);
}

TEST_F(CallWatchTest, SeriesDoNotGrowWithKeysOrNamesOfClients) {
  const auto series = [&] {
    const std::string answer = Ask("/metrics?aeus=1");
    return std::count(answer.begin(), answer.end(), '\n');
  };
  const auto ask = [&](uint64_t from) {
    for (uint64_t key = from; key < from + 20; ++key) {
      EXPECT_TRUE(Write(UpsertOf({key}, {1})).ok());
      v1::LookupRequest request = LookupOf({key});
      EXPECT_TRUE(Lookup(request).ok());
      request.set_object(absl::StrCat("nothing", key));
      EXPECT_FALSE(Lookup(request).ok());
    }
  };
  ask(0);
  ASSERT_TRUE(AwaitEnded("eris.v1.Data/Lookup", grpc::StatusCode::NOT_FOUND, 20));
  const auto before = series();
  ask(1'000'000);
  ASSERT_TRUE(AwaitEnded("eris.v1.Data/Lookup", grpc::StatusCode::NOT_FOUND, 40));
  EXPECT_EQ(series(), before);
  EXPECT_THAT(Ask("/metrics"), Not(HasSubstr("nothing")));
}

TEST_F(CallWatchTest, HealthAndReadinessFollowTheDrain) {
  EXPECT_THAT(Ask("/healthz"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Ask("/readyz"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Ask("/metrics"), HasSubstr("\neris_ready 1\n"));
  engine.Hold();
  std::thread caller([&] { EXPECT_TRUE(Lookup(LookupOf({1})).ok()); });
  EXPECT_TRUE(engine.AwaitHeld(1));
  server->BeginDrain([] {});
  EXPECT_THAT(Ask("/readyz"), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(Ask("/healthz"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Ask("/metrics"), HasSubstr("\neris_ready 0\n"));
  engine.Release();
  caller.join();
}

// These connections come over the loopback.
TEST_F(CallWatchTest, HealthIsAnsweredForAnyHostAndMetricsForOwnNames) {
  for (const std::string path : {"/healthz", "/readyz"}) {
    EXPECT_THAT(Ask(path, "db1.example:7412"), StartsWith("HTTP/1.1 200 OK\r\n")) << path;
  }
  for (const std::string path :
       {"/metrics", "/metrics?aeus=1", "/metrics?/healthz", "/api/stats"}) {
    EXPECT_THAT(Ask(path, "db1.example:7412"), StartsWith("HTTP/1.1 403 Forbidden\r\n")) << path;
  }
  for (const std::string host : {"localhost:7412", "127.0.0.1", "10.0.0.7:7412", "[::1]:7412"}) {
    EXPECT_THAT(Ask("/metrics", host), StartsWith("HTTP/1.1 200 OK\r\n")) << host;
  }
}

TEST(ProgramPathsTest, MetricsAreForAnyHostOnlyOverANetwork) {
  EXPECT_TRUE(IsForAnyHost("/metrics", /*over_loopback=*/false));
  EXPECT_FALSE(IsForAnyHost("/metrics", /*over_loopback=*/true));
  EXPECT_TRUE(IsForAnyHost("/readyz", /*over_loopback=*/true));
  EXPECT_FALSE(IsForAnyHost("/", /*over_loopback=*/false));
  EXPECT_FALSE(IsForAnyHost("/api/stats", /*over_loopback=*/false));
}

TEST_F(CallWatchTest, ProgramsHaveTheirPathsOnly) {
  for (const std::string path :
       {"/metrics", "/metrics?aeus=1", "/metrics?aeus=0", "/healthz", "/readyz"}) {
    EXPECT_THAT(Ask(path), StartsWith("HTTP/1.1 200 OK\r\n")) << path;
  }
  EXPECT_THAT(Ask("/metrics"), HasSubstr("Content-Type: text/plain; version=0.0.4"));
  for (const std::string path :
       {"/metrics?aeus=2", "/metrics?key=1", "/healthz?x=1", "/readyz?x=1"}) {
    EXPECT_THAT(Ask(path), StartsWith("HTTP/1.1 400 Bad Request\r\n")) << path;
  }
  EXPECT_THAT(Ask("/metrics/"), StartsWith("HTTP/1.1 404"));
}

class SlowCallTest : public CallWatchTest {
 protected:
  SlowCallTest() : CallWatchTest(ConfigOf(1)) {}
  static ServerConfig ConfigOf(uint32_t ms) {
    ServerConfig config;
    config.slow_call_ms = ms;
    return config;
  }
  // Runs `calls` lookups that the engine holds for longer than a millisecond.
  std::string LinesOf(int calls) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < calls; ++i) {
      engine.Hold();
      grpc::ClientContext context;
      context.AddMetadata("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
      std::thread caller([&] {
        v1::LookupResponse response;
        EXPECT_TRUE(data->Lookup(&context, LookupOf({1, 2, 3}), &response).ok());
      });
      EXPECT_TRUE(engine.AwaitHeld(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      engine.Release();
      caller.join();
    }
    EXPECT_TRUE(AwaitEnded("eris.v1.Data/Lookup", grpc::StatusCode::OK, calls));
    EXPECT_TRUE(FakeEngine::Await(
        [&] { return server->state().watch.slow.seen() == static_cast<uint64_t>(calls); }));
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(SlowCallTest, ALineHasWhatTheCallWas) {
  EXPECT_THAT(LinesOf(1),
              testing::MatchesRegex(
                  "eris: warning: slow call method=\"eris.v1.Data/Lookup\" code=\"OK\" "
                  "client=\"ipv4:127.0.0.1:[0-9]+\" object=\"orders\" rows=\"3\" "
                  "total_ms=\"[0-9]+\\.[0-9]+\" arrival_ms=\"[0-9]+\\.[0-9]+\" "
                  "execute_ms=\"[0-9]+\\.[0-9]+\" reply_ms=\"[0-9]+\\.[0-9]+\" "
                  "traceparent=\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\" "
                  "lines_left_out=\"0\"\n"));
}

TEST_F(SlowCallTest, ARequestOfAStreamHasALine) {
  testing::internal::CaptureStderr();
  grpc::ClientContext context;
  const auto stream = data->LookupStream(&context);
  engine.Hold();
  ASSERT_TRUE(stream->Write(LookupOf({1, 2})));
  EXPECT_TRUE(engine.AwaitHeld(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  engine.Release();
  v1::LookupStreamResponse response;
  ASSERT_TRUE(stream->Read(&response));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(AwaitEnded("eris.v1.Data/LookupStream", grpc::StatusCode::OK, 1));
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines, HasSubstr("slow call method=\"eris.v1.Data/LookupStream\" code=\"OK\" "
                               "client=\"ipv4:127.0.0.1:"));
  EXPECT_THAT(lines, HasSubstr("object=\"orders\" rows=\"2\""));
}

class QuickCallTest : public CallWatchTest {
 protected:
  QuickCallTest() : CallWatchTest(SlowConfig()) {}
  static ServerConfig SlowConfig() {
    ServerConfig config;
    config.slow_call_ms = 3'600'000;
    return config;
  }
};

TEST_F(QuickCallTest, QuickCallsHaveNoLine) {
  testing::internal::CaptureStderr();
  ASSERT_TRUE(Lookup(LookupOf({1})).ok());
  ASSERT_TRUE(AwaitEnded("eris.v1.Data/Lookup", grpc::StatusCode::OK, 1));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("slow call")));
  EXPECT_EQ(server->state().watch.slow.seen(), 0u);
}

TEST(SlowLogTest, LinesAreLimitedAndTheNextSaysHowManyWereLeftOut) {
  testing::internal::CaptureStderr();
  SlowLog log(1);
  EXPECT_TRUE(log.IsSlow(1'000'000));
  EXPECT_FALSE(log.IsSlow(999'999));
  EXPECT_FALSE(SlowLog(0).IsSlow(~uint64_t{0}));
  for (int i = 0; i < 1000; ++i) log.Write({.method = "x"});
  EXPECT_EQ(log.seen(), 1000u);
  const std::string lines = testing::internal::GetCapturedStderr();
  // Ten a second; a slow machine may take several seconds for this.
  EXPECT_LT(std::count(lines.begin(), lines.end(), '\n'), 500);
  EXPECT_GE(std::count(lines.begin(), lines.end(), '\n'), 10);
}

}  // namespace
}  // namespace eris::server
