// Messages of Arrow's IPC format as clients may send them, also such as are wrong: types that
// objects do not have, buffers as they are given.
#ifndef ERIS_TESTS_SUPPORT_ARROW_MESSAGES_H_
#define ERIS_TESTS_SUPPORT_ARROW_MESSAGES_H_

#include <arrow/ipc_generated.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace eris::test {

struct ArrowColumn {
  std::string name{};
  // As pyarrow calls it: "int8" to "uint64", "float", "double", "date32", "date64", "decimal32" to
  // "decimal128", "string", "large_string", "binary", "large_binary", "bool", "timestamp[s]" to
  // "timestamp[ns]", with a zone.
  std::string type{};
  std::vector<std::string> buffers{};  // of nulls, offsets if it has any, values
  int64_t nulls = 0;
  int32_t scale = 0;  // of decimals
  bool nullable = true;
  bool dictionary = false;
  bool nested = false;
};

struct ArrowMessage {
  std::string header{};
  std::string body{};
};

template <class T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// A column without nulls.
template <class T>
ArrowColumn NumberColumn(std::string name, std::string type, const std::vector<T>& values) {
  return {.name = std::move(name), .type = std::move(type), .buffers = {"", BytesOf(values)}};
}
template <class Offset>
ArrowColumn TextColumn(std::string name, std::string type, const std::vector<Offset>& offsets,
                       std::string bytes) {
  return {.name = std::move(name),
          .type = std::move(type),
          .buffers = {"", BytesOf(offsets), std::move(bytes)}};
}

namespace arrow_messages {

using Builder = flatbuffers::FlatBufferBuilder;

inline std::pair<ipc::Type, flatbuffers::Offset<void>> TypeOf(Builder& builder,
                                                              const ArrowColumn& column) {
  const std::string& type = column.type;
  const auto bits = [&type](size_t prefix) { return std::stoi(type.substr(prefix)); };
  if (type.starts_with("int")) {
    return {ipc::Type_Int, ipc::CreateInt(builder, bits(3), true).Union()};
  }
  if (type.starts_with("uint")) {
    return {ipc::Type_Int, ipc::CreateInt(builder, bits(4), false).Union()};
  }
  if (type.starts_with("decimal")) {
    return {ipc::Type_Decimal, ipc::CreateDecimal(builder, 9, column.scale, bits(7)).Union()};
  }
  if (type == "float" || type == "double") {
    const auto precision = type == "float" ? ipc::Precision_SINGLE : ipc::Precision_DOUBLE;
    return {ipc::Type_FloatingPoint, ipc::CreateFloatingPoint(builder, precision).Union()};
  }
  if (type == "date32" || type == "date64") {
    const auto unit = type == "date32" ? ipc::DateUnit_DAY : ipc::DateUnit_MILLISECOND;
    return {ipc::Type_Date, ipc::CreateDate(builder, unit).Union()};
  }
  if (type.starts_with("timestamp[")) {
    const std::string unit = type.substr(10, type.size() - 11);
    const auto number = unit == "s"    ? ipc::TimeUnit_SECOND
                        : unit == "ms" ? ipc::TimeUnit_MILLISECOND
                        : unit == "us" ? ipc::TimeUnit_MICROSECOND
                                       : ipc::TimeUnit_NANOSECOND;
    const auto zone = builder.CreateString("Europe/Vienna");
    return {ipc::Type_Timestamp, ipc::CreateTimestamp(builder, number, zone).Union()};
  }
  if (type == "string") return {ipc::Type_Utf8, ipc::CreateUtf8(builder).Union()};
  if (type == "binary") return {ipc::Type_Binary, ipc::CreateBinary(builder).Union()};
  if (type == "large_string") return {ipc::Type_LargeUtf8, ipc::CreateLargeUtf8(builder).Union()};
  if (type == "large_binary") {
    return {ipc::Type_LargeBinary, ipc::CreateLargeBinary(builder).Union()};
  }
  return {ipc::Type_Bool, ipc::CreateBool(builder).Union()};
}

inline std::string Finish(Builder& builder, ipc::MessageHeader kind,
                          flatbuffers::Offset<void> header, size_t body_bytes,
                          ipc::MetadataVersion version) {
  builder.Finish(
      ipc::CreateMessage(builder, version, kind, header, static_cast<int64_t>(body_bytes)));
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

}  // namespace arrow_messages

inline std::string ArrowSchemaOf(const std::vector<ArrowColumn>& columns,
                                 ipc::MetadataVersion version = ipc::MetadataVersion_V5,
                                 int16_t endianness = 0) {
  arrow_messages::Builder builder;
  std::vector<flatbuffers::Offset<ipc::Field>> fields;
  for (const ArrowColumn& column : columns) {
    const auto name = builder.CreateString(column.name);
    const auto [kind, type] = arrow_messages::TypeOf(builder, column);
    flatbuffers::Offset<ipc::DictionaryEncoding> dictionary;
    if (column.dictionary) dictionary = ipc::CreateDictionaryEncoding(builder);
    std::vector<flatbuffers::Offset<ipc::Field>> inner;
    if (column.nested) inner.push_back(ipc::CreateField(builder));
    const auto children = builder.CreateVector(inner);
    fields.push_back(
        ipc::CreateField(builder, name, column.nullable, kind, type, dictionary, children));
  }
  const auto schema = ipc::CreateSchema(builder, endianness, builder.CreateVector(fields));
  return arrow_messages::Finish(builder, ipc::MessageHeader_Schema, schema.Union(), 0, version);
}

// Buffers begin at multiples of `alignment`, or if they are `shared`, all where the body does.
inline ArrowMessage ArrowBatchOf(int64_t rows, const std::vector<ArrowColumn>& columns,
                                 bool compressed = false, size_t alignment = 64,
                                 bool shared = false) {
  ArrowMessage message;
  std::vector<ipc::FieldNode> nodes;
  std::vector<ipc::Buffer> buffers;
  for (const ArrowColumn& column : columns) {
    nodes.emplace_back(rows, column.nulls);
    for (const std::string& bytes : column.buffers) {
      if (shared) {
        buffers.emplace_back(0, static_cast<int64_t>(bytes.size()));
        if (bytes.size() > message.body.size()) message.body = bytes;
        continue;
      }
      while (message.body.size() % alignment != 0) message.body.push_back('\0');
      buffers.emplace_back(static_cast<int64_t>(message.body.size()),
                           static_cast<int64_t>(bytes.size()));
      message.body += bytes;
    }
  }
  arrow_messages::Builder builder;
  flatbuffers::Offset<ipc::BodyCompression> compression;
  if (compressed) compression = ipc::CreateBodyCompression(builder);
  const auto all_nodes = builder.CreateVectorOfStructs(nodes);
  const auto all_buffers = builder.CreateVectorOfStructs(buffers);
  const auto batch = ipc::CreateRecordBatch(builder, rows, all_nodes, all_buffers, compression);
  message.header = arrow_messages::Finish(builder, ipc::MessageHeader_RecordBatch, batch.Union(),
                                          message.body.size(), ipc::MetadataVersion_V5);
  return message;
}

inline std::string ArrowDictionaryBatch() {
  arrow_messages::Builder builder;
  const auto batch = ipc::CreateDictionaryBatch(builder);
  return arrow_messages::Finish(builder, ipc::MessageHeader_DictionaryBatch, batch.Union(), 0,
                                ipc::MetadataVersion_V5);
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_ARROW_MESSAGES_H_
