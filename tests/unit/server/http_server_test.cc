// The page's server, over raw sockets: what browsers ask, and what nobody should send.
#include "server/http/http_server.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>

#include <future>
#include <random>

#include "gmock/gmock.h"
#include "server/http/page_files.h"
#include "tests/unit/server/http_client.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::chrono::milliseconds kShort{250};

class HttpServerTest : public RpcTest {
 protected:
  HttpServerTest() { Restart({}); }
  void Restart(const HttpLimits& limits) {
    page.reset();
    auto started = HttpServer::Start("127.0.0.1:0", &server->state(), limits);
    ASSERT_TRUE(started.ok()) << started.status();
    page = *std::move(started);
  }
  // The answer on a connection of its own.
  std::string Ask(const std::string& request) const {
    HttpClient client(page->address());
    EXPECT_TRUE(client.Send(request));
    return client.Receive();
  }
  void ExpectAlive() const { EXPECT_THAT(Ask(Get("/")), StartsWith("HTTP/1.1 200 OK\r\n")); }

  template <class Message>
  Message FromApi(const std::string& path) const {
    const std::string answer = Ask(Get(path));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n")) << path;
    EXPECT_THAT(answer, HasSubstr("Content-Type: application/json\r\n"));
    Message message;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(BodyOf(answer), &message).ok())
        << BodyOf(answer);
    return message;
  }

  std::unique_ptr<HttpServer> page;
};

TEST_F(HttpServerTest, ThePageLoadsNothingFromElsewhere) {
  ASSERT_GE(PageFiles().size(), 5u);
  HttpClient client(page->address());  // all on one connection
  for (const PageFile& file : PageFiles()) {
    ASSERT_TRUE(client.Send(Get(std::string(file.path))));
    const std::string answer = client.Receive();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer,
                HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self';"));
    EXPECT_THAT(answer, HasSubstr("Cross-Origin-Resource-Policy: same-origin\r\n"));
    EXPECT_THAT(answer, Not(HasSubstr("Access-Control-Allow")));
    EXPECT_EQ(BodyOf(answer), file.content);
    if (file.path != "/") continue;
    EXPECT_THAT(answer, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
    EXPECT_THAT(answer, Not(HasSubstr("://")));
  }
}

TEST_F(HttpServerTest, FiguresAreAdminsMessages) {
  const auto equal = [](const auto& a, const auto& b) {
    return google::protobuf::util::MessageDifferencer::Equals(a, b);
  };
  grpc::ClientContext stats_context, memory_context, balancer_context, hot_context, object_context;
  v1::GetStatsResponse stats;
  ASSERT_TRUE(admin->GetStats(&stats_context, {}, &stats).ok());
  for (v1::Object& object : *stats.mutable_objects()) {
    object.clear_partitions();
    object.clear_beside();
  }
  EXPECT_TRUE(equal(FromApi<v1::GetStatsResponse>("/api/stats"), stats));
  EXPECT_EQ(stats.numa_nodes(0).keys_sent_to(0), 61u);

  v1::GetMemoryResponse memory;
  ASSERT_TRUE(admin->GetMemory(&memory_context, {}, &memory).ok());
  for (v1::ObjectMemory& object : *memory.mutable_objects()) object.clear_classes();
  EXPECT_TRUE(equal(FromApi<v1::GetMemoryResponse>("/api/memory"), memory));

  v1::GetBalancerResponse balancer;
  ASSERT_TRUE(admin->GetBalancer(&balancer_context, {}, &balancer).ok());
  for (v1::ObjectBalance& one : *balancer.mutable_objects()) one.clear_loads();
  EXPECT_TRUE(equal(FromApi<v1::GetBalancerResponse>("/api/balancer"), balancer));

  v1::GetHotRangesRequest hot_request;
  hot_request.set_object("orders");
  v1::GetHotRangesResponse hot;
  ASSERT_TRUE(admin->GetHotRanges(&hot_context, hot_request, &hot).ok());
  EXPECT_TRUE(equal(FromApi<v1::GetHotRangesResponse>("/api/hot?object=orders"), hot));
  EXPECT_EQ(FromApi<v1::GetHotRangesResponse>("/api/hot?object=orders&limit=1").hottest_size(), 1);

  v1::GetObjectRequest object_request;
  object_request.set_name("orders");
  v1::GetObjectResponse object;
  ASSERT_TRUE(catalog->GetObject(&object_context, object_request, &object).ok());
  EXPECT_TRUE(equal(FromApi<v1::GetObjectResponse>("/api/object?name=orders"), object));

  EXPECT_EQ(FromApi<v1::GetServerResponse>("/api/server").version(), "of tests");
  EXPECT_EQ(FromApi<v1::GetServerResponse>("/api/server").calls(), 5u);  // pages are no calls
  EXPECT_EQ(FromApi<v1::GetTopologyResponse>("/api/topology").text(), "a fake machine\n");
  EXPECT_EQ(FromApi<v1::ListTransfersResponse>("/api/transfers?limit=2").transfers_size(), 0);
}

TEST_F(HttpServerTest, RequestsThatItCannotAnswerGetAStatusThatSaysWhy) {
  for (const auto& [target, status] : std::vector<std::pair<std::string, std::string>>{
           {"/nothing", "404 Not Found"},
           {"/api/", "404 Not Found"},
           {"/api/nothing", "404 Not Found"},
           {"/../eris.js", "404 Not Found"},
           {"/api/hot?object=nothing", "404 Not Found"},
           {"/api/hot", "400 Bad Request"},
           {"/api/hot?object=orders&limit=x", "400 Bad Request"},
           {"/api/hot?object=orders&limit=4000", "400 Bad Request"},
           {"/api/hot?object=orders&other=1", "400 Bad Request"},
           {"/api/stats?x=1", "400 Bad Request"},
           {"/api/stats?x=%", "400 Bad Request"},
           {"http://localhost/", "400 Bad Request"}}) {
    HttpClient client(page->address());
    ASSERT_TRUE(client.Send(Get(target)));
    EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 " + status)) << target;
    ASSERT_TRUE(client.Send(Get("/"))) << target;  // the connection goes on
    EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 200 OK"));
  }
}

TEST_F(HttpServerTest, OnlyGetIsAnswered) {
  for (const std::string method : {"POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"}) {
    const std::string answer =
        Ask(method + " / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n")) << method;
    EXPECT_THAT(answer, HasSubstr("Allow: GET\r\n"));
  }
  // The answer comes although the body is still on its way.
  EXPECT_THAT(Ask("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999999\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
  for (const std::string body :
       {"Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"}) {
    EXPECT_THAT(Ask("GET / HTTP/1.1\r\nHost: localhost\r\n" + body), StartsWith("HTTP/1.1 400"));
  }
  ExpectAlive();
}

TEST_F(HttpServerTest, AForeignHostIsRefused) {
  EXPECT_THAT(Ask(Get("/api/stats", "evil.example:7412")),
              StartsWith("HTTP/1.1 403 Forbidden\r\n"));
  EXPECT_THAT(Ask(Get("/", "evil.example")), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Ask("GET / HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"),
              StartsWith("HTTP/1.1 403"));
  for (const std::string host : {"localhost", "127.0.0.1", page->address().c_str(), "[::1]:80"}) {
    EXPECT_THAT(Ask(Get("/", host)), StartsWith("HTTP/1.1 200")) << host;
  }
}

TEST_F(HttpServerTest, LongHeadersAreRefused) {
  EXPECT_THAT(
      Ask("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"),
      StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Ask("GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  std::string many = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 2000; ++i) many += "X: y\r\n";
  EXPECT_THAT(Ask(many + "\r\n"), StartsWith("HTTP/1.1 431 "));
  ExpectAlive();
}

TEST_F(HttpServerTest, WhatIsNotHttpIsRefused) {
  for (const std::string text :
       {"hello\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"}) {
    EXPECT_THAT(Ask(text), StartsWith("HTTP/1.1 400 ")) << text;
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    std::string noise(random() % 300, ' ');
    for (char& c : noise) c = static_cast<char>(random());
    HttpClient client(page->address());
    client.Send(noise);
  }
  ExpectAlive();
}

TEST_F(HttpServerTest, ASlowClientIsToldSoAndASilentOneIsClosed) {
  Restart({.read_time = kShort});
  HttpClient slow(page->address());
  ASSERT_TRUE(slow.Send("GET / HTTP/1.1\r\nHost: loc"));
  HttpClient silent(page->address());
  EXPECT_THAT(slow.Receive(), StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_TRUE(silent.Ended());
  HttpClient kept(page->address());  // after an answer, too
  ASSERT_TRUE(kept.Send(Get("/")));
  EXPECT_THAT(kept.Receive(), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(kept.Ended());
  ExpectAlive();
}

TEST_F(HttpServerTest, AClientThatDoesNotReadLosesItsConnection) {
  Restart({.write_time = kShort});
  HttpClient client(page->address());
  std::string many;
  for (int i = 0; i < 100; ++i) many += Get("/uplot.js");
  // Ends when the server has given up.
  for (int i = 0; i < 1000 && client.Send(many); ++i) {
  }
  ExpectAlive();
}

TEST_F(HttpServerTest, BeyondTheMostConnectionsItSaysSo) {
  Restart({.connections_max = 3, .read_time = std::chrono::minutes(1)});
  {
    std::vector<HttpClient> clients;
    for (int i = 0; i < 3; ++i) clients.emplace_back(page->address());
    ASSERT_TRUE(clients.back().Send(Get("/")));  // all three have been accepted
    EXPECT_THAT(clients.back().Receive(), StartsWith("HTTP/1.1 200"));
    for (int i = 0; i < 50; ++i) {
      HttpClient late(page->address());
      EXPECT_THAT(late.Receive(), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
    }
    ASSERT_TRUE(clients.front().Send(Get("/")));
    EXPECT_THAT(clients.front().Receive(), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_TRUE(FakeEngine::Await([&] {
    HttpClient client(page->address());
    client.Send(Get("/"));
    return client.Receive().rfind("HTTP/1.1 200", 0) == 0;
  }));
}

TEST_F(HttpServerTest, RequestsInOnePieceAreAnsweredInTurn) {
  HttpClient client(page->address());
  ASSERT_TRUE(client.Send(Get("/api/server") + Get("/nothing") + Get("/api/topology")));
  EXPECT_THAT(client.Receive(), HasSubstr("\"version\""));
  EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(client.Receive(), HasSubstr("a fake machine"));
}

// Admin's calls wait for the control thread; the page does not.
TEST_F(HttpServerTest, ItAnswersWhileTheControlThreadIsBusy) {
  std::promise<void> release;
  ASSERT_TRUE(server->state().control.TryPost(
      "a client", [released = release.get_future().share()] { released.wait(); }));
  EXPECT_EQ(FromApi<v1::GetStatsResponse>("/api/stats").aeus_size(), 2);
  release.set_value();
}

TEST_F(HttpServerTest, ATakenAddressIsAnError) {
  const auto second = HttpServer::Start(page->address(), &server->state());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(page->address()));
  EXPECT_EQ(HttpServer::Start("nowhere", &server->state()).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(HttpServer::Start("host.invalid:1", &server->state()).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(HttpServerTest, ItEndsWithConnectionsOpen) {
  std::vector<HttpClient> clients;
  for (int i = 0; i < 5; ++i) clients.emplace_back(page->address());
  EXPECT_TRUE(clients[1].Send("GET / HT"));
  page.reset();
  for (HttpClient& client : clients) client.Receive();  // ends
}

}  // namespace
}  // namespace eris::server
