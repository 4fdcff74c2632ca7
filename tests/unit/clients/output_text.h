// What a piece of code writes to an Output.
#ifndef ERIS_TESTS_UNIT_CLIENTS_OUTPUT_TEXT_H_
#define ERIS_TESTS_UNIT_CLIENTS_OUTPUT_TEXT_H_

#include <cstdio>
#include <string>

#include "clients/cli/text/output.h"
#include "gtest/gtest.h"

namespace eris::cli {

template <class Write>
std::string OutputText(Write write) {
  std::FILE* const file = std::tmpfile();
  Output output(file);
  write(output);
  output.Finish(0);
  std::string text(static_cast<size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

}  // namespace eris::cli

#endif  // ERIS_TESTS_UNIT_CLIENTS_OUTPUT_TEXT_H_
