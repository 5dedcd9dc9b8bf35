// A user's program, built against the installed libraries only: both headers compile, both libraries link, and a
// request whose switch does not exist ends with an outcome.
#include <rain/client.h>
#include <rain/worker.h>

#include <cstdio>

int main() {
  auto worker = rain::Worker::open(
      {.id = rain::WorkerId{1}, .listen_address = "127.0.0.1:0"},
      [](const rain::Task& task, rain::ReplyBuffer& reply) { reply.append(task.payload); });
  auto client = rain::Client::open({.switch_address = "127.0.0.1:9", .timeout = rain::milliseconds(20)});
  if (!worker || !client) {
    std::fprintf(stderr, "%s\n", (worker ? client.error() : worker.error()).message().c_str());
    return 1;
  }
  const auto reply = client->call(rain::as_payload("ping"));
  return reply ? 1 : 0;
}
