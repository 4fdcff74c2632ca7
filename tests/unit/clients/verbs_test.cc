// scan and export of an index whose stream breaks in the middle: what they tell the user, and what
// becomes of the file. Over a channel to a service of the test's own.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "eris/v1/catalog.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/clients/command_line.h"
#include "tests/unit/clients/fake_data_server.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::Column ColumnOf(uint64_t number) {
  v1::Column column;
  column.set_type(v1::COLUMN_TYPE_UINT64);
  column.set_data(&number, sizeof(number));
  return column;
}

// The index that the tests are about: its columns key and value.
class OneIndex : public v1::Catalog::Service {
 public:
  grpc::Status GetObject(grpc::ServerContext*, const v1::GetObjectRequest* request,
                         v1::GetObjectResponse* response) override {
    v1::Object& object = *response->mutable_object();
    object.set_name(request->name());
    object.set_kind(v1::OBJECT_KIND_INDEX);
    *object.mutable_schema() = SchemaOf(strings);
    return grpc::Status::OK;
  }
  static v1::Schema SchemaOf(bool strings) {
    v1::Schema schema;
    schema.add_key("key");
    for (const char* name : {"key", "value"}) {
      v1::ColumnSchema& column = *schema.add_columns();
      column.set_name(name);
      column.set_type(strings && column.name() == "value" ? v1::COLUMN_TYPE_STRING
                                                          : v1::COLUMN_TYPE_UINT64);
    }
    return schema;
  }

  bool strings = false;
};

// Has the keys 0 and 1, one row a chunk; its first stream breaks between them.
class TwoKeys : public v1::Data::Service {
 public:
  grpc::Status Scan(grpc::ServerContext*, const v1::ScanRequest* request,
                    grpc::ServerWriter<v1::ScanResponse>* writer) override {
    const bool resumed = !request->resume_token().empty();
    for (uint64_t key = resumed ? 1 : 0; key < 2; ++key) {
      if (key == 1 && !resumed && breaks) return {grpc::StatusCode::UNAVAILABLE, "broken"};
      v1::ScanResponse response;
      if (key == 0 || resumed) *response.mutable_schema() = OneIndex::SchemaOf(strings);
      response.set_rows(1);
      *response.add_columns() = ColumnOf(key);
      if (strings) {
        v1::Column& value = *response.add_columns();
        const uint32_t offsets[] = {0, 1};
        value.set_type(v1::COLUMN_TYPE_STRING);
        value.set_data("x");
        value.set_offsets(offsets, sizeof(offsets));
      } else {
        *response.add_columns() = ColumnOf(key + 10);
      }
      if (key == 0) response.set_resume_token("behind 0");
      response.set_new_snapshot(resumed);
      writer->Write(response);
    }
    return grpc::Status::OK;
  }

  bool breaks = true;
  bool strings = false;
};

struct Done {
  int code = 0;
  std::string out;
  std::string err;
};

class VerbsTest : public ::testing::Test {
 protected:
  Done Run(void (*add)(Flags&, Cli&), const std::string& arguments) {
    const client::FakeDataServer server(catalog_, data_);
    Cli cli;
    cli.server = server.address();
    Flags program("test");
    add(program, cli);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const absl::Status parsed = program.Parse(ArgumentsOf(arguments));
    EXPECT_TRUE(parsed.ok()) << parsed;
    Done done;
    done.code = program.Run();
    done.out = ::testing::internal::GetCapturedStdout();
    done.err = ::testing::internal::GetCapturedStderr();
    return done;
  }

  OneIndex catalog_;
  TwoKeys data_;
};

TEST_F(VerbsTest, ScanWarnsThatTheRestIsOfALaterMoment) {
  for (const bool strings : {false, true}) {
    data_.strings = catalog_.strings = strings;
    const Done done = Run(AddScan, "scan o");
    EXPECT_EQ(done.code, kExitOk);
    EXPECT_THAT(done.err, HasSubstr("rows from here on are of a later moment"));
    EXPECT_THAT(done.out, HasSubstr(strings ? "x" : "11"));
  }
  data_.breaks = false;
  EXPECT_THAT(Run(AddScan, "scan o").err, IsEmpty());
}

TEST_F(VerbsTest, ExportOfTwoMomentsFailsAndLeavesItsFileAsItWas) {
  char directory[] = "/tmp/eris_verbs_XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/o.csv";
  const auto text = [&] {
    std::stringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  };
  std::ofstream(path) << "as it was\n";
  const Done done = Run(AddExport, "export o " + path);
  EXPECT_EQ(done.code, kExitRefused);
  EXPECT_THAT(done.err, HasSubstr("broke after 1 rows"));
  EXPECT_THAT(done.err, HasSubstr("try again"));
  EXPECT_EQ(text(), "as it was\n");
  EXPECT_THAT(Run(AddExport, "export o -").err, HasSubstr("try again"));

  data_.breaks = false;
  EXPECT_EQ(Run(AddExport, "export o " + path).code, kExitOk);
  EXPECT_EQ(text(), "key,value\n0,10\n1,11\n");
  EXPECT_EQ(std::remove(path.c_str()), 0);
  EXPECT_EQ(std::remove(directory), 0);  // nothing else is in it
}

}  // namespace
}  // namespace eris::cli
