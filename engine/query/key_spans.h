// Between which numbers the keys are that each AEU has, by the bounds of its envelopes: if no key
// can be at two AEUs, each groups or joins its own rows, and none go to others. Tables that are cut
// alike are joined this way. Read between stages alone. Not from the papers.
#ifndef ERIS_ENGINE_QUERY_KEY_SPANS_H_
#define ERIS_ENGINE_QUERY_KEY_SPANS_H_

#include <cstdint>
#include <vector>

#include "storage/query/query_part.h"
#include "storage/query/stage.h"
#include "storage/table/kernels/exact_number.h"

namespace eris::engine {

class KeySpans {
 public:
  // The column's type has storage::HasKeyFilter. O(envelopes).
  KeySpans(const storage::QueryParts& parts, storage::RowSet set, uint32_t column);

  // The same of another column, which is joined with this one.
  void Add(const KeySpans& other);
  // Whether no two AEUs can have the same key. Nulls are no keys.
  bool Apart() const;
  // How many AEUs have nulls.
  uint32_t with_nulls() const { return with_nulls_; }

 private:
  struct Span {
    bool any = false;
    storage::Int128 least = 0;
    storage::Int128 most = 0;

    void Widen(storage::Int128 low, storage::Int128 high) {
      least = any && least < low ? least : low;
      most = any && most > high ? most : high;
      any = true;
    }
  };

  std::vector<Span> spans_;  // by part
  uint32_t with_nulls_ = 0;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_KEY_SPANS_H_
