// What the log of slow calls says about a request. Any thread, no state.
#ifndef ERIS_SERVER_CALLS_REQUEST_WORDS_H_
#define ERIS_SERVER_CALLS_REQUEST_WORDS_H_

#include <cstdint>
#include <string>
#include <type_traits>

#include "eris/types.h"
#include "wire/columns.h"

namespace eris::server {

// The object that a request names, cut to the longest allowed name; empty if it names none.
template <class Request>
std::string ObjectOf(const Request& request) {
  if constexpr (requires { std::string(request.object()); }) {
    return request.object().substr(0, kObjectNameBytesMax);
  } else if constexpr (requires { std::string(request.name()); }) {
    return request.name().substr(0, kObjectNameBytesMax);
  } else {
    return {};
  }
}

template <class T>
inline constexpr bool kIsColumns = std::is_same_v<std::decay_t<T>, wire::Columns>;

// The rows or keys that a batch claims to have; 0 for other requests.
template <class Request>
uint64_t RowsOf(const Request& request) {
  const auto of = [](const wire::Columns& columns) -> uint64_t {
    return columns.empty() ? 0 : wire::RowsSaid(columns[0]);
  };
  if constexpr (requires { request.keys(); }) {
    if constexpr (kIsColumns<decltype(request.keys())>) return of(request.keys());
  } else if constexpr (requires { request.columns(); }) {
    if constexpr (kIsColumns<decltype(request.columns())>) return of(request.columns());
  }
  return 0;
}

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_REQUEST_WORDS_H_
