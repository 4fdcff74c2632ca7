// One side of the index benchmark: a structure, or the machine's limits, that answers commands (see
// index_lab.cc). A process has one side, so that its pages and its memory are its own.
#ifndef ERIS_BENCH_INDEX_SIDE_H_
#define ERIS_BENCH_INDEX_SIDE_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/index/probes.h"

namespace eris::bench {

// A JSON object of one line.
class Json {
 public:
  Json& Add(const char* name, double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return AddText(name, text);
  }
  Json& Add(const char* name, uint64_t value) { return AddText(name, std::to_string(value)); }
  Json& Add(const char* name, int64_t value) { return AddText(name, std::to_string(value)); }
  std::string Text() const { return "{" + text_ + "}"; }

 private:
  Json& AddText(const char* name, const std::string& value) {
    if (!text_.empty()) text_ += ", ";
    text_ += std::string("\"") + name + "\": " + value;
    return *this;
  }
  std::string text_;
};

// The words of a command line.
struct Command {
  std::vector<std::string> words;
  const std::string& name() const { return words[0]; }
  uint64_t Number(size_t word) const;            // ends the program if it is missing
  bool Is(size_t word, const char* text) const;  // the same
};

class Side {
 public:
  virtual ~Side() = default;
  // Ends the program on an unknown command, and if an answer of the structure is wrong.
  virtual Json Ask(const Command& command) = 0;
};

struct SideOptions {
  KeySpace space;
  uint64_t seed = 1;
  uint64_t area_bytes = 0;  // for the limits
  std::vector<int> cpus;    // the first is the measuring thread's; at least one
};

using MakeSide = std::unique_ptr<Side> (*)(const SideOptions& options);
struct NamedSide {
  const char* name;
  MakeSide make;
};
// The sides that each file adds.
std::vector<NamedSide> ErisSides();
std::vector<NamedSide> SharedSides();
std::vector<NamedSide> RadixSides();
std::vector<NamedSide> MapSides();
std::vector<NamedSide> TbbSides();    // tbb_side.cc, if oneTBB was found
std::vector<NamedSide> UnodbSides();  // unodb_side.cc, with -DERIS_BENCH_UNODB
std::vector<NamedSide> LimitSides();

}  // namespace eris::bench

#endif  // ERIS_BENCH_INDEX_SIDE_H_
