#include "server/admin/catalog_service.h"

#include <string>
#include <utility>
#include <vector>

#include "eris/key_encoding.h"
#include "gmock/gmock.h"
#include "tests/unit/server/rpc_fixture.h"
#include "wire/objects.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

using CatalogServiceTest = RpcTest;

TEST_F(CatalogServiceTest, CreatedObjectIsDescribedListedAndDropped) {
  v1::CreateObjectRequest request;
  request.set_name("lines");
  request.add_split_keys()->set_u64(100);
  v1::CreateObjectResponse created;
  grpc::ClientContext create;
  ASSERT_TRUE(catalog->CreateObject(&create, request, &created).ok());
  ASSERT_EQ(created.object().partitions_size(), 2);
  EXPECT_EQ(created.object().partitions(0).range().hi(), 100u);
  EXPECT_EQ(created.object().partitions(1).range().lo(), 100u);
  EXPECT_FALSE(created.object().partitions(1).range().has_hi());
  EXPECT_EQ(created.object().partitions(1).aeu(), 1u);

  Load(3);
  v1::GetObjectRequest get_request;
  get_request.set_name("orders");
  v1::GetObjectResponse got;
  grpc::ClientContext get;
  ASSERT_TRUE(catalog->GetObject(&get, get_request, &got).ok());
  EXPECT_EQ(got.object().keys(), 3u);
  EXPECT_EQ(got.object().kind(), v1::OBJECT_KIND_INDEX);

  v1::ListObjectsResponse listed;
  grpc::ClientContext list;
  ASSERT_TRUE(catalog->ListObjects(&list, {}, &listed).ok());
  ASSERT_EQ(listed.objects_size(), 2);
  EXPECT_EQ(listed.objects(0).name(), "lines");

  v1::DropObjectRequest drop_request;
  drop_request.set_name("lines");
  v1::DropObjectResponse dropped;
  grpc::ClientContext drop, again;
  EXPECT_TRUE(catalog->DropObject(&drop, drop_request, &dropped).ok());
  EXPECT_EQ(catalog->DropObject(&again, drop_request, &dropped).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(CatalogServiceTest, ADropMayExpectTheObjectAndWhatWasWritten) {
  Load(3);
  const auto info = engine.Describe("orders");
  ASSERT_TRUE(info.ok());
  const auto drop = [&](uint32_t id, uint64_t rows) {
    v1::DropObjectRequest request;
    request.set_name("orders");
    request.mutable_if_written()->set_id(id);
    request.mutable_if_written()->set_rows(rows);
    v1::DropObjectResponse response;
    grpc::ClientContext context;
    return catalog->DropObject(&context, request, &response).error_code();
  };
  EXPECT_EQ(drop(info->id.value, 0), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(drop(info->id.value + 1, 3), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(engine.Describe("orders").ok());
  EXPECT_EQ(drop(info->id.value, 3), grpc::StatusCode::OK);
  EXPECT_FALSE(engine.Describe("orders").ok());
}

TEST_F(CatalogServiceTest, EachKindIsCreatedAndShownWithItsSchema) {
  const Schema heap{.columns = {{.name = "n", .type = ColumnType::kInt32, .nullable = true}}};
  const Schema table{.columns = {{.name = "d", .type = ColumnType::kDecimal, .scale = 2}},
                     .key = {0}};
  const KeyTypes pair{ColumnType::kInt64, ColumnType::kFloat64};
  for (const CreateOptions& options : std::vector<CreateOptions>{
           {},
           {.schema = KeyValueSchema(pair), .split_points = {KeyFromInt64(-5)}},
           {.schema = KeyValueSchema(ColumnType::kDate, ColumnType::kString)},
           {.kind = ObjectKind::kHash},
           {.kind = ObjectKind::kHash, .beside = "orders"},
           {.kind = ObjectKind::kTable, .schema = table, .expected = Int64Range(-5, 5)},
           {.kind = ObjectKind::kHeapTable, .schema = heap}}) {
    v1::CreateObjectRequest request;
    request.set_name("another " + std::to_string(engine.List().size()));
    ASSERT_TRUE(wire::FillCreateOptions(options, &request).ok());
    v1::CreateObjectResponse created;
    grpc::ClientContext create;
    ASSERT_TRUE(catalog->CreateObject(&create, request, &created).ok());
    EXPECT_EQ(engine.last_create().expected, options.expected);
    EXPECT_EQ(engine.last_create().split_points, options.split_points);
    EXPECT_EQ(engine.last_create().beside, options.beside);
    v1::GetObjectRequest get_request;
    get_request.set_name(request.name());
    v1::GetObjectResponse got;
    grpc::ClientContext get;
    ASSERT_TRUE(catalog->GetObject(&get, get_request, &got).ok());
    v1::ListObjectsResponse listed;
    grpc::ClientContext list;
    ASSERT_TRUE(catalog->ListObjects(&list, {}, &listed).ok());
    EXPECT_EQ(listed.objects(listed.objects_size() - 2).name(), request.name());
    for (const v1::Object& object :
         {created.object(), got.object(), listed.objects(listed.objects_size() - 2)}) {
      const auto info = wire::ObjectFrom(object);
      ASSERT_TRUE(info.ok()) << info.status();
      EXPECT_EQ(info->kind, options.kind);
      EXPECT_EQ(info->schema, options.schema);
      EXPECT_EQ(info->partition_starts.size(), options.split_points.size() + 1);
    }
  }
}

TEST_F(CatalogServiceTest, BadInputGetsItsStatus) {
  const auto create = [&](const v1::CreateObjectRequest& request) {
    grpc::ClientContext context;
    v1::CreateObjectResponse response;
    return catalog->CreateObject(&context, request, &response);
  };
  v1::CreateObjectRequest request;
  request.set_name("orders");
  EXPECT_EQ(create(request).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  request.set_name("");
  EXPECT_EQ(create(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_name(std::string(256, 'n'));
  EXPECT_THAT(create(request).error_message(), HasSubstr("256 bytes, must have at most 255"));
  request.set_name("new");
  request.set_kind(static_cast<v1::ObjectKind>(17));
  EXPECT_THAT(create(request).error_message(), HasSubstr("kind is 17"));
  request.set_kind(v1::OBJECT_KIND_TABLE);
  EXPECT_THAT(create(request).error_message(), HasSubstr("a table needs one"));
  request.clear_kind();
  request.mutable_expected()->set_lo(2);
  request.mutable_expected()->set_hi(1);
  EXPECT_EQ(create(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(engine.List().size(), 1u);

  grpc::ClientContext context;
  v1::GetObjectRequest get;
  get.set_name("nothing");
  v1::GetObjectResponse response;
  EXPECT_EQ(catalog->GetObject(&context, get, &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

ServerConfig SmallBudget() {
  ServerConfig config;
  config.in_flight_bytes_max = 1 << 20;
  return config;
}

class SmallBudgetCatalogTest : public RpcTest {
 protected:
  SmallBudgetCatalogTest() : RpcTest(SmallBudget()) {}
};

// Two bytes each on the wire, many in memory; up to a thousand such calls may wait.
TEST_F(SmallBudgetCatalogTest, SplitKeysCountInTheBudgetAsTheyAreInMemory) {
  v1::CreateObjectRequest request;
  request.set_name("split");
  for (int i = 0; i < 20'000; ++i) request.add_split_keys();
  grpc::ClientContext context;
  v1::CreateObjectResponse response;
  const grpc::Status status = catalog->CreateObject(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("server.in_flight_bytes_max is 1048576"), std::string::npos)
      << status.error_message();
  EXPECT_FALSE(engine.Describe("split").ok());
}

}  // namespace
}  // namespace eris::server
