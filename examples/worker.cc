// The smallest worker: answers every request with the same text in capitals, until Ctrl-C.
#include <rain/worker.h>

#include <cctype>
#include <csignal>
#include <iostream>

rain::Worker* running = nullptr;

int main() {
  const auto shout = [](const rain::Task& task, rain::ReplyBuffer& reply) {
    reply.append(task.payload);
    for (std::byte& letter : reply.bytes()) letter = std::byte(std::toupper(int(letter)));
  };
  auto worker = rain::Worker::open({.id = rain::WorkerId{0}, .listen_address = "127.0.0.1:9100"}, shout);
  if (!worker) return std::cerr << worker.error().message() << '\n', 1;
  running = &*worker;
  std::signal(SIGINT, [](int) { running->stop(); });
  worker->run();
}
