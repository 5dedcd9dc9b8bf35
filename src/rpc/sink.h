// Where the state machines of this folder put the packets they want sent.
#pragma once

#include <concepts>

#include "base/endpoint.h"
#include "wire/message.h"

namespace rain::rpc {

// clang-format off
/// Takes a packet during the call: `message` and its payload need not outlive it.
template <typename S>
concept Sink = requires(S& sink, const wire::Message& message, const Endpoint& to) {
  { sink.send(message, to) } -> std::same_as<void>;
};
// clang-format on

}  // namespace rain::rpc
