// Command lines of benchmarks: --name value, lists with commas, and switches without a value.
#ifndef ERIS_BENCH_ROUTING_FLAGS_H_
#define ERIS_BENCH_ROUTING_FLAGS_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/routing/machine.h"

namespace eris::bench {

inline std::vector<std::string> Split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// An unsigned integer or a double; ends the program unless it is between `min` and `max`.
template <class T>
T Number(const std::string& text, T min, T max) {
  char* end = nullptr;
  T value{};
  bool fits = !text.empty() && text[0] != '-';
  if constexpr (std::is_floating_point_v<T>) {
    value = std::strtod(text.c_str(), &end);
    fits = fits && value >= min && value <= max;
  } else {
    const unsigned long long number = std::strtoull(text.c_str(), &end, 0);
    value = static_cast<T>(number);
    fits = fits && number >= static_cast<unsigned long long>(min) &&
           number <= static_cast<unsigned long long>(max);
  }
  if (!fits || *end != '\0') {
    Die(text + " is no number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return value;
}

inline std::vector<uint32_t> Numbers(const std::string& list, uint32_t min, uint32_t max) {
  std::vector<uint32_t> numbers;
  for (const std::string& part : Split(list)) numbers.push_back(Number(part, min, max));
  return numbers;
}

// A flag of a program, and the function for its value.
struct Flag {
  using Set = std::function<void(const std::string& value)>;

  Flag(std::string flag, Set what) : name(std::move(flag)), set(std::move(what)) {}
  Flag(std::string flag, std::string& text)
      : Flag(std::move(flag), [&text](const auto& value) { text = value; }) {}
  Flag(std::string flag, std::vector<std::string>& list)
      : Flag(std::move(flag), [&list](const auto& value) { list = Split(value); }) {}
  // One of these words.
  Flag(std::string flag, std::string& text, std::vector<std::string> words)
      : Flag(std::move(flag), [&text, words = std::move(words)](const auto& value) {
          std::string all;
          for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
          if (std::find(words.begin(), words.end(), value) == words.end()) {
            Die("'" + value + "' is none of " + all);
          }
          text = value;
        }) {}
  template <class T>
  requires std::is_arithmetic_v<T> Flag(std::string flag, T& number, std::type_identity_t<T> min,
                                        std::type_identity_t<T> max = std::numeric_limits<T>::max())
      : Flag(std::move(flag),
             [&number, min, max](const auto& value) { number = Number(value, min, max); }) {}
  Flag(std::string flag, std::vector<uint32_t>& numbers, uint32_t min, uint32_t max)
      : Flag(std::move(flag),
             [&numbers, min, max](const auto& value) { numbers = Numbers(value, min, max); }) {}
  // A switch: has no value.
  Flag(std::string flag, bool& given)
      : name(std::move(flag)), set([&given](const auto&) { given = true; }), is_switch(true) {}

  std::string name;
  Set set;
  bool is_switch = false;
};

// Accepts `--name value` and `--name=value`. Ends the program if the command line has anything
// else.
inline void ParseFlags(int argc, char** argv, std::initializer_list<Flag> flags) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto* const flag =
        std::find_if(flags.begin(), flags.end(), [&](const Flag& one) { return one.name == name; });
    if (flag == flags.end()) Die("no flag " + name);
    if (flag->is_switch) {
      flag->set("");
    } else if (equals != std::string::npos) {
      flag->set(argument.substr(equals + 1));
    } else if (++i < argc) {
      flag->set(argv[i]);
    } else {
      Die(name + " wants a value");
    }
  }
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_FLAGS_H_
