// The main function of every GoogleTest program. A program has the tests of a whole folder; ctest
// runs it once for each source file:
//   --file=prefix_tree_test.cc   runs the tests of that source alone
// From the environment, both set by ctest:
//   ERIS_TEST_NAME      the report's name, if ERIS_TEST_REPORTS is the folder of reports
//   ERIS_TEST_THREADS   `none` or `some`: whether these tests start a second thread. What the label
//   says
//                       decides what the thread sanitizer sees, so a wrong label is a failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/single_threaded.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/support/other_main.h"

namespace eris::test {
namespace {

constexpr std::string_view kFileFlag = "--file=";

std::string Environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string() : std::string(text);
}

bool IsIn(const testing::TestInfo& test, std::string_view file) {
  const std::string_view path = test.file();
  return path.ends_with(file) &&
         (path.size() == file.size() || path[path.size() - file.size() - 1] == '/');
}

// The filter that lets the tests of `file` through; empty if it has none.
std::string FilterOf(std::string_view file) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::string filter;
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (!IsIn(test, file)) continue;
      filter += filter.empty() ? "" : ":";
      filter += std::string(suite.name()) + "." + test.name();
    }
  }
  return filter;
}

// glibc's mark is true until the process starts its first other thread. The thread sanitizer has a
// thread of its own, so nothing can be told there.
[[maybe_unused]] bool ThreadsAsLabelled() {
  const std::string label = Environment("ERIS_TEST_THREADS");
  const bool started = __libc_single_threaded == 0;
  if (label.empty() || started == (label == "some")) return true;
  std::fprintf(stderr,
               "[  FAILED  ] %s: these tests %s second thread, but their ctest entry says '%s': %s "
               "the file in THREADED of its eris_cc_tests\n",
               Environment("ERIS_TEST_NAME").c_str(), started ? "start a" : "start no",
               label.c_str(), started ? "list" : "do not list");
  return false;
}

int Main(int argc, char** argv) {
  if (argc > 1) {
    if (const OtherMain::Function other = OtherMain::Find(argv[1])) return other(argv + 2);
  }
  const std::string reports = Environment("ERIS_TEST_REPORTS");
  const std::string name = Environment("ERIS_TEST_NAME");
  if (!reports.empty() && !name.empty()) {
    // GoogleTest opens the report while it reads its flags.
    GTEST_FLAG_SET(output, "xml:" + reports + "/" + name + ".xml");
  }
  testing::InitGoogleMock(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kFileFlag)) {
      std::fprintf(stderr,
                   "unknown argument '%s'; besides GoogleTest's own: --file=<name>_test.cc\n",
                   argv[i]);
      return 2;
    }
    const std::string filter = FilterOf(argument.substr(kFileFlag.size()));
    if (filter.empty()) {
      std::fprintf(stderr, "no test of this program is in a file '%s'\n",
                   argv[i] + kFileFlag.size());
      return 2;
    }
    // Some of the file's tests can be chosen by GoogleTest's own filter.
    if (GTEST_FLAG_GET(filter) == "*") GTEST_FLAG_SET(filter, filter);
  }
  const int status = RUN_ALL_TESTS();
#if !defined(ERIS_TSAN)
  if (!ThreadsAsLabelled()) return 1;
#endif
  return status;
}

}  // namespace
}  // namespace eris::test

int main(int argc, char** argv) { return eris::test::Main(argc, argv); }
