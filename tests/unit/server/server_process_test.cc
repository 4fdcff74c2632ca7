// The whole process with a fake engine, forked: signals, exit codes, messages, files.
#include "server/server_process.h"

#include <grpcpp/grpcpp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "eris/v1/data.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/exit_code.h"
#include "tests/support/other_main.h"
#include "tests/unit/server/fake_engine.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

// Runs this program again as a server; gRPC does not survive a fork, so the child is a fresh one.
// See RunAsServer.
class Process {
 public:
  // `arguments`: listen, port file, drain timeout, "hold" or "".
  explicit Process(std::vector<std::string> arguments) {
    int out[2];
    EXPECT_EQ(pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], 1);
      dup2(out[1], 2);
      close(out[0]);
      close(out[1]);
      std::vector<std::string> all = {"/proc/self/exe", "--as-server"};
      all.insert(all.end(), arguments.begin(), arguments.end());
      std::vector<char*> argv;
      for (std::string& argument : all) argv.push_back(argument.data());
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(99);
    }
    close(out[1]);
    reader_ = std::thread([this, fd = out[0]] {
      char buffer[256];
      for (;;) {
        const ssize_t n = read(fd, buffer, sizeof(buffer));
        if (n <= 0) break;
        base::MutexLock lock(&mu_);
        output_.append(buffer, static_cast<size_t>(n));
      }
      close(fd);
    });
  }
  ~Process() {
    if (!waited_) {
      Signal(SIGKILL);
      Wait();
    }
  }

  void Signal(int number) { kill(pid_, number); }
  int Wait() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    waited_ = true;
    reader_.join();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string Output() {
    base::MutexLock lock(&mu_);
    return output_;
  }
  bool AwaitOutput(const std::string& text) {
    return FakeEngine::Await([&] { return Output().find(text) != std::string::npos; });
  }
  // From "eris: serving on <address> (pid".
  std::string Address() {
    EXPECT_TRUE(AwaitOutput(" (pid ")) << Output();
    const std::string output = Output();
    const std::string mark = "serving on ";
    const size_t begin = output.find(mark) + mark.size();
    return output.substr(begin, output.find(' ', begin) - begin);
  }

 private:
  pid_t pid_ = -1;
  bool waited_ = false;
  std::thread reader_;
  base::Mutex mu_;
  std::string output_ ABSL_GUARDED_BY(mu_);
};

grpc::Status LookupAt(const std::string& address) {
  auto stub = v1::Data::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  v1::LookupRequest request;
  request.set_object("orders");
  v1::Column* keys = request.add_keys();
  keys->set_type(v1::COLUMN_TYPE_UINT64);
  keys->set_data(std::string(8, '\1'));
  grpc::ClientContext context;
  v1::LookupResponse response;
  return stub->Lookup(&context, request, &response);
}

TEST(ServerProcessTest, ServesWritesItsPortAndExitsCleanlyOnSigterm) {
  const std::string port_file = absl::StrCat(testing::TempDir(), "/eris_port_", getpid());
  Process process({"127.0.0.1:0", port_file, "5000", ""});
  const std::string address = process.Address();
  std::FILE* file = std::fopen(port_file.c_str(), "r");
  ASSERT_NE(file, nullptr);
  int port = 0;
  EXPECT_EQ(std::fscanf(file, "%d", &port), 1);
  std::fclose(file);
  std::remove(port_file.c_str());
  EXPECT_EQ(address, absl::StrCat("127.0.0.1:", port));
  EXPECT_TRUE(LookupAt(address).ok());
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.Output();
}

TEST(ServerProcessTest, SigintDrainsToo) {
  Process process({"127.0.0.1:0", "", "5000", ""});
  process.Address();
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait(), 0) << process.Output();
}

TEST(ServerProcessTest, DrainTimeoutEndsACallThatIsHeldBackAndExitsCleanly) {
  Process process({"127.0.0.1:0", "", "100", "hold"});
  const std::string address = process.Address();
  std::thread client(
      [&] { EXPECT_EQ(LookupAt(address).error_code(), grpc::StatusCode::UNAVAILABLE); });
  EXPECT_TRUE(process.AwaitOutput("1 held"));
  process.Signal(SIGTERM);
  client.join();
  EXPECT_EQ(process.Wait(), 0) << process.Output();
  EXPECT_THAT(process.Output(), HasSubstr("drain timeout"));
}

TEST(ServerProcessTest, SecondSignalEndsItAtOnce) {
  Process process({"127.0.0.1:0", "", "3600000", "hold"});
  const std::string address = process.Address();
  std::thread client([&] { EXPECT_FALSE(LookupAt(address).ok()); });
  EXPECT_TRUE(process.AwaitOutput("1 held"));
  process.Signal(SIGTERM);
  EXPECT_TRUE(process.AwaitOutput("draining"));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 1) << process.Output();
  client.join();
}

TEST(ServerProcessTest, PortInUseIsAFailureWithAMessage) {
  Process first({"127.0.0.1:0", "", "5000", ""});
  const std::string address = first.Address();
  Process second({address, "", "5000", ""});
  EXPECT_EQ(second.Wait(), kServerFailed);
  EXPECT_EQ(second.Output(),
            absl::StrCat("eris: error: cannot listen on ", address, ": Address already in use\n"));
}

TEST(ServerProcessTest, BadConfigurationIsAFailureWithAMessage) {
  Process process({"", "", "5000", ""});
  EXPECT_EQ(process.Wait(), kServerInvalid);
  EXPECT_THAT(process.Output(), HasSubstr("eris: error: server.listen is \"\", must be host:port"));
}

TEST(ServerProcessTest, EngineThatDoesNotOpenIsAFailureWithItsMessage) {
  Process process({"127.0.0.1:0", "", "5000", "full"});
  EXPECT_EQ(process.Wait(), kServerFailed);
  EXPECT_THAT(process.Output(), HasSubstr("eris: error: no memory here"));
}

TEST(ServerProcessTest, OptionsThatTheEngineRefusesAreInvalid) {
  Process process({"127.0.0.1:0", "", "5000", "refuse"});
  EXPECT_EQ(process.Wait(), kServerInvalid);
  EXPECT_THAT(process.Output(), HasSubstr("eris: error: no such cpu here"));
}

TEST(ServerProcessTest, AnAddressThatOthersReachIsInvalidWithoutRoles) {
  Process process({"0.0.0.0:0", "", "5000", ""});
  EXPECT_EQ(process.Wait(), kServerInvalid);
  EXPECT_THAT(process.Output(), HasSubstr("eris: error: server.listen is 0.0.0.0:0"));
}

// systemd starts a server anew after kServerFailed, and not after kServerInvalid.
TEST(ServerProcessTest, OnlyWhatCanGetBetterByItselfIsAFailure) {
  EXPECT_EQ(ExitCodeOfStart(absl::NotFoundError("tokens file")), kServerInvalid);
  EXPECT_EQ(ExitCodeOfStart(absl::PermissionDeniedError("key file")), kServerInvalid);
  EXPECT_EQ(ExitCodeOfStart(absl::UnavailableError("address in use")), kServerFailed);
  EXPECT_EQ(ExitCodeOfStart(absl::ResourceExhaustedError("threads")), kServerFailed);
  EXPECT_EQ(ExitCodeOfStart(absl::InternalError("a method without a policy")), kServerFailed);
}

int RunAsServer(char** argv) {
  ServerConfig config;
  config.listen = argv[0];
  config.port_file = argv[1];
  config.drain_timeout_ms = static_cast<uint32_t>(std::stoul(argv[2]));
  const std::string mode = argv[3];
  return RunServerProcess(config, [&](const Options&) -> absl::StatusOr<std::unique_ptr<Engine>> {
    if (mode == "refuse") return absl::InvalidArgumentError("no such cpu here");
    if (mode == "full") return absl::ResourceExhaustedError("no memory here");
    auto engine = std::make_unique<FakeEngine>();
    EXPECT_TRUE(engine->Create("orders", {}).ok());
    if (mode == "hold") {
      engine->Hold();
      std::thread([fake = engine.get()] {
        if (fake->AwaitHeld(1)) std::fprintf(stderr, "1 held\n");
      }).detach();
    }
    return engine;
  });
}

const test::OtherMain server("--as-server", &RunAsServer);

}  // namespace
}  // namespace eris::server
