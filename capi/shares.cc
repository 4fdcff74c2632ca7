// The shares in which several readers scan an object.
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "capi/columns.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/queries.h"
#include "eris/c/scan.h"

struct eris_shares {
  std::vector<eris::ObjectShare> shares;
};

using eris::capi::Guard;
using eris::capi::Need;

eris_code eris_shares_of(eris_session* session, const eris_object* object, const eris_query* query,
                         int64_t timeout_us, eris_shares** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(
        Need({{"session", session}, {"object", object}, {"query", query}, {"out", out}}));
    ERIS_ASSIGN_OR_RETURN(const eris::Query its_query, eris::capi::QueryFrom(query));
    if (its_query.snapshot == nullptr) {
      return absl::InvalidArgumentError("`query` has no snapshot: shares are of one moment");
    }
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    auto shares = std::make_unique<eris_shares>();
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    ERIS_ASSIGN_OR_RETURN(shares->shares,
                          session->session->Shares(object->object, its_query, deadline));
    *out = shares.release();
    return absl::OkStatus();
  });
}

size_t eris_shares_count(const eris_shares* shares) {
  return shares == nullptr ? 0 : shares->shares.size();
}

eris_code eris_shares_get(const eris_shares* shares, size_t i, eris_share* share,
                          eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"shares", shares}, {"share", share}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckIndex(i, shares->shares.size()));
    const eris::ObjectShare& its = shares->shares[i];
    return eris::capi::WriteSized("share",
                                  eris_share{.struct_size = 0,
                                             .aeu = its.aeu.value,
                                             .numa_node = its.numa_node.value,
                                             .range = eris::capi::RangeOut(its.range),
                                             .rows = its.rows},
                                  share);
  });
}

void eris_shares_free(eris_shares* shares) { delete shares; }
