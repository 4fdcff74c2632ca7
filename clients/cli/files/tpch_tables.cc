#include "clients/cli/files/tpch_tables.h"

#include <utility>

#include "absl/strings/match.h"

namespace eris::cli {

std::vector<std::string> TpchColumns(absl::string_view table) {
  if (table == "orders") {
    return {"o_orderkey",      "o_custkey", "o_orderstatus",  "o_totalprice", "o_orderdate",
            "o_orderpriority", "o_clerk",   "o_shippriority", "o_comment"};
  }
  if (table == "lineitem") {
    return {"l_orderkey",    "l_partkey",       "l_suppkey",  "l_linenumber",
            "l_quantity",    "l_extendedprice", "l_discount", "l_tax",
            "l_returnflag",  "l_linestatus",    "l_shipdate", "l_commitdate",
            "l_receiptdate", "l_shipinstruct",  "l_shipmode", "l_comment"};
  }
  if (table == "customer") {
    return {"c_custkey", "c_name",    "c_address",    "c_nationkey",
            "c_phone",   "c_acctbal", "c_mktsegment", "c_comment"};
  }
  if (table == "part") {
    return {"p_partkey", "p_name",      "p_mfgr",        "p_brand",  "p_type",
            "p_size",    "p_container", "p_retailprice", "p_comment"};
  }
  if (table == "partsupp") {
    return {"ps_partkey", "ps_suppkey", "ps_availqty", "ps_supplycost", "ps_comment"};
  }
  if (table == "supplier") {
    return {"s_suppkey", "s_name", "s_address", "s_nationkey", "s_phone", "s_acctbal", "s_comment"};
  }
  if (table == "nation") return {"n_nationkey", "n_name", "n_regionkey", "n_comment"};
  if (table == "region") return {"r_regionkey", "r_name", "r_comment"};
  return {};
}

namespace {

// Numbers of things are int32, keys that grow with the scale factor int64.
ColumnSchema TpchColumn(std::string name) {
  const absl::string_view what = absl::string_view(name).substr(name.find('_') + 1);
  ColumnSchema column{.name = std::move(name)};
  if (what == "nationkey" || what == "regionkey" || what == "linenumber" || what == "size" ||
      what == "availqty" || what == "shippriority") {
    column.type = ColumnType::kInt32;
  } else if (absl::EndsWith(what, "key")) {
    column.type = ColumnType::kInt64;
  } else if (absl::EndsWith(what, "date")) {
    column.type = ColumnType::kDate;
  } else if (absl::EndsWith(what, "price") || absl::EndsWith(what, "cost") || what == "acctbal" ||
             what == "quantity" || what == "discount" || what == "tax") {
    column.type = ColumnType::kDecimal;
    column.scale = 2;
  } else {
    column.type = ColumnType::kString;
  }
  return column;
}

}  // namespace

Schema TpchSchema(absl::string_view table) {
  Schema schema;
  for (std::string& name : TpchColumns(table)) {
    schema.columns.push_back(TpchColumn(std::move(name)));
  }
  if (schema.columns.empty()) return schema;
  schema.key = {0};
  if (table == "lineitem") schema.key = {0, 3};
  if (table == "partsupp") schema.key = {0, 1};
  return schema;
}

absl::string_view TableOfPath(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash != absl::string_view::npos) path.remove_prefix(slash + 1);
  return path.substr(0, path.find('.'));
}

}  // namespace eris::cli
