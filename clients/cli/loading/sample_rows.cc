#include "clients/cli/loading/sample_rows.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "clients/load/random.h"
#include "eris/key_text.h"
#include "text/expression_text.h"

namespace eris::cli {
namespace {

constexpr int32_t kFirstDay = 8035;   // 1992-01-01
constexpr int32_t kOrderDays = 2406;  // up to 1998-08-02
constexpr int32_t kToday = 9298;      // 1995-06-17: items shipped by this date are finished

constexpr std::array<absl::string_view, 5> kPriorities = {"1-URGENT", "2-HIGH", "3-MEDIUM",
                                                          "4-NOT SPECIFIED", "5-LOW"};
constexpr std::array<absl::string_view, 4> kInstructions = {"DELIVER IN PERSON", "COLLECT COD",
                                                            "NONE", "TAKE BACK RETURN"};
constexpr std::array<absl::string_view, 7> kModes = {"REG AIR", "AIR",  "RAIL", "SHIP",
                                                     "TRUCK",   "MAIL", "FOB"};
constexpr std::array<absl::string_view, 16> kWords = {
    "quick", "final", "ironic", "even",      "packages", "requests", "deposits", "ideas",
    "sleep", "wake",  "nag",    "carefully", "slowly",   "above",    "among",    "the"};

struct Item {
  uint64_t part, supplier;
  int64_t quantity, price_cents, discount_percent, tax_percent;
  int32_t ship_day, commit_day, receipt_day;
  bool returned;
  absl::string_view instruction, mode;
  std::string comment;
};

struct Order {
  uint64_t key, customer, clerk;
  int32_t day;
  absl::string_view priority;
  std::string comment;
  std::vector<Item> items;
};

std::string Words(load::Random& random, uint64_t count) {
  std::string text;
  for (; count > 0; --count) {
    absl::StrAppend(&text, text.empty() ? "" : " ", kWords[random.Below(kWords.size())]);
  }
  return text;
}

uint64_t Scaled(const SampleScale& scale, uint64_t count) {
  return std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(count) * scale.factor));
}

Order MakeOrder(const SampleScale& scale, uint64_t number) {
  load::Random random(load::Mix(scale.seed) + number);
  Order order;
  order.key = number / 8 * 32 + number % 8 + 1;
  order.customer = 1 + random.Below(Scaled(scale, 150'000));
  order.clerk = 1 + random.Below(Scaled(scale, 1'000));
  order.day = kFirstDay + static_cast<int32_t>(random.Below(kOrderDays));
  order.priority = kPriorities[random.Below(kPriorities.size())];
  order.comment = Words(random, 3 + random.Below(6));
  order.items.resize(1 + random.Below(7));
  for (Item& item : order.items) {
    item.part = 1 + random.Below(Scaled(scale, 200'000));
    item.supplier = 1 + random.Below(Scaled(scale, 10'000));
    item.quantity = 1 + static_cast<int64_t>(random.Below(50));
    item.price_cents = item.quantity * static_cast<int64_t>(90'000 + item.part / 10 % 20'001 +
                                                            100 * (item.part % 1'000));
    item.discount_percent = static_cast<int64_t>(random.Below(11));
    item.tax_percent = static_cast<int64_t>(random.Below(9));
    item.ship_day = order.day + 1 + static_cast<int32_t>(random.Below(121));
    item.commit_day = order.day + 30 + static_cast<int32_t>(random.Below(61));
    item.receipt_day = item.ship_day + 1 + static_cast<int32_t>(random.Below(30));
    item.returned = random.Below(2) == 1;
    item.instruction = kInstructions[random.Below(kInstructions.size())];
    item.mode = kModes[random.Below(kModes.size())];
    item.comment = Words(random, 2 + random.Below(4));
  }
  return order;
}

void AppendCents(int64_t cents, std::string& text) {
  text::AppendDecimal(cents, 2, &text);
  text += '|';
}

}  // namespace

void AppendOrder(const SampleScale& scale, uint64_t number, std::string& text) {
  const Order order = MakeOrder(scale, number);
  int64_t total = 0;  // in cents of a cent of a cent
  size_t shipped = 0;
  for (const Item& item : order.items) {
    total += item.price_cents * (100 - item.discount_percent) * (100 + item.tax_percent);
    shipped += item.ship_day <= kToday ? 1 : 0;
  }
  const absl::string_view status = shipped == order.items.size() ? "F" : shipped == 0 ? "O" : "P";
  absl::StrAppend(&text, order.key, "|", order.customer, "|", status, "|");
  AppendCents((total + 5'000) / 10'000, text);
  absl::StrAppend(&text, DateText(order.day), "|", order.priority, "|Clerk#",
                  absl::Dec(order.clerk, absl::kZeroPad9), "|0|", order.comment, "|\n");
}

uint32_t AppendLineitems(const SampleScale& scale, uint64_t number, std::string& text) {
  const Order order = MakeOrder(scale, number);
  uint32_t line = 0;
  for (const Item& item : order.items) {
    const bool received = item.receipt_day <= kToday;
    absl::StrAppend(&text, order.key, "|", item.part, "|", item.supplier, "|", ++line, "|");
    AppendCents(item.quantity * 100, text);
    AppendCents(item.price_cents, text);
    AppendCents(item.discount_percent, text);
    AppendCents(item.tax_percent, text);
    absl::StrAppend(&text,
                    !received       ? "N"
                    : item.returned ? "R"
                                    : "A",
                    "|", item.ship_day > kToday ? "O" : "F", "|", DateText(item.ship_day), "|");
    absl::StrAppend(&text, DateText(item.commit_day), "|", DateText(item.receipt_day), "|",
                    item.instruction, "|", item.mode, "|", item.comment, "|\n");
  }
  return line;
}

}  // namespace eris::cli
