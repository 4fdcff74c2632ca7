// What roles do in calls: streams, lists, the log, and the tokens file while the server runs.
#include "server/access/access.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "arrow/flight.pb.h"
#include "eris/v1/admin.grpc.pb.h"
#include "eris/v1/catalog.grpc.pb.h"
#include "eris/v1/data.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/access/secured_server.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AccessTest : public ::testing::Test {
 protected:
  AccessTest() : server_(Transport::kPlain) {
    reader_ = server_.Add({.name = "reader", .patterns = {"orders*"}});
    admin_ = server_.Add({.name = "ops", .role = Role::kAdmin, .patterns = {"*"}});
    server_.Start();
    EXPECT_TRUE(server_.engine.Create("orders", {}).ok());
    EXPECT_TRUE(server_.engine.Create("salaries", {}).ok());
    channel_ = server_.Connect();
    data_ = v1::Data::NewStub(channel_);
    catalog_ = v1::Catalog::NewStub(channel_);
    balancer_ = v1::Admin::NewStub(channel_);
  }

  static v1::LookupRequest LookupOf(const std::string& object) {
    v1::LookupRequest request;
    request.set_object(object);
    v1::Column* const keys = request.add_keys();
    keys->set_type(v1::COLUMN_TYPE_UINT64);
    keys->set_data(std::string(8, '\0'));
    return request;
  }
  static void Authorize(grpc::ClientContext& context, const std::string& token) {
    context.AddMetadata("authorization", "Bearer " + token);
  }
  grpc::Status Lookup(const std::string& object, const std::string& token) {
    grpc::ClientContext context;
    Authorize(context, token);
    v1::LookupResponse response;
    return data_->Lookup(&context, LookupOf(object), &response);
  }

  SecuredServer server_;
  std::string reader_;
  std::string admin_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Data::Stub> data_;
  std::unique_ptr<v1::Catalog::Stub> catalog_;
  std::unique_ptr<v1::Admin::Stub> balancer_;
};

TEST_F(AccessTest, RefusalsNameRoleAndObjectAndNoToken) {
  const grpc::Status denied = Lookup("salaries", reader_);
  EXPECT_EQ(denied.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(denied.error_message(),
            "eris.v1.Data/Lookup needs role reader for object \"salaries\"; token \"reader\" has "
            "role reader for \"orders*\"");
  const grpc::Status unknown = Lookup("orders", reader_ + "x");
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(unknown.error_message(), Not(HasSubstr(reader_)));
  EXPECT_EQ(server_.access().denied(), 1u);
  EXPECT_EQ(server_.access().unauthenticated(), 1u);
}

TEST_F(AccessTest, AStreamChecksEachRequest) {
  grpc::ClientContext context;
  Authorize(context, reader_);
  const auto stream = data_->LookupStream(&context);
  v1::LookupStreamResponse response;
  const auto code_of = [&](const std::string& object) {
    EXPECT_TRUE(stream->Write(LookupOf(object)));
    EXPECT_TRUE(stream->Read(&response));
    return response.status().code();
  };
  EXPECT_EQ(code_of("orders"), grpc::StatusCode::OK);
  EXPECT_EQ(code_of("salaries"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(code_of("orders"), grpc::StatusCode::OK) << "the stream goes on";
  server_.Revoke("reader");
  server_.access().Poll();
  EXPECT_EQ(code_of("orders"), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(response.status().message(), HasSubstr("revoked while the call was open"));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(AccessTest, AStreamFollowsANewRoleOfItsToken) {
  grpc::ClientContext context;
  Authorize(context, reader_);
  const auto stream = data_->LookupStream(&context);
  v1::LookupStreamResponse response;
  ASSERT_TRUE(stream->Write(LookupOf("salaries")));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status().code(), grpc::StatusCode::PERMISSION_DENIED);
  const std::string hash = HexOf(HashOf(reader_));
  server_.folder.Write("tokens", absl::StrCat(hash, " reader reader salaries never\n"));
  server_.access().Poll();
  ASSERT_TRUE(stream->Write(LookupOf("salaries")));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status().code(), grpc::StatusCode::OK) << response.status().message();
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(AccessTest, AStreamIsRefusedWhenItsTokenHasExpired) {
  grpc::ClientContext context;
  Authorize(context, reader_);
  const auto stream = data_->LookupStream(&context);
  v1::LookupStreamResponse response;
  ASSERT_TRUE(stream->Write(LookupOf("orders")));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status().code(), grpc::StatusCode::OK);
  const std::string hash = HexOf(HashOf(reader_));
  server_.folder.Write("tokens", absl::StrCat(hash, " reader reader * 2020-01-31T00:00:00Z\n"));
  server_.access().Poll();
  ASSERT_TRUE(stream->Write(LookupOf("orders")));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status().code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(response.status().message(), "\"reader\" has expired at 2020-01-31T00:00:00Z");
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(AccessTest, ACallThatWaitedIsRefusedIfItsTokenWasRevokedMeanwhile) {
  const std::string other = server_.Add({.name = "other", .role = Role::kAdmin, .patterns = {"*"}});
  server_.access().Poll();
  server_.engine.HoldVerifying(true);
  std::thread running([&] {
    CallMethod(channel_, "eris.v1.Admin/VerifyMemory", v1::VerifyMemoryRequest(), Bearer(admin_));
  });
  EXPECT_TRUE(FakeEngine::Await([&] { return server_.engine.verifying() == 1; }));
  grpc::Status status;
  std::thread waiting([&] {
    v1::DropObjectRequest drop;
    drop.set_name("salaries");
    status = CallMethod(channel_, "eris.v1.Catalog/DropObject", drop, Bearer(other)).status;
  });
  EXPECT_TRUE(FakeEngine::Await([&] { return server_.state().control.waiting() == 1; }));
  server_.Revoke("other");
  server_.access().Poll();
  server_.engine.HoldVerifying(false);
  running.join();
  waiting.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(status.error_message(), HasSubstr("revoked while the call was open"));
  EXPECT_TRUE(server_.engine.Describe("salaries").ok()) << "it was dropped";
}

TEST_F(AccessTest, ListsShowOnlyWhatTheCallerMaySee) {
  grpc::ClientContext context;
  Authorize(context, reader_);
  v1::ListObjectsResponse listed;
  ASSERT_TRUE(catalog_->ListObjects(&context, {}, &listed).ok());
  ASSERT_EQ(listed.objects_size(), 1);
  EXPECT_EQ(listed.objects(0).name(), "orders");
  const Outcome flights = CallMethod(channel_, "arrow.flight.protocol.FlightService/ListFlights",
                                     ::arrow::flight::protocol::Criteria(), Bearer(reader_));
  EXPECT_TRUE(flights.status.ok());
  EXPECT_EQ(flights.answers.size(), 1u);
}

TEST_F(AccessTest, ATransferListWithoutAnObjectIsOfEveryObject) {
  v1::ListTransfersRequest request;
  EXPECT_EQ(CallMethod(channel_, "eris.v1.Admin/ListTransfers", request, Bearer(reader_))
                .status.error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  request.set_object("orders");
  EXPECT_TRUE(
      CallMethod(channel_, "eris.v1.Admin/ListTransfers", request, Bearer(reader_)).status.ok());
}

TEST_F(AccessTest, ABadTokensFileKeepsTheOldOne) {
  server_.folder.Write("tokens", "no tokens at all\n");
  server_.access().Poll();
  server_.access().Poll();
  EXPECT_TRUE(Lookup("orders", reader_).ok());
  EXPECT_EQ(server_.access().tokens_file().refusals(), 1u);
  server_.folder.Write("tokens", "");
  server_.access().Poll();
  EXPECT_EQ(Lookup("orders", reader_).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(AccessTest, TheServersTimerReadsTheFileAgain) {
  server_.Revoke("reader");
  const absl::Time end = absl::Now() + absl::Seconds(30);
  while (Lookup("orders", reader_).ok() && absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(Lookup("orders", reader_).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(Lookup("orders", admin_).ok());
}

TEST_F(AccessTest, CatalogueAndBalancerCallsAreInTheLog) {
  testing::internal::CaptureStderr();
  {
    v1::CreateObjectRequest create;
    create.set_name("lineitem");
    v1::DropObjectRequest drop;
    drop.set_name("salaries");
    v1::RebalanceRequest rebalance;
    rebalance.set_object("nothing");
    CallMethod(channel_, "eris.v1.Catalog/CreateObject", create, Bearer(admin_));
    CallMethod(channel_, "eris.v1.Catalog/DropObject", drop, Bearer(reader_));
    CallMethod(channel_, "eris.v1.Admin/PauseBalancer", v1::PauseBalancerRequest(), Bearer(admin_));
    CallMethod(channel_, "eris.v1.Admin/Rebalance", rebalance, Bearer(admin_));
    v1::UpdateConfigRequest update;
    (*update.mutable_values())["server.call_ms_max"] = "2000";
    CallMethod(channel_, "eris.v1.Admin/UpdateConfig", update, Bearer(admin_));
    drop.set_name(std::string(100'000, 'x'));
    CallMethod(channel_, "eris.v1.Catalog/DropObject", drop, Bearer(reader_));
    CallMethod(channel_, "eris.v1.Admin/GetTopology", v1::GetTopologyRequest(), Bearer(admin_));
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("eris: audit caller=\"ops\" peer=\"ipv4:127.0.0.1:"));
  EXPECT_THAT(log, HasSubstr("call=\"eris.v1.Catalog/CreateObject\" object=\"lineitem\" "
                             "result=\"OK\"\n"));
  EXPECT_THAT(log, HasSubstr("eris: audit caller=\"reader\" "));
  EXPECT_THAT(log, HasSubstr("call=\"eris.v1.Catalog/DropObject\" object=\"salaries\" "
                             "result=\"PERMISSION_DENIED: "));
  EXPECT_THAT(log, HasSubstr("call=\"eris.v1.Admin/PauseBalancer\" object=\"\" result=\"OK\"\n"));
  EXPECT_THAT(log, HasSubstr("call=\"eris.v1.Admin/Rebalance\" object=\"nothing\" "
                             "result=\"NOT_FOUND: "));
  EXPECT_THAT(log, HasSubstr("call=\"eris.v1.Admin/UpdateConfig\" "
                             "object=\"server.call_ms_max\" result=\"OK\"\n"));
  EXPECT_LT(log.size(), 10'000u) << "a long name is cut";
  EXPECT_THAT(log, Not(HasSubstr("GetTopology")));
  EXPECT_THAT(log, Not(HasSubstr(admin_)));
  EXPECT_THAT(log, Not(HasSubstr(reader_)));
}

// The period of the limit is a minute: the calls take far less.
TEST_F(AccessTest, OnlyRefusalsAreLimitedInTheLogAndEachCallersAlone) {
  const std::string other = server_.Add({.name = "other", .patterns = {"*"}});
  server_.access().Poll();
  testing::internal::CaptureStderr();
  v1::DropObjectRequest drop;
  drop.set_name("salaries");
  const auto drop_as = [&](const std::string& token) {
    CallMethod(channel_, "eris.v1.Catalog/DropObject", drop, Bearer(token));
  };
  for (uint32_t i = 0; i < Access::kRefusalLines + 3; ++i) drop_as(reader_);
  drop_as(other);
  for (uint32_t i = 0; i < Access::kRefusalLines + 3; ++i) {
    CallMethod(channel_, "eris.v1.Admin/PauseBalancer", v1::PauseBalancerRequest(), Bearer(admin_));
  }
  const std::string log = testing::internal::GetCapturedStderr();
  const auto lines_of = [&log](absl::string_view name) {
    const std::string caller = absl::StrCat("audit caller=\"", name, "\"");
    uint32_t lines = 0;
    for (const absl::string_view line : absl::StrSplit(log, '\n')) {
      lines += absl::StrContains(line, caller);
    }
    return lines;
  };
  EXPECT_EQ(lines_of("reader"), Access::kRefusalLines);
  EXPECT_EQ(lines_of("other"), 1u);
  EXPECT_EQ(lines_of("ops"), Access::kRefusalLines + 3) << "of what was done there is every line";
  EXPECT_THAT(log, HasSubstr("lines_left_out=\"0\"\n"));
}

TEST(AccessStartTest, BadFilesEndTheStart) {
  const TemporaryFolder folder;
  FakeEngine engine;
  IoThread io_thread;
  ServerConfig config;
  config.listen = "127.0.0.1:0";
  const auto refusal = [&] { return RpcServer::Start(config, &engine, io_thread.io()).status(); };
  config.security.tokens_file = folder.File("none");
  EXPECT_EQ(refusal().code(), absl::StatusCode::kNotFound);
  config.security.tokens_file = folder.Write("tokens", "x\n");
  EXPECT_THAT(std::string(refusal().message()), HasSubstr("tokens:1: 1 fields"));
  config.security.tokens_file = "";
  config.security.tls_cert = folder.Write("cert", "x");
  config.security.tls_key = folder.Write("key", "x");
  EXPECT_THAT(std::string(refusal().message()), HasSubstr("it has no certificate in PEM"));
  config = {};
  config.listen = "0.0.0.0:0";
  EXPECT_EQ(refusal().code(), absl::StatusCode::kFailedPrecondition);
  config.security.open = true;
  EXPECT_TRUE(refusal().ok());
}

}  // namespace
}  // namespace eris::server
