// A bare gRPC service with our messages and API, without an engine. It measures the transport
// alone, with which `./dev goals remote` compares the server. It answers each batch with as many
// values as it has keys: the keys themselves.
//
//   echo_server <port file>     listens on a free port of the loopback, and writes it there
//
// Lookup, LookupStream, Write and WriteStream of eris.v1.Data, by the callback API; one message
// of a stream is read while the answer before it is written. Ends with SIGTERM.
#include <grpcpp/grpcpp.h>

#include <csignal>
#include <cstdio>
#include <deque>
#include <string>

#include "absl/synchronization/mutex.h"
#include "eris/v1/data.grpc.pb.h"

namespace eris::bench {
namespace {

void Answer(const v1::LookupRequest& request, v1::LookupResponse* response) {
  v1::Column& values = *response->add_columns();
  values.set_type(v1::COLUMN_TYPE_UINT64);
  *values.mutable_data() = request.keys(0).data();
  response->mutable_found()->assign((request.keys(0).data().size() / 8 + 7) / 8, '\xff');
}
void Answer(const v1::WriteRequest& request, v1::WriteResponse* response) {
  const size_t rows = request.columns(0).data().size() / 8;
  response->set_written(rows);
  response->mutable_existed()->assign((rows + 7) / 8, '\xff');
}

// Answers in the order of arrival; reads on while at most kAhead answers wait.
template <class Request, class Response>
class EchoStream final : public grpc::ServerBidiReactor<Request, Response> {
 public:
  EchoStream() { this->StartRead(&request_); }

 private:
  static constexpr size_t kAhead = 64;  // as the server's stream_requests_max

  void OnReadDone(bool ok) override {
    absl::MutexLock lock(&mu_);
    if (!ok) {
      half_closed_ = true;
      if (answers_.empty()) this->Finish(grpc::Status::OK);
      return;
    }
    Answer(request_, answers_.emplace_back().mutable_response());
    if (answers_.size() == 1) this->StartWrite(&answers_.front());
    reading_ = answers_.size() < kAhead;
    if (reading_) this->StartRead(&request_);
  }
  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mu_);
    answers_.pop_front();
    if (!ok) answers_.clear();
    if (!answers_.empty()) this->StartWrite(&answers_.front());
    if (half_closed_) {
      if (answers_.empty()) this->Finish(grpc::Status::OK);
    } else if (!reading_) {
      reading_ = true;
      this->StartRead(&request_);
    }
  }
  void OnDone() override { delete this; }

  absl::Mutex mu_;
  Request request_;
  std::deque<Response> answers_;
  bool reading_ = true;
  bool half_closed_ = false;
};

class EchoService final : public v1::Data::CallbackService {
  grpc::ServerUnaryReactor* Lookup(grpc::CallbackServerContext* context,
                                   const v1::LookupRequest* request,
                                   v1::LookupResponse* response) override {
    Answer(*request, response);
    return Finished(context);
  }
  grpc::ServerUnaryReactor* Write(grpc::CallbackServerContext* context,
                                  const v1::WriteRequest* request,
                                  v1::WriteResponse* response) override {
    Answer(*request, response);
    return Finished(context);
  }
  grpc::ServerBidiReactor<v1::LookupRequest, v1::LookupStreamResponse>* LookupStream(
      grpc::CallbackServerContext*) override {
    return new EchoStream<v1::LookupRequest, v1::LookupStreamResponse>;
  }
  grpc::ServerBidiReactor<v1::WriteRequest, v1::WriteStreamResponse>* WriteStream(
      grpc::CallbackServerContext*) override {
    return new EchoStream<v1::WriteRequest, v1::WriteStreamResponse>;
  }

  static grpc::ServerUnaryReactor* Finished(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int Main(const char* port_file) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  EchoService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  std::FILE* const file = server == nullptr ? nullptr : std::fopen(port_file, "w");
  if (file == nullptr) {
    std::fprintf(stderr, "echo_server: cannot listen, or cannot write %s\n", port_file);
    return 1;
  }
  std::fprintf(file, "%d\n", port);
  std::fclose(file);
  int signal = 0;
  sigwait(&signals, &signal);
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: echo_server <port file>\n");
    return 2;
  }
  return eris::bench::Main(argv[1]);
}
