// Packets and small helpers that the transports' tests share.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "transport/transport.h"

namespace rain::transport {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What one receive() gave, as text.
template <typename T>
std::vector<std::string> receive_texts(T& transport, Nanos now) {
  std::vector<std::string> texts;
  for (const RxPacket& packet : transport.receive(now)) texts.push_back(text_of(packet.bytes));
  return texts;
}

/// Receives on a real socket until `count` packets came; fewer when `patience` ends first, so that a test
/// fails instead of hanging.
template <typename T>
std::vector<std::string> receive_until(T& transport, std::size_t count, Nanos patience = seconds(5)) {
  std::vector<std::string> texts;
  const Nanos end = monotonic_now() + patience;
  while (texts.size() < count && monotonic_now() < end) {
    for (std::string& text : receive_texts(transport, monotonic_now())) texts.push_back(std::move(text));
    if (texts.size() < count) transport.wait(milliseconds(10));
  }
  return texts;
}

template <typename T>
void send_text(T& transport, Nanos now, std::string_view text, const Endpoint& peer) {
  transport.send(now, bytes_of(text), peer);
  transport.flush(now);
}

}  // namespace rain::transport
