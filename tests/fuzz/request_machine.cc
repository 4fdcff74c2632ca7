#include "tests/fuzz/request_machine.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/impl/grpc_library.h>
#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/engine.h"
#include "eris/v1/admin.pb.h"
#include "eris/v1/balancer.pb.h"
#include "eris/v1/catalog.pb.h"
#include "eris/v1/data.pb.h"
#include "eris/v1/queries.pb.h"
#include "server/guard/raw_message.h"
#include "wire/arrow_values.h"
#include "wire/balancer.h"
#include "wire/bounds.h"
#include "wire/columns.h"
#include "wire/objects.h"
#include "wire/query.h"

namespace eris::fuzz {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// What makes byte buffers work; a server or a channel brings it along.
const grpc::internal::GrpcLibraryInitializer kGrpc;

struct ObjectShape {
  ObjectKind kind;
  Schema schema;
};

const std::vector<ObjectShape>& Shapes() {
  static const auto* const shapes = [] {
    const std::vector<ColumnSchema> columns = {
        {.name = "i", .type = ColumnType::kInt32},
        {.name = "u", .type = ColumnType::kUint64, .nullable = true},
        {.name = "g", .type = ColumnType::kFloat64, .nullable = true},
        {.name = "d", .type = ColumnType::kDate},
        {.name = "p", .type = ColumnType::kDecimal, .scale = 2, .nullable = true},
        {.name = "s", .type = ColumnType::kString, .nullable = true},
        {.name = "b", .type = ColumnType::kBytes},
        {.name = "t", .type = ColumnType::kTimestamp, .nullable = true}};
    return new std::vector<ObjectShape>{
        {ObjectKind::kIndex, KeyValueSchema()},
        {ObjectKind::kIndex, KeyValueSchema({ColumnType::kInt64, ColumnType::kFloat64})},
        {ObjectKind::kIndex, KeyValueSchema(ColumnType::kDate, ColumnType::kString)},
        {ObjectKind::kHash, KeyValueSchema()},
        {ObjectKind::kTable, {.columns = columns, .key = {0, 3}}},
        {ObjectKind::kHeapTable, {.columns = columns}}};
  }();
  return *shapes;
}

// The requests of all services of eris.v1, each once.
const std::vector<const Message*>& RequestTypes() {
  static const auto* const types = [] {
    auto* found = new std::vector<const Message*>;
    for (const Message* any :
         {static_cast<const Message*>(&v1::LookupRequest::default_instance()),
          static_cast<const Message*>(&v1::CreateObjectRequest::default_instance()),
          static_cast<const Message*>(&v1::GetStatsRequest::default_instance()),
          static_cast<const Message*>(&v1::ExecuteRequest::default_instance())}) {
      const google::protobuf::FileDescriptor& file = *any->GetDescriptor()->file();
      for (int s = 0; s < file.service_count(); ++s) {
        for (int m = 0; m < file.service(s)->method_count(); ++m) {
          const Descriptor* input = file.service(s)->method(m)->input_type();
          const Message* prototype =
              google::protobuf::MessageFactory::generated_factory()->GetPrototype(input);
          if (std::find(found->begin(), found->end(), prototype) == found->end()) {
            found->push_back(prototype);
          }
        }
      }
    }
    return found;
  }();
  return *types;
}

absl::Status Broken(std::string_view what, const Message& message) {
  return absl::InternalError(absl::StrCat(std::string(what), ": ", message.GetTypeName()));
}

// What a request may be refused with here. Others would tell of a fault of the server.
absl::Status Allowed(const absl::Status& status) {
  if (status.ok() || absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status) ||
      absl::IsFailedPrecondition(status) || absl::IsOutOfRange(status)) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat("a reader returns ", status.ToString()));
}

// A query that can be read can be written, and read again.
absl::Status CheckQuery(const ObjectShape& shape, const v1::Query& message) {
  const absl::StatusOr<Query> query = wire::QueryFrom(shape.kind, shape.schema, message);
  if (!query.ok()) return Allowed(query.status());
  v1::Query written;
  const absl::Status status = wire::FillQuery(shape.kind, shape.schema, *query, &written);
  if (!status.ok()) return Allowed(status);
  if (wire::QueryFrom(shape.kind, shape.schema, written).ok()) return absl::OkStatus();
  return Broken("a query that was read cannot be read again", message);
}

// Reads every byte that the engine may read.
absl::Status CheckColumns(const Schema& schema, absl::Span<const uint32_t> columns,
                          const wire::Columns& message) {
  const absl::StatusOr<wire::ViewedColumns> viewed =
      wire::ViewColumns("columns", schema, columns, message);
  if (!viewed.ok()) return Allowed(viewed.status());
  volatile uint8_t last = 0;
  for (size_t i = 0; i < viewed->views.size(); ++i) {
    const ColumnView& view = viewed->views[i];
    const ColumnType type = schema.columns[columns[i]].type;
    const uint64_t bytes =
        IsByteString(type) ? view.offsets[viewed->rows] : viewed->rows * ColumnValueBytes(type);
    for (uint64_t at = 0; at < bytes; ++at) last = static_cast<const uint8_t*>(view.values)[at];
    for (uint64_t row = 0; row < viewed->rows; ++row) last = wire::IsNullAt(view.validity, row);
  }
  static_cast<void>(last);
  return absl::OkStatus();
}

absl::Status Check(const ObjectShape& shape, const v1::LookupRequest& request) {
  return CheckColumns(shape.schema, shape.schema.key, request.keys());
}
absl::Status Check(const ObjectShape& shape, const v1::WriteRequest& request) {
  return CheckColumns(shape.schema, wire::AllColumns(shape.schema), request.columns());
}
absl::Status Check(const ObjectShape& shape, const v1::ScanRequest& request) {
  return CheckQuery(shape, request.query());
}
absl::Status Check(const ObjectShape& shape, const v1::ScanIntoRequest& request) {
  return CheckQuery(shape, request.query());
}
absl::Status Check(const ObjectShape& shape, const v1::AggregateRequest& request) {
  return Allowed(wire::AggregateOptionsFrom(shape.kind, shape.schema, request).status());
}
absl::Status Check(const ObjectShape&, const v1::CreateObjectRequest& request) {
  return Allowed(wire::CreateOptionsFrom(request).status());
}
absl::Status Check(const ObjectShape&, const v1::SetBalancerRequest& request) {
  BalancerOptions options;
  return Allowed(wire::ChangeOptions(request.options(), &options));
}
absl::Status Check(const ObjectShape& shape, const v1::MoveRangeRequest& request) {
  const wire::BoundType type = wire::BoundTypeOf(shape.kind, shape.schema);
  ERIS_RETURN_IF_ERROR(Allowed(wire::TransferKindFrom(request.kind()).status()));
  return Allowed(wire::MovedRangeFrom(type, request.range()).status());
}

template <class Request>
bool CheckAs(const ObjectShape& shape, const Message& message, absl::Status* status) {
  const auto* const request = dynamic_cast<const Request*>(&message);
  if (request == nullptr) return false;
  *status = Check(shape, *request);
  return true;
}

// The requests that say more than names and numbers.
template <class... Requests>
absl::Status CheckAny(const ObjectShape& shape, const Message& message) {
  absl::Status status;
  static_cast<void>((CheckAs<Requests>(shape, message, &status) || ...));
  return status;
}

}  // namespace

absl::Status RunRequestBytes(std::string_view bytes, RequestPlant plant) {
  if (bytes.size() < 2) return absl::OkStatus();
  const auto number = [&](size_t at, size_t below) {
    return static_cast<uint8_t>(bytes[at]) % below;
  };
  const ObjectShape& shape = Shapes()[number(1, Shapes().size())];
  const Message& prototype = *RequestTypes()[number(0, RequestTypes().size())];
  bytes.remove_prefix(2);

  const std::unique_ptr<Message> message(prototype.New());
  const size_t empty = message->SpaceUsedLong();
  const grpc::Slice slice(bytes.data(), bytes.size());
  grpc::ByteBuffer raw(&slice, 1);
  uint64_t estimate = server::ParsedBytesMax(*message->GetDescriptor(), raw);
  if (plant == RequestPlant::kShortEstimate) estimate = 8 * bytes.size();
  const absl::Status parsed = server::ParseMessage(&raw, message.get());
  // A string that says to be longer than the message is reserved for a moment, never touched.
  if (!parsed.ok()) return Allowed(parsed);
  if (message->SpaceUsedLong() - empty > estimate) {
    return Broken(absl::StrCat("a message of ", bytes.size(), " bytes takes ",
                               message->SpaceUsedLong() - empty, ", estimated were ", estimate),
                  *message);
  }
  return CheckAny<v1::LookupRequest, v1::WriteRequest, v1::ScanRequest, v1::ScanIntoRequest,
                  v1::AggregateRequest, v1::CreateObjectRequest, v1::SetBalancerRequest,
                  v1::MoveRangeRequest>(shape, *message);
}

namespace {

// Sets every field, those of messages in it `depth` levels down.
void FillFields(Message& message, int depth) {
  const google::protobuf::Reflection& set = *message.GetReflection();
  const Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    const bool many = field->is_repeated();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth > 0) {
          FillFields(many ? *set.AddMessage(&message, field) : *set.MutableMessage(&message, field),
                     depth - 1);
        }
        break;
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string text =
            field->type() == FieldDescriptor::TYPE_BYTES ? std::string("\1\0\0\0\0\0\0\0", 8) : "u";
        many ? set.AddString(&message, field, text) : set.SetString(&message, field, text);
        break;
      }
      case FieldDescriptor::CPPTYPE_ENUM:
        many ? set.AddEnumValue(&message, field, 1) : set.SetEnumValue(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        many ? set.AddUInt64(&message, field, 1) : set.SetUInt64(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        many ? set.AddUInt32(&message, field, 1) : set.SetUInt32(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        many ? set.AddInt64(&message, field, -1) : set.SetInt64(&message, field, -1);
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        many ? set.AddInt32(&message, field, 1) : set.SetInt32(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        many ? set.AddDouble(&message, field, 0.5) : set.SetDouble(&message, field, 0.5);
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        many ? set.AddBool(&message, field, true) : set.SetBool(&message, field, true);
        break;
      default:
        break;  // of floats there is none
    }
  }
}

}  // namespace

std::vector<std::string> RequestSeeds() {
  constexpr int kDepth = 4;
  std::vector<std::string> seeds;
  for (size_t type = 0; type < RequestTypes().size(); ++type) {
    const std::unique_ptr<Message> message(RequestTypes()[type]->New());
    FillFields(*message, kDepth);
    const char head[] = {static_cast<char>(type), static_cast<char>(type % Shapes().size())};
    seeds.push_back(std::string(head, sizeof head) + message->SerializeAsString());
  }
  return seeds;
}

std::string ChangedRequest(std::string_view bytes, std::mt19937_64& random) {
  std::string changed(bytes);
  for (uint64_t left = 1 + random() % 4; left > 0 && changed.size() > 2; --left) {
    const size_t at = random() % changed.size();
    const size_t count = std::min<size_t>(1 + random() % 32, changed.size() - at);
    switch (random() % 4) {
      case 0:
        changed[at] = static_cast<char>(random());
        break;
      case 1:
        changed.erase(at, count);
        break;
      case 2:  // many of the same: what grows when it is parsed
        for (uint64_t times = random() % 64; times > 0; --times) {
          changed.insert(at, changed.substr(at, count));
        }
        break;
      default:
        changed.insert(at, std::string(count, static_cast<char>(random())));
    }
  }
  return changed;
}

}  // namespace eris::fuzz
