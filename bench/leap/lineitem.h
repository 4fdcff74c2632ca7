// Columns of TPC-H's lineitem that queries 1 and 6 read, and l_orderkey, as plain arrays in one
// range of memory. Generated: values have TPC-H's ranges and rules, not its random numbers. Amounts
// are whole numbers (cents, hundredths), dates are days since 1992-01-01. Paper: page_leap 7.
#ifndef ERIS_BENCH_LEAP_LINEITEM_H_
#define ERIS_BENCH_LEAP_LINEITEM_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "leap/memory_pool.h"

namespace eris::bench {

// The columns in a range, one after the other, each from a huge page's begin on. Does not own them.
class Lineitem {
 public:
  static size_t BytesFor(uint64_t rows) {
    size_t bytes = 0;
    for (const size_t width : kWidths) bytes += ColumnBytes(rows, width);
    return bytes;
  }
  Lineitem(std::byte* range, uint64_t rows) : rows_(rows) {
    size_t at = 0;
    for (size_t i = 0; i < kWidths.size(); ++i) {
      columns_[i] = range + at;
      at += ColumnBytes(rows, kWidths[i]);
    }
  }

  // Fills every column but orderkey, which stays as it is: it counts the writes to it.
  void Generate();

  uint64_t rows() const { return rows_; }
  uint64_t* orderkey() const { return reinterpret_cast<uint64_t*>(columns_[0]); }
  uint32_t* quantity() const { return Words(1); }
  uint32_t* extendedprice() const { return Words(2); }  // cents
  uint32_t* discount() const { return Words(3); }       // hundredths
  uint32_t* tax() const { return Words(4); }            // hundredths
  uint32_t* shipdate() const { return Words(5); }
  uint8_t* returnflag() const { return reinterpret_cast<uint8_t*>(columns_[6]); }
  uint8_t* linestatus() const { return reinterpret_cast<uint8_t*>(columns_[7]); }

 private:
  static constexpr std::array<size_t, 8> kWidths = {8, 4, 4, 4, 4, 4, 1, 1};
  static size_t ColumnBytes(uint64_t rows, size_t width) {
    return base::RoundUp(rows * width, leap::kHugePageBytes);
  }
  uint32_t* Words(size_t column) const { return reinterpret_cast<uint32_t*>(columns_[column]); }

  const uint64_t rows_;
  std::array<std::byte*, 8> columns_;
};

// Days since 1992-01-01.
inline constexpr uint32_t kLastOrderDate = 2405;     // 1998-08-02
inline constexpr uint32_t kCurrentDate = 1263;       // 1995-06-17
inline constexpr uint32_t kQuery1LastShip = 2436;    // 1998-09-02: 90 days before 1998-12-01
inline constexpr uint32_t kQuery6FirstShip = 731;    // 1994-01-01
inline constexpr uint32_t kQuery6BeyondShip = 1096;  // 1995-01-01

inline void Lineitem::Generate() {
  uint64_t state = 1;
  const auto below = [&state](uint32_t bound) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<uint32_t>((state >> 33) % bound);
  };
  for (uint64_t row = 0; row < rows_; ++row) {
    const uint32_t part = 1 + below(200'000);
    const uint32_t retail_price = 90'000 + (part / 10) % 20'001 + 100 * (part % 1'000);
    quantity()[row] = 1 + below(50);
    extendedprice()[row] = quantity()[row] * retail_price;
    discount()[row] = below(11);
    tax()[row] = below(9);
    const uint32_t ship = below(kLastOrderDate + 1) + 1 + below(121);
    const uint32_t receipt = ship + 1 + below(30);
    shipdate()[row] = ship;
    returnflag()[row] = receipt > kCurrentDate ? 'N' : below(2) == 0 ? 'R' : 'A';
    linestatus()[row] = ship > kCurrentDate ? 'O' : 'F';
  }
}

// A query's answer so far; of the same rows it is always the same.
struct QueryAnswer {
  struct Group {
    uint64_t rows = 0;
    uint64_t quantity = 0;
    uint64_t base_price = 0;
    uint64_t discounted_price = 0;  // 1 / 10,000
    uint64_t charge = 0;            // 1 / 1,000,000, modulo 2^64
    uint64_t discount = 0;
    bool operator==(const Group&) const = default;
  };
  std::array<Group, 6> groups;  // query 1: by return flag and line status
  uint64_t revenue = 0;         // query 6
  bool operator==(const QueryAnswer&) const = default;
};

// Query 1 over the rows from `begin` to `end`.
inline void RunQuery1(const Lineitem& table, uint64_t begin, uint64_t end, QueryAnswer& answer) {
  const uint8_t* const flag = table.returnflag();
  const uint8_t* const status = table.linestatus();
  const uint32_t* const ship = table.shipdate();
  const uint32_t* const quantity = table.quantity();
  const uint32_t* const extended = table.extendedprice();
  const uint32_t* const discount = table.discount();
  const uint32_t* const tax = table.tax();
  for (uint64_t row = begin; row < end; ++row) {
    if (ship[row] > kQuery1LastShip) continue;
    const size_t of_flag = flag[row] == 'A' ? 0 : flag[row] == 'N' ? 1 : 2;
    QueryAnswer::Group& group = answer.groups[2 * of_flag + (status[row] == 'O')];
    const uint64_t discounted = uint64_t{extended[row]} * (100 - discount[row]);
    ++group.rows;
    group.quantity += quantity[row];
    group.base_price += extended[row];
    group.discounted_price += discounted;
    group.charge += discounted * (100 + tax[row]);
    group.discount += discount[row];
  }
}

// Query 6 over the rows from `begin` to `end`.
inline void RunQuery6(const Lineitem& table, uint64_t begin, uint64_t end, QueryAnswer& answer) {
  const uint32_t* const ship = table.shipdate();
  const uint32_t* const quantity = table.quantity();
  const uint32_t* const extended = table.extendedprice();
  const uint32_t* const discount = table.discount();
  uint64_t revenue = 0;
  for (uint64_t row = begin; row < end; ++row) {
    // No branches: the conditions hold at random.
    const uint32_t counts = (ship[row] >= kQuery6FirstShip) & (ship[row] < kQuery6BeyondShip) &
                            (discount[row] >= 5) & (discount[row] <= 7) & (quantity[row] < 24);
    revenue += uint64_t{extended[row]} * (counts * discount[row]);
  }
  answer.revenue += revenue;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_LEAP_LINEITEM_H_
