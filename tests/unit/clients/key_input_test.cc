#include "clients/cli/text/key_input.h"

#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace eris::cli {
namespace {

std::vector<std::string> PlacesOf(std::vector<std::string> arguments, const std::string& input) {
  std::istringstream lines(input);
  ArgumentReader reader(std::move(arguments), lines);
  std::vector<std::string> places;
  std::string text;
  while (reader.Next(text)) {
    const absl::Status status = reader.Named(absl::InvalidArgumentError("bad"), text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    places.emplace_back(status.message());
  }
  return places;
}

TEST(KeyInputTest, LinesOfInputAreNamedByNumberAndText) {
  EXPECT_EQ(PlacesOf({"1", "-", "2"}, "a b\n\n  \nc\r\n"),
            (std::vector<std::string>{"bad", "line 1 of the input, 'a b': bad",
                                      "line 4 of the input, 'c': bad", "bad"}));
  // A second "-" goes on where the first has ended.
  EXPECT_EQ(PlacesOf({"-", "-"}, "x"), (std::vector<std::string>{"line 1 of the input, 'x': bad"}));
}

TEST(KeyInputTest, LongLinesAreCutBetweenCharacters) {
  const std::string place = PlacesOf({"-"}, std::string(199, 'x') + "\xc3\xbc\xc3\xbc").at(0);
  EXPECT_EQ(place, "line 1 of the input, '" + std::string(199, 'x') + "...': bad");
}

}  // namespace
}  // namespace eris::cli
