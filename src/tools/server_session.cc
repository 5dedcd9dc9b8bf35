#include "tools/server_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "control/rpc/incarnation.h"
#include "tools/input_error.h"

namespace rain::tools {
namespace {

constexpr Nanos kGoodbyePatience = seconds(1);

control::ServerClaim claim_of(const RackFile& rack, const ServerSection& server) {
  control::ServerClaim claim{.name = server.name, .incarnation = control::make_incarnation(), .workers = {}};
  for (unsigned i = 0; i < server.workers; ++i) {
    control::WorkerClaim& worker = claim.workers.emplace_back();
    worker.id.value = static_cast<std::uint16_t>(server.first_id.value + i);
    worker.slice = rack.in_switch.slices[server.slice.value].name;
    worker.address = server.endpoint(i);
    worker.weight = server.weight;
    worker.quota = server.quota;
    worker.token_key = server.token_key;
  }
  return claim;
}

/// In the order of the claim; nothing if the orders lack one.
std::optional<std::vector<std::uint32_t>> keys_of(const ServerSection& server,
                                                  const control::ServerOrders& orders) {
  std::vector<std::uint32_t> keys;
  for (unsigned i = 0; i < server.workers; ++i) {
    const auto found = std::find_if(
        orders.workers.begin(), orders.workers.end(),
        [&](const control::WorkerRow& row) { return row.id.value == server.first_id.value + i; });
    if (found == orders.workers.end()) return std::nullopt;
    keys.push_back(found->token_key);
  }
  return keys;
}

}  // namespace

std::unique_ptr<ServerSession> ServerSession::open(const RackFile& rack, const ServerSection& server,
                                                   const StopSignals& signals,
                                                   control::ServerLinkHooks hooks) {
  hooks.note = [](const std::string& text) { std::fputs(("rain worker: " + text + '\n').c_str(), stderr); };
  auto link = control::ServerLink::open(
      {.controller = rack.controller->address, .server = claim_of(rack, server)}, std::move(hooks));
  if (!link) throw InputError(link.error());
  while (!signals.wait(milliseconds(10))) {
    const auto orders = (*link)->wait_for_orders(milliseconds(100));
    if (!orders) continue;
    auto keys = keys_of(server, *orders);
    if (!keys) continue;
    return std::unique_ptr<ServerSession>(new ServerSession(std::move(*link), std::move(*keys)));
  }
  return nullptr;
}

ServerSession::~ServerSession() { link_->leave(kGoodbyePatience); }

}  // namespace rain::tools
