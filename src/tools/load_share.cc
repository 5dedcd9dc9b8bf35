// See load_share.h.
#include "tools/load_share.h"

#include <poll.h>

#include <cstdio>
#include <utility>

#include "base/clock.h"

namespace rain::tools {
namespace {

/// So long a load waits for its first share, which a controller that is there tells in a few milliseconds.
constexpr Nanos kFirstWord = milliseconds(500);
constexpr int kStepMs = 5;

}  // namespace

LoadShare::LoadShare(std::size_t connections, std::optional<std::uint32_t> configured)
    : connections_(connections), total_(kUnlimited) {
  if (configured) set(*configured);
}

std::string LoadShare::attach(const LoadController& controller) {
  const auto note = [](const std::string& text) { std::fputs(("load: " + text + '\n').c_str(), stderr); };
  const auto share = [this](std::uint32_t told) {
    set(told);
    told_.store(true, std::memory_order_relaxed);
  };
  auto link = control::ClientLink::open({.controller = controller.address,
                                         .name = controller.client,
                                         .kind = "load",
                                         .weight = controller.weight},
                                        {.usage = [this] { return usage(); }, .share = share, .note = note});
  if (!link) return std::move(link.error());
  link_ = std::move(*link);
  const Nanos limit = monotonic_now() + kFirstWord;
  while (!told_by_controller() && monotonic_now() < limit) poll(nullptr, 0, kStepMs);
  return {};
}

void LoadShare::set(std::uint32_t share) {
  total_.store(share, std::memory_order_relaxed);
  const auto count = static_cast<std::uint32_t>(connections_.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    connections_[i].share.store(share / count + (i < share % count ? 1 : 0), std::memory_order_relaxed);
  }
}

std::optional<std::uint32_t> LoadShare::total() const {
  const std::uint32_t total = total_.load(std::memory_order_relaxed);
  return total == kUnlimited ? std::nullopt : std::optional(total);
}

control::ClientUsage LoadShare::usage() {
  std::uint64_t outstanding = 0, waiting = 0, refused = 0;
  for (const Connection& connection : connections_) {
    outstanding += connection.outstanding.load(std::memory_order_relaxed);
    waiting += connection.waiting.load(std::memory_order_relaxed);
    refused += connection.refused.load(std::memory_order_relaxed);
  }
  const std::uint64_t newly_refused = refused - std::exchange(refused_, refused);
  return control::usage_of({.outstanding = outstanding, .waiting = waiting, .refused = newly_refused});
}

}  // namespace rain::tools
