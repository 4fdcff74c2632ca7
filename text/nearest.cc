#include "text/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"

namespace eris::text {
namespace {

// The number of characters to change, insert or delete to turn one text into the other.
size_t DistanceOf(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestOf(const std::vector<std::string>& names, const std::string& text) {
  std::string nearest;
  size_t least = text.size() < 4 ? 2 : 3;  // with a larger distance it is another word
  for (const std::string& name : names) {
    const bool begun = text.size() > 1 && absl::StartsWith(name, text);
    const size_t distance = begun ? 1 : DistanceOf(name, text);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace eris::text
