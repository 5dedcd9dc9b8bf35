// The smallest client: sends its arguments to the rack, one after the other, and prints the replies.
#include <rain/client.h>

#include <iostream>

int main(int argc, char** argv) {
  auto client = rain::Client::open({.switch_address = "127.0.0.1:9000"});
  if (!client) return std::cerr << client.error().message() << '\n', 1;
  for (int i = 1; i < argc; ++i) {
    const auto reply = client->call(rain::as_payload(argv[i]), {.type = rain::TaskType{0}});
    if (!reply) return std::cerr << reply.error().message() << '\n', 1;
    std::cout << rain::as_text(reply->payload) << "  (" << reply->latency.value / 1000 << " us)\n";
  }
}
