// A user's program with a client that takes its share from a controller: compiles, links, and goes on without one.
#include <rain/client_share.h>

#include <cstdio>

int main() {
  auto client = rain::Client::open({.switch_address = "127.0.0.1:9", .timeout = rain::milliseconds(20)});
  if (!client) return 1;
  const auto share = rain::ClientShare::open(*client, {.controller_address = "127.0.0.1:9"});
  if (!share) {
    std::fprintf(stderr, "%s\n", share.error().message().c_str());
    return 1;
  }
  const auto reply = client->call(rain::as_payload("ping"));
  return !reply && reply.error().kind == rain::ErrorKind::kTimedOut ? 0 : 1;
}
