// A transport for tests of the agent: hands out what the test puts in, keeps what the agent sends, and remembers where
// in memory it lay, so that "not copied" can be seen.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "transport/transport.h"
#include "wire/codec.h"
#include "wire/message.h"

namespace rain::softswitch {

class RecordingTransport {
 public:
  struct Sent {
    const std::byte* start;        ///< where the packet lay
    const std::byte* payload;      ///< where its payload lay
    std::vector<std::byte> bytes;  ///< as of the flush
    wire::Message message;         ///< decoded; its payload points into `bytes`
    Endpoint peer;
  };

  /// Puts a packet into the next batch; kBatch at most.
  void put(std::span<const std::byte> bytes, const Endpoint& source) {
    std::byte* at = buffers_[count_].data() + transport::kHeadroomBytes;
    std::copy(bytes.begin(), bytes.end(), at);
    batch_[count_++] = {{at, bytes.size()}, source, arrival};
  }
  const std::byte* received(std::size_t index) const { return batch_[index].bytes.data(); }

  // concept Transport
  std::span<transport::RxPacket> receive(Nanos) { return {batch_.data(), std::exchange(count_, 0)}; }
  void send(Nanos, std::span<const std::byte> bytes, const Endpoint& peer) {
    queued_.push_back({bytes, peer});
  }
  void flush(Nanos) {
    for (const auto& [bytes, peer] : queued_) {
      Sent& sent = sent_.emplace_back(Sent{bytes.data(), nullptr, {bytes.begin(), bytes.end()}, {}, peer});
      if (wire::decode(sent.bytes, sent.message) != DropReason::kNone) std::abort();
      sent.payload = bytes.data() + (bytes.size() - sent.message.payload.size());
    }
    queued_.clear();
    if (at_flush) at_flush();
  }
  std::uint64_t send_failures() const { return failures; }
  void wait(Nanos) {}
  const Endpoint& local() const { return local_; }

  std::vector<Sent> take_sent() { return std::exchange(sent_, {}); }

  Nanos arrival{};             ///< of the packets that are put
  std::uint64_t failures = 0;  ///< what send_failures() says
  std::function<void()> at_flush{};

 private:
  struct Queued {
    std::span<const std::byte> bytes;
    Endpoint peer;
  };
  Endpoint local_ = Endpoint::v4(10, 9, 9, 9, 9000);
  std::array<std::array<std::byte, transport::kBufferBytes>, transport::kBatch> buffers_;
  std::array<transport::RxPacket, transport::kBatch> batch_{};
  std::size_t count_ = 0;
  std::vector<Queued> queued_;
  std::vector<Sent> sent_;
};

static_assert(transport::Transport<RecordingTransport>);

}  // namespace rain::softswitch
