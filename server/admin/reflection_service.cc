#include "server/admin/reflection_service.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/calls/parse_within.h"
#include "server/calls/window_stream.h"
#include "server/guard/raw_message.h"
#include "server/metrics/call_metrics.h"

namespace eris::server {
namespace {

namespace reflection = grpc::reflection::v1alpha;
using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using Request = reflection::ServerReflectionRequest;
using Response = reflection::ServerReflectionResponse;

const DescriptorPool& Pool() { return *DescriptorPool::generated_pool(); }

void Fail(const Request& request, Response& response) {
  const std::string what = request.ShortDebugString().substr(0, 256);
  response.mutable_error_response()->set_error_code(grpc::StatusCode::NOT_FOUND);
  response.mutable_error_response()->set_error_message(absl::StrCat("not found: ", what));
}

// Adds the file and, recursively, those that it imports: each once.
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>& added,
             reflection::FileDescriptorResponse& files) {
  if (!added.insert(&file).second) return;
  google::protobuf::FileDescriptorProto message;
  file.CopyTo(&message);
  files.add_file_descriptor_proto(message.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), added, files);
}

void AnswerFile(const FileDescriptor* file, const Request& request, Response& response) {
  if (file == nullptr) return Fail(request, response);
  std::set<const FileDescriptor*> added;
  AddFile(*file, added, *response.mutable_file_descriptor_response());
}

void AnswerExtensionNumbers(const std::string& type, const Request& request, Response& response) {
  const Descriptor* const message = Pool().FindMessageTypeByName(type);
  if (message == nullptr) return Fail(request, response);
  auto& numbers = *response.mutable_all_extension_numbers_response();
  numbers.set_base_type_name(type);
  std::vector<const FieldDescriptor*> extensions;
  Pool().FindAllExtensions(message, &extensions);
  for (const FieldDescriptor* one : extensions) numbers.add_extension_number(one->number());
}

const FileDescriptor* FileOfExtension(const reflection::ExtensionRequest& wanted) {
  const Descriptor* const type = Pool().FindMessageTypeByName(wanted.containing_type());
  const FieldDescriptor* const field =
      type == nullptr ? nullptr : Pool().FindExtensionByNumber(type, wanted.extension_number());
  return field == nullptr ? nullptr : field->file();
}

// The services of all methods that are counted, and Health, which gRPC serves by itself.
void AnswerServices(const CallMetrics& metrics, Response& response) {
  std::set<std::string> names = {"grpc.health.v1.Health"};
  for (CallMetrics::Method method = 0; method < metrics.methods(); ++method) {
    const std::string& name = metrics.name(method);
    names.insert(name.substr(0, name.find('/')));
  }
  for (const std::string& name : names) {
    response.mutable_list_services_response()->add_service()->set_name(name);
  }
}

Response AnswerTo(const Request& request, const CallMetrics& metrics) {
  Response response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case Request::kFileByFilename:
      AnswerFile(Pool().FindFileByName(request.file_by_filename()), request, response);
      break;
    case Request::kFileContainingSymbol:
      AnswerFile(Pool().FindFileContainingSymbol(request.file_containing_symbol()), request,
                 response);
      break;
    case Request::kFileContainingExtension:
      AnswerFile(FileOfExtension(request.file_containing_extension()), request, response);
      break;
    case Request::kAllExtensionNumbersOfType:
      AnswerExtensionNumbers(request.all_extension_numbers_of_type(), request, response);
      break;
    case Request::kListServices:
      AnswerServices(metrics, response);
      break;
    case Request::MESSAGE_REQUEST_NOT_SET:
      Fail(request, response);
      break;
  }
  return response;
}

class ReflectionCall final : public WindowStream<grpc::ByteBuffer> {
 public:
  // gRPC owns the result.
  static ReflectionCall* Begin(ServerState& server, grpc::CallbackServerContext& context) {
    return new ReflectionCall(server, context);
  }

 private:
  ReflectionCall(ServerState& server, grpc::CallbackServerContext& context)
      : WindowStream(server, context, /*is_write=*/false) {}

  const grpc::ByteBuffer* MessageOf(const grpc::ByteBuffer* answer) override { return answer; }

  void OnMessage(grpc::ByteBuffer* raw) override {
    if (const absl::Status status = Answer(raw); !status.ok()) window_->Fail(Window::kEnd, status);
    window_->ReadTaken();
  }

  absl::Status Answer(grpc::ByteBuffer* raw) {
    Request request;
    ERIS_ASSIGN_OR_RETURN(ByteBudget::Charge charge,
                          ParseWithin(server_, /*is_write=*/false, raw, &request));
    ERIS_RETURN_IF_ERROR(permit_.CheckRequest(request));
    grpc::ByteBuffer answer = WriteMessage(AnswerTo(request, server_.watch.metrics));
    const uint64_t bytes = answer.Length();
    charge = TakeBudget(server_, /*is_write=*/false, bytes);
    if (!charge) return OverBudgetStatus(server_.budget, bytes);
    const std::optional<Place> place = window_->Arrived(bytes, std::move(charge));
    if (place) window_->Answer(*place, std::move(answer));
    return absl::OkStatus();
  }
};

}  // namespace

ReflectionService::ReflectionService(ServerState* server)
    : RawService(&server->access, &server->watch) {
  Serve("ServerReflectionInfo", {Role::kReader, NoObject()},
        [server](grpc::CallbackServerContext& context) {
          return ReflectionCall::Begin(*server, context);
        });
}

}  // namespace eris::server
