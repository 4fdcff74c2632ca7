#include "storage/table/query/row_output.h"

#include <algorithm>
#include <cstring>

namespace eris::storage {
namespace {

void PutValid(bool valid, ResultColumn& out, uint32_t row) {
  const uint64_t bit = uint64_t{1} << row % 64;
  uint64_t& word = out.validity[row / 64];
  word = valid ? word | bit : word & ~bit;
  out.any_null |= !valid;
}

template <class T>
void Gather(const void* from, uint32_t base, const uint16_t* picks, uint32_t count, void* to,
            uint32_t rows) {
  const T* const values = static_cast<const T*>(from) + base;
  T* const out = static_cast<T*>(to) + rows;
  if (count > 0 && uint32_t{picks[count - 1]} - picks[0] == count - 1) {
    std::memcpy(out, values + picks[0], count * sizeof(T));
    return;
  }
  for (uint32_t i = 0; i < count; ++i) out[i] = values[picks[i]];
}

}  // namespace

void PutAllValid(uint32_t count, ResultColumn& out, uint32_t first) {
  for (uint32_t row = first; row < first + count;) {
    const uint32_t in_word = std::min(64 - row % 64, first + count - row);
    const uint64_t bits = in_word == 64 ? ~uint64_t{0} : (uint64_t{1} << in_word) - 1;
    out.validity[row / 64] |= bits << row % 64;
    row += in_word;
  }
}

void PutPickedValid(const SegmentColumn& from, uint32_t base, const uint16_t* picks, uint32_t count,
                    ResultColumn& out, uint32_t first) {
  if (from.validity == nullptr) return PutAllValid(count, out, first);
  const uint64_t* const validity = from.validity + base / 64;
  PutValidity(count, out, first, [&](uint32_t i) { return BitAt(validity, picks[i]); });
}

uint32_t StringsThatFit(const SegmentColumn& from, uint32_t base, const uint16_t* picks,
                        uint32_t count, const ResultColumn& out, uint32_t rows) {
  const uint64_t* const validity = from.validity == nullptr ? nullptr : from.validity + base / 64;
  uint64_t bytes = rows == 0 ? 0 : out.offsets[rows];
  for (uint32_t i = 0; i < count; ++i) {
    if (validity == nullptr || BitAt(validity, picks[i])) {
      bytes += StringAt(from, base + picks[i]).size();
    }
    if (bytes > out.bytes_max) return i;
  }
  return count;
}

uint32_t StringsThatFit(const BlockVector& from, uint32_t count, const ResultColumn& out,
                        uint32_t rows) {
  uint64_t bytes = rows == 0 ? 0 : out.offsets[rows];
  for (uint32_t i = 0; i < count; ++i) {
    if (from.validity == nullptr || BitAt(from.validity, i)) bytes += from.strings()[i].size();
    if (bytes > out.bytes_max) return i;
  }
  return count;
}

void AppendColumn(const SegmentColumn& from, uint32_t base, const uint16_t* picks, uint32_t count,
                  ResultColumn& out, uint32_t rows) {
  const uint64_t* const validity = from.validity == nullptr ? nullptr : from.validity + base / 64;
  PutPickedValid(from, base, picks, count, out, rows);
  if (IsByteString(from.type)) {
    if (rows == 0) out.offsets[0] = 0;
    uint32_t end = out.offsets[rows];
    for (uint32_t i = 0; i < count; ++i) {
      if (validity == nullptr || BitAt(validity, picks[i])) {
        const std::string_view text = StringAt(from, base + picks[i]);
        std::memcpy(static_cast<char*>(out.values) + end, text.data(), text.size());
        end += static_cast<uint32_t>(text.size());
      }
      out.offsets[rows + i + 1] = end;
    }
  } else if (from.type == ColumnType::kInt128) {
    Gather<Int128Halves>(from.values, base, picks, count, out.values, rows);
  } else if (ColumnValueBytes(from.type) == 4) {
    Gather<uint32_t>(from.values, base, picks, count, out.values, rows);
  } else if (ColumnValueBytes(from.type) == sizeof(Int128Halves)) {
    Gather<Int128Halves>(from.values, base, picks, count, out.values, rows);
  } else {
    Gather<uint64_t>(from.values, base, picks, count, out.values, rows);
  }
}

void AppendVector(const BlockVector& from, uint32_t count, ResultColumn& out, uint32_t rows) {
  if (from.validity == nullptr) {
    PutAllValid(count, out, rows);
  } else {
    PutValidity(count, out, rows, [&](uint32_t i) { return BitAt(from.validity, i); });
  }
  if (IsByteString(out.type)) {
    if (rows == 0) out.offsets[0] = 0;
    uint32_t end = out.offsets[rows];
    for (uint32_t i = 0; i < count; ++i) {
      const std::string_view text = from.strings()[i];
      if (from.validity == nullptr || BitAt(from.validity, i)) {
        if (!text.empty())
          std::memcpy(static_cast<char*>(out.values) + end, text.data(), text.size());
        end += static_cast<uint32_t>(text.size());
      }
      out.offsets[rows + i + 1] = end;
    }
  } else if (out.type == ColumnType::kInt128) {
    std::memcpy(static_cast<Int128Halves*>(out.values) + rows, from.data,
                count * sizeof(Int128Halves));
  } else if (ColumnValueBytes(out.type) == 4) {
    auto* const to = static_cast<int32_t*>(out.values) + rows;
    for (uint32_t i = 0; i < count; ++i) to[i] = static_cast<int32_t>(from.i64()[i]);
  } else {
    std::memcpy(static_cast<uint64_t*>(out.values) + rows, from.data, count * sizeof(uint64_t));
  }
}

void PutValue(const void* bytes, bool valid, ResultColumn& out, uint32_t row) {
  const uint32_t width = ColumnValueBytes(out.type);
  std::memcpy(static_cast<std::byte*>(out.values) + size_t{row} * width, bytes, width);
  PutValid(valid, out, row);
}

bool PutString(std::string_view text, bool valid, ResultColumn& out, uint32_t row) {
  if (row == 0) out.offsets[0] = 0;
  const uint32_t begin = out.offsets[row];
  if (text.size() > out.bytes_max - begin) return false;
  if (!text.empty()) std::memcpy(static_cast<char*>(out.values) + begin, text.data(), text.size());
  out.offsets[row + 1] = begin + static_cast<uint32_t>(text.size());
  PutValid(valid, out, row);
  return true;
}

}  // namespace eris::storage
