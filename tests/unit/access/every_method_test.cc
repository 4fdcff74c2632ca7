// Every method of every service, as every caller, over every transport: which are let in. The table
// here says what each method needs; it is written apart from the server's own policies.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "arrow/flight.pb.h"
#include "eris/v1/data.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "gtest/gtest.h"
#include "substrait/plan.pb.h"
#include "tests/unit/access/secured_server.h"

namespace eris::server {
namespace {

namespace flight = ::arrow::flight::protocol;
using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

constexpr char kObject[] = "orders_2027";

enum class Names { kNone, kEvery, kOne };
struct Need {
  Role role;
  Names names;
};

const std::map<std::string, Need>& Needs() {
  static const std::map<std::string, Need> needs = {
      {"eris.v1.Data/Lookup", {Role::kReader, Names::kOne}},
      {"eris.v1.Data/LookupStream", {Role::kReader, Names::kOne}},
      {"eris.v1.Data/Scan", {Role::kReader, Names::kOne}},
      {"eris.v1.Data/Aggregate", {Role::kReader, Names::kOne}},
      {"eris.v1.Data/Write", {Role::kWriter, Names::kOne}},
      {"eris.v1.Data/WriteStream", {Role::kWriter, Names::kOne}},
      {"eris.v1.Data/ScanInto", {Role::kWriter, Names::kOne}},
      {"eris.v1.Data/TakeSnapshot", {Role::kReader, Names::kNone}},
      {"eris.v1.Data/ReleaseSnapshot", {Role::kReader, Names::kNone}},
      {"eris.v1.Queries/Execute", {Role::kReader, Names::kOne}},
      {"eris.v1.Queries/Analyze", {Role::kReader, Names::kOne}},
      {"eris.v1.Queries/Explain", {Role::kReader, Names::kOne}},
      {"eris.v1.Queries/List", {Role::kAdmin, Names::kEvery}},
      {"eris.v1.Queries/Cancel", {Role::kAdmin, Names::kEvery}},
      {"eris.v1.Catalog/CreateObject", {Role::kAdmin, Names::kOne}},
      {"eris.v1.Catalog/DropObject", {Role::kAdmin, Names::kOne}},
      {"eris.v1.Catalog/GetObject", {Role::kReader, Names::kOne}},
      {"eris.v1.Catalog/ListObjects", {Role::kReader, Names::kNone}},
      {"eris.v1.Admin/GetServer", {Role::kReader, Names::kNone}},
      {"eris.v1.Admin/GetConfig", {Role::kAdmin, Names::kEvery}},
      {"eris.v1.Admin/UpdateConfig", {Role::kAdmin, Names::kEvery}},
      {"eris.v1.Admin/GetStats", {Role::kReader, Names::kEvery}},
      {"eris.v1.Admin/GetTopology", {Role::kReader, Names::kNone}},
      {"eris.v1.Admin/GetMemory", {Role::kReader, Names::kEvery}},
      {"eris.v1.Admin/VerifyMemory", {Role::kAdmin, Names::kEvery}},
      {"eris.v1.Admin/GetBalancer", {Role::kReader, Names::kEvery}},
      {"eris.v1.Admin/ListTransfers", {Role::kReader, Names::kOne}},
      {"eris.v1.Admin/GetHotRanges", {Role::kReader, Names::kOne}},
      {"eris.v1.Admin/SetBalancer", {Role::kAdmin, Names::kEvery}},
      {"eris.v1.Admin/PauseBalancer", {Role::kAdmin, Names::kEvery}},
      {"eris.v1.Admin/ResumeBalancer", {Role::kAdmin, Names::kEvery}},
      {"eris.v1.Admin/PlanBalance", {Role::kReader, Names::kOne}},
      {"eris.v1.Admin/Rebalance", {Role::kAdmin, Names::kOne}},
      {"eris.v1.Admin/Presplit", {Role::kAdmin, Names::kOne}},
      {"eris.v1.Admin/MoveRange", {Role::kAdmin, Names::kOne}},
      {"arrow.flight.protocol.FlightService/GetFlightInfo", {Role::kReader, Names::kOne}},
      {"arrow.flight.protocol.FlightService/GetSchema", {Role::kReader, Names::kOne}},
      {"arrow.flight.protocol.FlightService/ListFlights", {Role::kReader, Names::kNone}},
      {"arrow.flight.protocol.FlightService/DoGet", {Role::kReader, Names::kOne}},
      {"arrow.flight.protocol.FlightService/DoPut", {Role::kWriter, Names::kOne}},
      {"arrow.flight.protocol.FlightService/DoExchange", {Role::kReader, Names::kOne}},
      {"arrow.flight.protocol.FlightService/DoAction", {Role::kReader, Names::kOne}},
      {"arrow.flight.protocol.FlightService/ListActions", {Role::kReader, Names::kNone}},
      {"arrow.flight.protocol.FlightService/Handshake", {Role::kReader, Names::kNone}},
      {"grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
       {Role::kReader, Names::kNone}},
  };
  return needs;
}

// How a caller is known to the server.
enum class Known { kYes, kNo };
struct TestCaller {
  std::string name{};
  Known known = Known::kNo;
  Role role = Role::kReader;
  std::vector<std::string> patterns{};
  std::vector<std::string> authorization{};  // headers
  TestCertificate certificate{};             // for mutual TLS
};

class EveryMethodTest : public ::testing::TestWithParam<Transport> {
 protected:
  EveryMethodTest() : server_(GetParam()) {
    AddRoles();
    AddStrangers();
    server_.Start();
    EXPECT_TRUE(server_.engine.Create(kObject, {}).ok());
    channel_ = server_.Connect(AnyCertificate());
    admin_ = Bearer(server_.Add({.name = "root", .role = Role::kAdmin, .patterns = {"*"}}));
    server_.access().Poll();
    MakeTicket();
  }

  bool mutual() const { return GetParam() == Transport::kMutualTls; }
  // Without one there is no connection by mutual TLS.
  TestCertificate AnyCertificate() const {
    return mutual() ? server_.authority.Issue({.common_name = "nobody"}) : TestCertificate{};
  }

  void AddRoles() {
    for (const Role role : {Role::kReader, Role::kWriter, Role::kAdmin}) {
      for (const std::string pattern : {"orders*", "lineitem", "*"}) {
        const std::string name =
            absl::StrCat(RoleName(role), "-", pattern == "*" ? "all" : pattern.substr(0, 6));
        TestCaller caller{.name = name, .known = Known::kYes, .role = role, .patterns = {pattern}};
        Caller line{.name = name, .role = role, .patterns = {pattern}};
        if (mutual()) {
          const std::string dns = absl::StrCat(name, ".example");
          line.credential = absl::StrCat("certificate:", dns);
          // Some are known by their common name, some by an alternative one.
          caller.certificate =
              role == Role::kWriter
                  ? server_.authority.Issue({.common_name = dns, .localhost = false})
                  : server_.authority.Issue({.common_name = "x", .dns_names = {"y.example", dns}});
        }
        const std::string token = server_.Add(line);
        if (!token.empty()) caller.authorization = Bearer(token);
        callers_.push_back(std::move(caller));
      }
    }
  }

  void AddStrangers() {
    const auto stranger = [&](const std::string& name, std::vector<std::string> authorization) {
      callers_.push_back({.name = name,
                          .authorization = std::move(authorization),
                          .certificate = AnyCertificate()});
    };
    const std::string good =
        server_.Add({.name = "other-root", .role = Role::kAdmin, .patterns = {"*"}});
    stranger("nobody", {});
    stranger("a token of another server", Bearer(*NewToken()));
    stranger("an expired token", Bearer(server_.Add({.name = "expired",
                                                     .role = Role::kAdmin,
                                                     .patterns = {"*"},
                                                     .expires = absl::Now() - absl::Seconds(1)})));
    stranger("a revoked token",
             Bearer(server_.Add({.name = "revoked", .role = Role::kAdmin, .patterns = {"*"}})));
    server_.Revoke("revoked");
    stranger("an empty token", Bearer(""));
    stranger("a part of a token", Bearer(good.substr(0, good.size() - 1)));
    stranger("more than a token", Bearer(good + "A"));
    stranger("a hash", Bearer(HexOf(HashOf(good))));
    stranger("another scheme", {"Basic " + good});
    stranger("a token without a scheme", {good});
    stranger("two tokens", {"Bearer " + good, "Bearer " + good});
    if (!mutual()) return;
    TestCaller both = callers_[2];  // a certificate with a role does not help a wrong token
    both.name = "a certificate with a wrong token";
    both.known = Known::kNo;
    both.authorization = Bearer(*NewToken());
    callers_.push_back(both);
  }

  void MakeTicket() {
    flight::FlightDescriptor descriptor;
    descriptor.set_type(flight::FlightDescriptor::PATH);
    descriptor.add_path(kObject);
    const Outcome outcome = CallMethod(
        channel_, "arrow.flight.protocol.FlightService/GetFlightInfo", descriptor, admin_);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
    ASSERT_EQ(outcome.answers.size(), 1u);
    flight::FlightInfo info;
    grpc::ByteBuffer bytes = outcome.answers[0];
    ASSERT_TRUE(ParseMessage(&bytes, &info).ok());
    ASSERT_EQ(info.endpoint_size(), 1);
    endpoint_ = info.endpoint(0);
  }

  // A request that names kObject, in the way of the method.
  std::unique_ptr<Message> RequestOf(const MethodDescriptor& method) const {
    std::unique_ptr<Message> message(google::protobuf::MessageFactory::generated_factory()
                                         ->GetPrototype(method.input_type())
                                         ->New());
    if (auto* descriptor = dynamic_cast<flight::FlightDescriptor*>(message.get())) {
      descriptor->set_type(flight::FlightDescriptor::PATH);
      descriptor->add_path(kObject);
    } else if (auto* data = dynamic_cast<flight::FlightData*>(message.get())) {
      data->mutable_flight_descriptor()->set_type(flight::FlightDescriptor::PATH);
      data->mutable_flight_descriptor()->add_path(kObject);
    } else if (auto* ticket = dynamic_cast<flight::Ticket*>(message.get())) {
      *ticket = endpoint_.ticket();
    } else if (auto* action = dynamic_cast<flight::Action*>(message.get())) {
      flight::RenewFlightEndpointRequest renew;
      *renew.mutable_endpoint() = endpoint_;
      action->set_type("RenewFlightEndpoint");
      action->set_body(renew.SerializeAsString());
    }
    for (const char* name : {"object", "name", "table", "target"}) SetText(*message, name, kObject);
    SetText(*message, "plan", PlanOf(kObject));
    return message;
  }
  static void SetText(Message& message, const char* name, const std::string& text) {
    const auto* field = message.GetDescriptor()->FindFieldByName(name);
    if (field == nullptr) return;
    message.GetReflection()->SetString(&message, field, text);
  }
  static std::string PlanOf(const std::string& object) {
    ::substrait::Plan plan;
    auto& read = *plan.add_relations()->mutable_rel()->mutable_read();
    read.mutable_named_table()->add_names(object);
    read.mutable_base_schema()->add_names("key");
    read.mutable_base_schema()->mutable_struct_()->add_types()->mutable_i64();
    return plan.SerializeAsString();
  }

  // Whether the call was refused, and how. A stream's answer has the status of its request.
  static int CodeOf(const MethodDescriptor& method, const Outcome& outcome) {
    const std::string& answer = method.output_type()->full_name();
    if (!outcome.status.ok() || outcome.answers.empty()) return outcome.status.error_code();
    grpc::ByteBuffer bytes = outcome.answers[0];
    if (answer == "eris.v1.LookupStreamResponse") {
      v1::LookupStreamResponse response;
      EXPECT_TRUE(ParseMessage(&bytes, &response).ok());
      return response.status().code();
    }
    if (answer == "eris.v1.WriteStreamResponse") {
      v1::WriteStreamResponse response;
      EXPECT_TRUE(ParseMessage(&bytes, &response).ok());
      return response.status().code();
    }
    return outcome.status.error_code();
  }

  static int WantedRefusal(const Need& need, const TestCaller& caller) {
    if (caller.known == Known::kNo) return grpc::StatusCode::UNAUTHENTICATED;
    const bool all = caller.patterns[0] == "*";
    const bool sees = all || caller.patterns[0] == "orders*";
    const bool names = need.names == Names::kNone || (need.names == Names::kEvery ? all : sees);
    return caller.role >= need.role && names ? grpc::StatusCode::OK
                                             : grpc::StatusCode::PERMISSION_DENIED;
  }

  SecuredServer server_;
  std::vector<TestCaller> callers_;
  std::shared_ptr<grpc::Channel> channel_;
  std::vector<std::string> admin_;
  flight::FlightEndpoint endpoint_;
};

// As reflection lists them, so that a new one cannot be forgotten. Health is open.
std::vector<std::string> ServicesOf(const std::shared_ptr<grpc::Channel>& channel,
                                    const std::vector<std::string>& authorization) {
  grpc::reflection::v1alpha::ServerReflectionRequest request;
  request.set_list_services("*");
  const Outcome outcome =
      CallMethod(channel, "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", request,
                 authorization);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  grpc::reflection::v1alpha::ServerReflectionResponse response;
  grpc::ByteBuffer bytes = outcome.answers.at(0);
  EXPECT_TRUE(ParseMessage(&bytes, &response).ok());
  std::vector<std::string> names;
  for (const auto& service : response.list_services_response().service()) {
    if (service.name() != "grpc.health.v1.Health") names.push_back(service.name());
  }
  return names;
}

TEST_P(EveryMethodTest, LetsInWhomItShouldAndNobodyElse) {
  size_t calls = 0;
  std::set<std::string> seen;
  for (const std::string& name : ServicesOf(channel_, admin_)) {
    const ServiceDescriptor* const service =
        DescriptorPool::generated_pool()->FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name;
    for (int i = 0; i < service->method_count(); ++i) {
      const MethodDescriptor& method = *service->method(i);
      const std::string path = absl::StrCat(name, "/", method.name());
      seen.insert(path);
      const auto need = Needs().find(path);
      if (need == Needs().end()) {
        ADD_FAILURE() << path << " is not in the table";
        continue;
      }
      for (const TestCaller& caller : callers_) {
        const auto channel = mutual() ? server_.Connect(caller.certificate) : channel_;
        const Outcome outcome = CallMethod(channel, path, *RequestOf(method), caller.authorization);
        const int code = CodeOf(method, outcome);
        const bool refused = code == grpc::StatusCode::UNAUTHENTICATED ||
                             code == grpc::StatusCode::PERMISSION_DENIED;
        const int wanted = WantedRefusal(need->second, caller);
        EXPECT_EQ(refused ? code : grpc::StatusCode::OK, wanted)
            << path << " as " << caller.name << ": " << code << " "
            << outcome.status.error_message();
        EXPECT_NE(code, grpc::StatusCode::DEADLINE_EXCEEDED) << path << " as " << caller.name;
        ++calls;
      }
    }
  }
  EXPECT_EQ(seen.size(), Needs().size()) << "the table has a method that no service has";
  EXPECT_EQ(calls, Needs().size() * callers_.size());
}

TEST_P(EveryMethodTest, HealthIsOpen) {
  // An empty message of any type is a question for the whole server.
  const Outcome outcome =
      CallMethod(channel_, "grpc.health.v1.Health/Check", v1::TakeSnapshotRequest(), {});
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.error_message();
}

INSTANTIATE_TEST_SUITE_P(Transports, EveryMethodTest,
                         ::testing::Values(Transport::kPlain, Transport::kTls,
                                           Transport::kMutualTls),
                         [](const ::testing::TestParamInfo<Transport>& one) {
                           return one.param == Transport::kPlain ? "Plain"
                                  : one.param == Transport::kTls ? "Tls"
                                                                 : "MutualTls";
                         });

}  // namespace
}  // namespace eris::server
