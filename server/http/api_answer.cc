#include "server/http/api_answer.h"

#include <google/protobuf/util/json_util.h>

#include <map>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/admin/admin_answers.h"
#include "server/guard/rpc_status.h"
#include "wire/objects.h"
#include "wire/stats.h"

namespace eris::server {
namespace {

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) {
    return absl::InternalError("the answer cannot be written as JSON");
  }
  return json;
}

// The parameters of one request: each may be asked for once, and none may be left.
class Parameters {
 public:
  explicit Parameters(const PageTarget& target) : target_(target) {}

  std::string Text(const std::string& name) {
    ++asked_;
    const auto found = target_.values.find(name);
    if (found == target_.values.end()) return "";
    ++known_;
    return found->second;
  }
  // 0 if it is missing. Errors: InvalidArgument.
  absl::StatusOr<uint32_t> Number(const std::string& name) {
    const std::string text = Text(name);
    uint32_t number = 0;
    if (!text.empty() && !absl::SimpleAtoi(text, &number)) {
      return absl::InvalidArgumentError(absl::StrCat(name, " is not a number"));
    }
    return number;
  }
  // Errors: InvalidArgument (one that the path does not have).
  absl::Status CheckAllKnown() const {
    if (known_ == target_.values.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(target_.path, " has ", asked_ == 0 ? "no" : "other", " parameters"));
  }

 private:
  const PageTarget& target_;
  size_t asked_ = 0;
  size_t known_ = 0;
};

absl::Status Answer(ServerState& server, Parameters&, v1::GetServerResponse* response) {
  return AnswerServer(server, {}, response);
}

absl::Status Answer(ServerState& server, Parameters&, v1::GetStatsResponse* response) {
  EngineStats stats = server.engine->Stats();
  // These lists may be long for each of many objects, and the page shows those of one object.
  for (ObjectInfo& object : stats.objects) {
    object.partition_starts.clear();
    object.partition_owners.clear();
    object.beside.clear();
  }
  wire::FillStats(stats, response);
  return absl::OkStatus();
}

absl::Status Answer(ServerState& server, Parameters&, v1::GetMemoryResponse* response) {
  ERIS_RETURN_IF_ERROR(AnswerMemory(server, {}, response));
  for (v1::ObjectMemory& object : *response->mutable_objects()) object.clear_classes();
  return absl::OkStatus();
}

absl::Status Answer(ServerState& server, Parameters&, v1::GetBalancerResponse* response) {
  ERIS_RETURN_IF_ERROR(AnswerBalancer(server, {}, response));
  for (v1::ObjectBalance& object : *response->mutable_objects()) object.clear_loads();
  return absl::OkStatus();
}

absl::Status Answer(ServerState& server, Parameters& parameters,
                    v1::ListTransfersResponse* response) {
  v1::ListTransfersRequest request;
  request.set_object(parameters.Text("object"));
  ERIS_ASSIGN_OR_RETURN(const uint32_t limit, parameters.Number("limit"));
  request.set_limit(limit);
  return AnswerTransfers(server, request, response);
}

absl::Status Answer(ServerState& server, Parameters& parameters,
                    v1::GetHotRangesResponse* response) {
  v1::GetHotRangesRequest request;
  request.set_object(parameters.Text("object"));
  ERIS_ASSIGN_OR_RETURN(const uint32_t limit, parameters.Number("limit"));
  request.set_ranges_max(limit);
  return AnswerHotRanges(server, request, response);
}

absl::Status Answer(ServerState& server, Parameters& parameters, v1::GetObjectResponse* response) {
  const std::string name = parameters.Text("name");
  ERIS_RETURN_IF_ERROR(CheckObjectName(name));
  ERIS_ASSIGN_OR_RETURN(const ObjectInfo info, server.engine->Describe(name));
  wire::FillObject(info, response->mutable_object());
  return absl::OkStatus();
}

absl::Status Answer(ServerState& server, Parameters&, v1::GetTopologyResponse* response) {
  response->set_text(server.engine->ExplainTopology());
  return absl::OkStatus();
}

template <class Response>
absl::StatusOr<std::string> Json(ServerState& server, const PageTarget& target) {
  Response response;
  Parameters parameters(target);
  const absl::Status status = Answer(server, parameters, &response);
  ERIS_RETURN_IF_ERROR(parameters.CheckAllKnown());
  ERIS_RETURN_IF_ERROR(status);
  return ToJson(response);
}

using Maker = absl::StatusOr<std::string> (*)(ServerState&, const PageTarget&);

const std::map<std::string, Maker>& Makers() {
  static const std::map<std::string, Maker> makers = {
      {"/api/server", Json<v1::GetServerResponse>},
      {"/api/stats", Json<v1::GetStatsResponse>},
      {"/api/memory", Json<v1::GetMemoryResponse>},
      {"/api/balancer", Json<v1::GetBalancerResponse>},
      {"/api/transfers", Json<v1::ListTransfersResponse>},
      {"/api/hot", Json<v1::GetHotRangesResponse>},
      {"/api/object", Json<v1::GetObjectResponse>},
      {"/api/topology", Json<v1::GetTopologyResponse>},
  };
  return makers;
}

}  // namespace

absl::StatusOr<std::string> AnswerApi(ServerState& server, const PageTarget& target) {
  const auto maker = Makers().find(target.path);
  if (maker == Makers().end()) return absl::NotFoundError("there is nothing at this path");
  return maker->second(server, target);
}

}  // namespace eris::server
