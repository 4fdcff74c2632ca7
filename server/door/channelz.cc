#include "server/door/channelz.h"

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>

#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"

namespace eris::server {
namespace {

using nlohmann::json;

// Takes gRPC's text; an empty object if there is none.
json Parse(char* text) {
  if (text == nullptr) return json::object();
  json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  gpr_free(text);
  return parsed.is_object() ? parsed : json::object();
}

// gRPC leaves out what is zero, and writes 64-bit numbers as text.
int64_t NumberIn(const json& object, const char* key) {
  int64_t number = 0;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return 0;
  return absl::SimpleAtoi(found->get_ref<const std::string&>(), &number) ? number : 0;
}
std::string TextIn(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}
// Calls visit(element) for each of a list. True: it was the end of the list.
template <class Visit>
bool ForEach(const json& list, const char* key, Visit visit) {
  const auto found = list.find(key);
  if (found == list.end() || !found->is_array() || found->empty()) return true;
  for (const json& element : *found) visit(element);
  return list.value("end", false);
}

}  // namespace

Channelz::Channelz() {
  for (bool end = false; !end;) {
    end = ForEach(Parse(grpc_channelz_get_servers(server_ + 1)), "server", [&](const json& server) {
      server_ = NumberIn(server.value("ref", json::object()), "serverId");
    });
  }
}

std::vector<Channelz::Socket> Channelz::NewSockets() {
  std::vector<Socket> sockets;
  for (bool end = false; !end;) {
    end = ForEach(Parse(grpc_channelz_get_server_sockets(server_, next_, 0)), "socketRef",
                  [&](const json& socket) {
                    const int64_t id = NumberIn(socket, "socketId");
                    const std::string name = TextIn(socket, "name");  // "chttp2 ipv4:10.0.0.7:4711"
                    if (id < next_) return;
                    next_ = id + 1;
                    sockets.push_back({id, name.substr(name.find(' ') + 1)});
                  });
  }
  return sockets;
}

std::optional<Channelz::Counts> Channelz::Read(int64_t socket) {
  const json answer = Parse(grpc_channelz_get_socket(socket));
  const auto found = answer.find("socket");
  if (found == answer.end()) return std::nullopt;
  const json data = found->value("data", json::object());
  const auto count = [&](const char* key) { return static_cast<uint64_t>(NumberIn(data, key)); };
  return Counts{count("streamsStarted"), count("streamsSucceeded"), count("streamsFailed"),
                count("messagesReceived")};
}

}  // namespace eris::server
