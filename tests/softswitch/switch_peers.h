// A switch process on loopback with the test as its clients and workers: real sockets, real threads.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "softswitch/switch_fixture.h"
#include "softswitch/switch_process.h"
#include "transport/udp.h"

namespace rain::softswitch {

inline const Endpoint kLoopback = Endpoint::v4(127, 0, 0, 1, 0);
inline constexpr Nanos kPatience = seconds(10);

/// Waits until it is so; fails the test when it never is.
template <typename Condition>
void await(Condition condition) {
  const Nanos end = monotonic_now() + kPatience;
  while (!condition()) {
    ASSERT_LT(monotonic_now(), end) << "what was waited for never came";
    usleep(1000);
  }
}

inline void await_waiting(const SwitchProcess& process, std::size_t slice, std::uint64_t tasks) {
  await([&] { return process.totals().slices[slice].waiting() >= tasks; });
}

/// A client's or worker's socket.
class Peer {
 public:
  Peer() : transport_(open()) {}

  const Endpoint& address() const { return transport_.local(); }

  void send(const packet_table::Packet& packet, const Endpoint& to) {
    const auto bytes = bytes_of(packet);
    transport_.send(Nanos{}, bytes, to);
    transport_.flush(Nanos{});
  }

  /// The next packet; fails the test when none comes.
  wire::Message receive() {
    const Nanos end = monotonic_now() + kPatience;
    while (monotonic_now() < end) {
      if (next_ == batch_.size()) {
        batch_ = transport_.receive(monotonic_now());
        next_ = 0;
      }
      if (next_ < batch_.size()) {
        wire::Message message;
        EXPECT_EQ(wire::decode(batch_[next_].bytes, message), DropReason::kNone);
        source_ = batch_[next_++].source;
        return message;
      }
      transport_.wait(milliseconds(10));
    }
    ADD_FAILURE() << "nothing came";
    return {};
  }
  const Endpoint& last_source() const { return source_; }

 private:
  static transport::UdpTransport open() {
    auto transport = transport::UdpTransport::open({.listen = kLoopback});
    if (!transport) std::abort();
    return std::move(*transport);
  }

  transport::UdpTransport transport_;
  std::span<transport::RxPacket> batch_{};
  std::size_t next_ = 0;
  Endpoint source_{};
};

inline SwitchOptions options_for(const std::vector<Peer>& workers) {
  SwitchOptions options = one_slice(static_cast<unsigned>(workers.size()));
  options.listen = kLoopback;
  for (std::size_t i = 0; i < workers.size(); ++i) options.workers[i].address = workers[i].address();
  return options;
}

inline std::unique_ptr<SwitchProcess> start(const SwitchOptions& options) {
  auto process = SwitchProcess::start(options);
  if (!process) {
    ADD_FAILURE() << process.error();
    std::abort();
  }
  return std::move(*process);
}

/// SYNC answered by the switch: all that this worker has sent before has been handled.
inline void expect_all_handled(Peer& peer, unsigned worker, const SwitchProcess& process) {
  peer.send(packet_table::sync(worker).request(777), process.local());
  const wire::Message ack = peer.receive();
  EXPECT_EQ(ack.type, wire::MessageType::kSyncAck);
  EXPECT_EQ(ack.sync_ack.boot_id, process.boot_id());
}

}  // namespace rain::softswitch
