// Codes, errors, keys, and structures of other versions.
#include "capi/guard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "eris/eris.h"

namespace eris::capi {
namespace {

TEST(CBaseTest, CodesHaveNames) {
  EXPECT_STREQ(eris_code_name(ERIS_OK), "OK");
  EXPECT_STREQ(eris_code_name(ERIS_UNAVAILABLE), "UNAVAILABLE");
  EXPECT_STREQ(eris_code_name(15), "UNKNOWN");
  EXPECT_STREQ(eris_code_name(-1), "UNKNOWN");
}

TEST(CBaseTest, NoErrorIsOk) {
  EXPECT_EQ(eris_error_code(nullptr), ERIS_OK);
  EXPECT_STREQ(eris_error_message(nullptr), "");
  eris_error_free(nullptr);
}

TEST(CBaseTest, AStatusBecomesAnError) {
  eris_error* error = nullptr;
  EXPECT_EQ(Guard(&error, [] { return absl::NotFoundError("no \"a\""); }), ERIS_NOT_FOUND);
  EXPECT_EQ(eris_error_code(error), ERIS_NOT_FOUND);
  EXPECT_STREQ(eris_error_message(error), "no \"a\"");
  eris_error_free(error);
  EXPECT_EQ(Guard(&error, [] { return absl::OkStatus(); }), ERIS_OK);
  EXPECT_EQ(error, nullptr);
  EXPECT_EQ(Guard(nullptr, [] { return absl::AbortedError("given up"); }), ERIS_ABORTED);
}

TEST(CBaseTest, NoExceptionLeaves) {
  eris_error* error = nullptr;
  EXPECT_EQ(Guard(&error, []() -> absl::Status { throw std::bad_alloc(); }),
            ERIS_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(eris_error_message(error), "no memory");
  eris_error_free(error);  // it is of no allocation
  eris_error_free(error);
  EXPECT_EQ(Guard(&error, []() -> absl::Status { throw std::length_error("too long"); }),
            ERIS_INTERNAL);
  EXPECT_STREQ(eris_error_message(error), "too long");
  eris_error_free(error);
  EXPECT_EQ(Guard(&error, []() -> absl::Status { throw 7; }), ERIS_INTERNAL);
  eris_error_free(error);
}

TEST(CBaseTest, KeysKeepTheOrderOfTheirNumbers) {
  EXPECT_LT(eris_key_from_int64(-1), eris_key_from_int64(0));
  EXPECT_EQ(eris_int64_from_key(eris_key_from_int64(-7)), -7);
  EXPECT_LT(eris_key_from_float64(-0.5), eris_key_from_float64(0.25));
  EXPECT_EQ(eris_float64_from_key(eris_key_from_float64(-0.5)), -0.5);
  EXPECT_LT(eris_key_from_date(-1), eris_key_from_date(1));
  EXPECT_EQ(eris_date_from_key(eris_key_from_date(-1)), -1);
  EXPECT_EQ(eris_key_from_float64(std::nan("")), std::numeric_limits<uint64_t>::max());
}

// A structure as a program of today has it, one of yesterday, and one of tomorrow.
struct Options {
  size_t struct_size;
  uint64_t first;
  uint64_t second;
};
struct NewerOptions {
  Options options;
  uint64_t third;
};

TEST(CBaseTest, OptionsOfOtherVersionsAreRead) {
  NewerOptions newer = {{sizeof(NewerOptions), 1, 2}, 0};
  EXPECT_EQ(ReadSized("options", &newer.options)->second, 2u);
  newer.third = 3;
  const absl::Status unknown = ReadSized("options", &newer.options).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(unknown.message().find("byte 24"), unknown.message().npos) << unknown;
  const Options older = {offsetof(Options, second), 1, 77};
  EXPECT_EQ(ReadSized("options", &older)->first, 1u);
  EXPECT_EQ(ReadSized("options", &older)->second, 0u);
  EXPECT_EQ(ReadSized<Options>("options", nullptr)->first, 0u);
}

TEST(CBaseTest, SizesThatCannotBeAreRefused) {
  for (const size_t size : {size_t{0}, size_t{7}, size_t{17}, kStructBytesMax + 1, ~size_t{0}}) {
    Options options = {size, 1, 2};
    EXPECT_EQ(ReadSized("options", &options).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(WriteSized("out", Options{}, &options).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(options.second, 2u);
  }
}

TEST(CBaseTest, AnswersAreAsLongAsTheProgramKnows) {
  NewerOptions out = {{offsetof(Options, second), 0, 77}, 78};
  ASSERT_TRUE(WriteSized("out", Options{0, 1, 2}, &out.options).ok());
  EXPECT_EQ(out.options.first, 1u);
  EXPECT_EQ(out.options.second, 77u);  // not the program's to see
  out.options.struct_size = sizeof out;
  ASSERT_TRUE(WriteSized("out", Options{0, 1, 2}, &out.options).ok());
  EXPECT_EQ(out.options.second, 2u);
  EXPECT_EQ(out.third, 0u);  // this library does not know it
  EXPECT_EQ(out.options.struct_size, sizeof out);
}

}  // namespace
}  // namespace eris::capi
