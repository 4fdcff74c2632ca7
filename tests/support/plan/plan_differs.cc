#include "tests/support/plan/plan_differs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tests/support/plan/relation.h"

namespace eris::test {
namespace {

constexpr size_t kNobody = ~size_t{0};

bool CloseEnough(const Cell& expected, const Cell& actual) {
  const double x = expected.real;
  const double y = actual.real;
  if (std::isinf(expected.slack)) return true;
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (x == y) return x != 0 || expected.any_zero || std::signbit(x) == std::signbit(y);
  if (std::isinf(x) || std::isinf(y)) return false;
  const double largest = std::max(std::abs(x), std::abs(y));
  return std::abs(x - y) <= std::max(kRelativeTolerance * largest, expected.slack);
}

bool Agrees(const Cell& expected, const Cell& actual) {
  if (expected.failed() || actual.failed()) return false;
  if (expected.null || actual.null) return expected.null && actual.null;
  if (!IsReal(expected.type)) return SameCell(expected, actual);
  return CloseEnough(expected, actual);
}
bool Agrees(const Cells& expected, const Cells& actual) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!Agrees(expected[i], actual[i])) return false;
  }
  return true;
}

// All but the doubles, which need not be equal to agree.
std::string ExactPart(const Cells& row) {
  std::string text;
  for (const Cell& cell : row) {
    absl::StrAppend(&text, IsReal(cell.type) && !cell.null ? "double" : CellText(cell), "|");
  }
  return text;
}

// Finds each actual row an expected one of its own. Rows are a graph, whose edges are pairs that
// agree; a partner that is taken is moved to another one if that frees it.
class Matching {
 public:
  Matching(const std::vector<Cells>& expected, const std::vector<Cells>& actual)
      : expected_(expected), actual_(actual), owner_(expected.size(), kNobody) {
    for (size_t i = 0; i < expected.size(); ++i) {
      by_exact_part_[ExactPart(expected[i])].push_back(i);
    }
  }
  bool Find(size_t actual) {
    std::vector<bool> tried(expected_.size(), false);
    return Find(actual, tried);
  }
  // An expected row without an actual one.
  std::optional<size_t> Missing() const {
    const auto at = std::find(owner_.begin(), owner_.end(), kNobody);
    if (at == owner_.end()) return std::nullopt;
    return static_cast<size_t>(at - owner_.begin());
  }

 private:
  bool Find(size_t actual, std::vector<bool>& tried) {
    const auto candidates = by_exact_part_.find(ExactPart(actual_[actual]));
    if (candidates == by_exact_part_.end()) return false;
    for (const bool taken : {false, true}) {
      for (const size_t at : candidates->second) {
        if (tried[at] || (owner_[at] != kNobody) != taken) continue;
        if (!Agrees(expected_[at], actual_[actual])) continue;
        tried[at] = true;
        if (taken && !Find(owner_[at], tried)) continue;
        owner_[at] = actual;
        return true;
      }
    }
    return false;
  }

  const std::vector<Cells>& expected_;
  const std::vector<Cells>& actual_;
  std::vector<size_t> owner_;  // by expected row, the actual one
  std::map<std::string, std::vector<size_t>> by_exact_part_;
};

std::string WrongTypes(const PlanAnswer& expected, const std::vector<Cells>& actual) {
  for (const Cells& row : actual) {
    if (row.size() != expected.types.size()) {
      return absl::StrCat("a row has ", row.size(), " columns, not ", expected.types.size());
    }
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i].type == expected.types[i]) continue;
      return absl::StrCat("column ", i, " is ", TypeText(row[i].type), ", not ",
                          TypeText(expected.types[i]));
    }
  }
  return {};
}

std::string WrongOrder(const PlanAnswer& expected, const std::vector<Cells>& actual, uint64_t begin,
                       bool limited) {
  for (size_t i = 0; i < actual.size(); ++i) {
    if (i > 0 && CompareSorted(actual[i - 1], actual[i], expected.order) > 0) {
      return absl::StrCat("rows ", i - 1, " and ", i,
                          " are not in order: ", CellsText(actual[i - 1]), " and ",
                          CellsText(actual[i]));
    }
    for (const SortKey& key : expected.order) {
      const Cell& theirs = expected.rows[begin + i][key.column];
      if (!limited || Agrees(theirs, actual[i][key.column])) continue;
      return absl::StrCat("row ", i, " has the sort key ", CellText(actual[i][key.column]),
                          ", not ", CellText(theirs), ": ", CellsText(actual[i]));
    }
  }
  return {};
}

// Rows that are tied may change places, and no others.
std::string WrongPlaces(const PlanAnswer& expected, const std::vector<Cells>& actual,
                        uint64_t begin) {
  if (expected.ranks.empty()) return {};
  std::map<size_t, std::vector<Cells>> ties;  // by rank
  for (size_t i = 0; i < expected.rows.size(); ++i) {
    ties[expected.ranks[i]].push_back(expected.rows[i]);
  }
  std::map<size_t, Matching> matchings;
  for (const auto& [rank, rows] : ties) matchings.try_emplace(rank, rows, actual);
  for (size_t i = 0; i < actual.size(); ++i) {
    if (matchings.at(expected.ranks[begin + i]).Find(i)) continue;
    return absl::StrCat("row ", i, " is not in its place: ", CellsText(actual[i]));
  }
  return {};
}

std::string WrongError(const PlanAnswer& expected, const absl::Status& error,
                       AcceptedErrors accepted) {
  const PlanNotes& notes = expected.notes;
  if (notes.possible.count(error.code()) > 0) return {};
  const bool out_of_order = notes.out_of_order.count(error.code()) > 0;
  if (accepted == AcceptedErrors::kOutOfOrder && out_of_order) return {};
  return absl::StrCat(expected.fails ? "another error: " : "an error instead of rows: ",
                      error.ToString());
}

}  // namespace

std::string Differs(const PlanAnswer& expected, const absl::StatusOr<std::vector<Cells>>& actual,
                    AcceptedErrors accepted) {
  if (!actual.ok()) return WrongError(expected, actual.status(), accepted);
  if (std::string wrong = WrongTypes(expected, *actual); !wrong.empty()) return wrong;
  if (!expected.notes.determined) return {};
  if (expected.fails) return absl::StrCat(actual->size(), " rows instead of an error");
  const uint64_t rows = expected.rows.size();
  const uint64_t begin = std::min(expected.offset, rows);
  const uint64_t count = std::min(expected.count, rows - begin);
  const bool limited = count < rows;
  Matching matching(expected.rows, *actual);
  for (size_t i = 0; i < actual->size(); ++i) {
    if (!matching.Find(i)) {
      return absl::StrCat(
          "row ", i, " is none of the expected ones, or one too many: ", CellsText((*actual)[i]));
    }
  }
  if (actual->size() != count) {
    std::string text = absl::StrCat(actual->size(), " rows, not ", count);
    const std::optional<size_t> missing = matching.Missing();
    if (missing.has_value() && !limited) {
      absl::StrAppend(&text, "; missing: ", CellsText(expected.rows[*missing]));
    }
    return text;
  }
  const std::string wrong = WrongOrder(expected, *actual, begin, limited);
  return wrong.empty() ? WrongPlaces(expected, *actual, begin) : wrong;
}

}  // namespace eris::test
