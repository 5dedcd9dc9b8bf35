// The whole rack on loopback sockets: the switch process, public workers on threads, public clients.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/endpoint_text.h"
#include "rain/client.h"
#include "rain/worker.h"
#include "softswitch/switch_process.h"

namespace rain::rack {
namespace {

class UdpRack {
 public:
  UdpRack(std::string program, unsigned workers, unsigned quota) {
    // The workers' ports must be in the switch's table before it starts, so they find it by a port chosen first.
    const std::uint16_t switch_port = free_port();
    softswitch::SwitchOptions options{.listen = Endpoint::v4(127, 0, 0, 1, switch_port),
                                      .program = std::move(program)};
    address_ = format_endpoint(options.listen);
    options.slices = {{}};
    for (unsigned i = 0; i < workers; ++i) {
      const WorkerId id{static_cast<std::uint16_t>(i)};
      auto worker = Worker::open({.id = id,
                                  .listen_address = "127.0.0.1:0",
                                  .switch_address = address_,
                                  .quota = quota,
                                  .token_key = 7},
                                 [](const Task& task, ReplyBuffer& reply) { reply.append(task.payload); });
      workers_.push_back(std::make_unique<Worker>(std::move(worker).value()));
      options.workers.push_back(
          {.id = id, .address = Endpoint::v4(127, 0, 0, 1, workers_.back()->local_port()), .token_key = 7});
    }
    for (const auto& worker : workers_) threads_.emplace_back([&worker] { worker->run(); });
    switch_ = softswitch::SwitchProcess::start(options).value();  // the workers came first and find it
  }
  ~UdpRack() {
    for (const auto& worker : workers_) worker->stop();
    for (std::thread& thread : threads_) thread.join();
  }
  const std::string& address() const { return address_; }

 private:
  static std::uint16_t free_port() {
    return Client::open({.bind_address = "127.0.0.1:0"}).value().local_port();
  }

  std::string address_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
  std::unique_ptr<softswitch::SwitchProcess> switch_;
};

void ask(const std::string& program, unsigned quota) {
  UdpRack rack(program, 2, quota);
  Client client =
      Client::open({.switch_address = rack.address(), .max_outstanding = 16, .timeout = seconds(20)}).value();
  constexpr unsigned kRequests = 500;
  std::vector<unsigned> endings(kRequests);
  unsigned replies = 0;
  for (unsigned i = 0; i < kRequests; ++i) {
    const std::string text = std::to_string(i) + std::string(i % 50, '.');  // some wait as held payloads
    const auto hear = [&endings, &replies, i](const Client::Result& result) {
      ++endings[i];
      if (!result) return;
      ++replies;
      EXPECT_EQ(std::stoul(std::string(as_text(result->payload))), i);
    };
    while (!client.submit(as_payload(text), {}, hear)) client.wait(seconds(1));
  }
  while (client.outstanding() > 0) client.wait(seconds(1));
  EXPECT_EQ(endings, std::vector<unsigned>(kRequests, 1));
  EXPECT_EQ(replies, kRequests);
}

TEST(UdpRack, rain__every_request_is_answered) { ask("rain", 4); }
TEST(UdpRack, rain_paper__every_request_is_answered) { ask("rain-paper", 2); }
TEST(UdpRack, jsq__every_request_is_answered) { ask("jsq", 0); }
TEST(UdpRack, random__every_request_is_answered) { ask("random", 0); }

// A task that no token paid for would break the quota: it may as well come from a forger.
TEST(UdpRack, random__is_refused_by_workers_with_a_quota) {
  UdpRack rack("random", 1, 4);
  Client client = Client::open({.switch_address = rack.address(), .timeout = seconds(20)}).value();
  const Client::Result result = client.call(as_payload("x"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, DropReason::kWorkerQueueFull);
}

}  // namespace
}  // namespace rain::rack
