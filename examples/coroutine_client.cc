// Many requests at once without a thread or a callback: coroutines that each wait for their replies in turn.
#include <rain/client.h>

#include <coroutine>
#include <exception>
#include <iostream>
#include <string>

/// A coroutine that nobody waits for; it ends by itself.
struct Conversation {
  struct promise_type {
    Conversation get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

/// Asks three times; each question needs the answer before.
Conversation converse(rain::Client& client, std::string text, int& failures) {
  for (int turn = 0; turn < 3; ++turn) {
    const rain::Client::Result reply = co_await client.async_call(rain::as_payload(text));
    if (!reply) {
      std::cerr << reply.error().message() << '\n';
      ++failures;
      co_return;
    }
    text = std::string(rain::as_text(reply->payload)) + "!";
  }
  std::cout << text << '\n';
}

int main(int argc, char** argv) {
  auto client = rain::Client::open({.switch_address = argc > 1 ? argv[1] : "127.0.0.1:9000"});
  if (!client) return std::cerr << client.error().message() << '\n', 1;
  int failures = 0;
  for (const char* text : {"one", "two", "three"}) converse(*client, text, failures);
  while (client->outstanding() > 0) client->wait(rain::seconds(1));
  return failures == 0 ? 0 : 1;
}
