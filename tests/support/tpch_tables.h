// The schemas of TPC-H's tables, as the plans in tests/tpch were made over: keys are int64, small
// numbers int32, money is decimal(15, 2).
#ifndef ERIS_TESTS_SUPPORT_TPCH_TABLES_H_
#define ERIS_TESTS_SUPPORT_TPCH_TABLES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "eris/schema.h"

namespace eris::test {

inline const std::map<std::string, Schema>& TpchTables() {
  static const auto* tables = [] {
    constexpr ColumnType i32 = ColumnType::kInt32;
    constexpr ColumnType i64 = ColumnType::kInt64;
    constexpr ColumnType money = ColumnType::kDecimal;
    constexpr ColumnType date = ColumnType::kDate;
    constexpr ColumnType text = ColumnType::kString;
    using Columns = std::vector<std::pair<std::string, ColumnType>>;
    const std::vector<std::pair<std::string, Columns>> all = {
        {"region", {{"r_regionkey", i64}, {"r_name", text}, {"r_comment", text}}},
        {"nation",
         {{"n_nationkey", i64}, {"n_name", text}, {"n_regionkey", i64}, {"n_comment", text}}},
        {"part",
         {{"p_partkey", i64},
          {"p_name", text},
          {"p_mfgr", text},
          {"p_brand", text},
          {"p_type", text},
          {"p_size", i32},
          {"p_container", text},
          {"p_retailprice", money},
          {"p_comment", text}}},
        {"supplier",
         {{"s_suppkey", i64},
          {"s_name", text},
          {"s_address", text},
          {"s_nationkey", i64},
          {"s_phone", text},
          {"s_acctbal", money},
          {"s_comment", text}}},
        {"partsupp",
         {{"ps_partkey", i64},
          {"ps_suppkey", i64},
          {"ps_availqty", i32},
          {"ps_supplycost", money},
          {"ps_comment", text}}},
        {"customer",
         {{"c_custkey", i64},
          {"c_name", text},
          {"c_address", text},
          {"c_nationkey", i64},
          {"c_phone", text},
          {"c_acctbal", money},
          {"c_mktsegment", text},
          {"c_comment", text}}},
        {"orders",
         {{"o_orderkey", i64},
          {"o_custkey", i64},
          {"o_orderstatus", text},
          {"o_totalprice", money},
          {"o_orderdate", date},
          {"o_orderpriority", text},
          {"o_clerk", text},
          {"o_shippriority", i32},
          {"o_comment", text}}},
        {"lineitem",
         {{"l_orderkey", i64},
          {"l_partkey", i64},
          {"l_suppkey", i64},
          {"l_linenumber", i32},
          {"l_quantity", money},
          {"l_extendedprice", money},
          {"l_discount", money},
          {"l_tax", money},
          {"l_returnflag", text},
          {"l_linestatus", text},
          {"l_shipdate", date},
          {"l_commitdate", date},
          {"l_receiptdate", date},
          {"l_shipinstruct", text},
          {"l_shipmode", text},
          {"l_comment", text}}}};
    constexpr uint8_t kMoneyScale = 2;
    auto* made = new std::map<std::string, Schema>;
    for (const auto& [table, columns] : all) {
      Schema& schema = (*made)[table];
      for (const auto& [name, type] : columns) {
        schema.columns.push_back(
            {.name = name, .type = type, .scale = type == money ? kMoneyScale : uint8_t{0}});
      }
    }
    return made;
  }();
  return *tables;
}

// A catalogue with these tables alone.
inline absl::StatusOr<Schema> TpchSchema(absl::string_view name) {
  const auto found = TpchTables().find(std::string(name));
  if (found != TpchTables().end()) return found->second;
  return absl::NotFoundError(absl::StrCat("object \"", name, "\" does not exist"));
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_TPCH_TABLES_H_
