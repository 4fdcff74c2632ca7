// The engine inside your own program: open, create, write, look up, scan. Includes only
// include/eris. Data lives in memory only and ends with the engine.
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "eris/engine.h"

// Returns the value, or ends the program.
template <class T>
T Get(absl::StatusOr<T> result) {
  if (!result.ok()) std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  return std::move(result).value();
}

int main() {
  const auto engine = Get(eris::Engine::Open({.memory_limit_bytes = 64 << 20}));
  Get(engine->Create("squares", {.expected = {0, 1000}}));  // expected keys
  const auto session = engine->NewSession();                // one per calling thread
  const auto squares = Get(session->Open("squares"));       // usable in all sessions

  std::vector<uint64_t> keys = {31, 14, 15}, values = {961, 196, 225}, read(3);
  std::vector<uint8_t> found(3);
  if (!session->Upsert(squares, keys, values).ok()) return 1;
  if (!session->Lookup(squares, keys, absl::MakeSpan(read), absl::MakeSpan(found)).ok()) return 1;
  std::printf("squares[31] = %lu\n", read[0]);

  const auto scan = Get(session->OpenScan(squares, {.range = {10, 20}}));
  while (const auto chunk = Get(scan->Next())) {
    for (size_t row = 0; row < chunk->rows(); ++row) {
      std::printf("%lu -> %lu\n", chunk->Uint64s(0)[row], chunk->Uint64s(1)[row]);
    }
  }
}
