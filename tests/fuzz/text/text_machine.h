// Runs bytes as text of people through what reads it: configuration files, filters of queries, and
// files that are imported. A reader may refuse anything, but with a message; what it takes it must
// print and read again as the same. text_fuzz.cc brings this to libFuzzer, text_fuzz_test.cc runs
// some of it in every build.
#ifndef ERIS_TESTS_FUZZ_TEXT_TEXT_MACHINE_H_
#define ERIS_TESTS_FUZZ_TEXT_TEXT_MACHINE_H_

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace eris::fuzz {

enum class TextKind {
  kConfig,  // TOML: server/state/config.h
  kFilter,  // expressions: text/expression_text.h
  kCsv,     // delimited files and NDJSON: clients/cli/files/row_file.h; the first byte chooses the
            // format
};

// Errors: Internal, with the rule that was broken. `plant`: a rule that right readers break, too,
// to see that it is found. `taken`: whether the reader took the text.
absl::Status RunText(TextKind kind, std::string_view bytes, bool plant = false,
                     bool* taken = nullptr);

// Texts that are taken.
std::vector<std::string> TextSeeds(TextKind kind);

// The text with up to four changes: bytes, pieces of itself, numbers.
std::string ChangedText(std::string_view bytes, std::mt19937_64& random);

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_TEXT_TEXT_MACHINE_H_
