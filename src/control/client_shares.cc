#include "control/client_shares.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/client_usage.h"
#include "control/names.h"

namespace rain::control {
namespace {

constexpr std::size_t kMaxClients = 4096;

/// A lower share is heard with the answer, and known to be heard with the next word.
std::uint64_t held_by(const ClientRow& row) { return row.lent; }

tl::unexpected<Refusal> refuse(Reason reason, std::string text) {
  return tl::unexpected(Refusal{reason, std::move(text)});
}

tl::unexpected<Refusal> refuse_unknown(ClientId id) {
  return refuse(Reason::kUnknown,
                fmt::format("client id {}: unknown, or its lease has ended: register again", id));
}

}  // namespace

std::uint64_t ClientShares::committed() const {
  std::uint64_t sum = 0;
  for (const auto& [id, row] : clients_) sum += held_by(row);
  return sum;
}

std::uint64_t ClientShares::free_for(const ClientRow& row) const {
  const std::uint64_t others = committed() - held_by(row);
  return total_ > others ? total_ - others : 0;
}

std::uint32_t ClientShares::believed(std::uint64_t in_use, std::uint64_t most) {
  if (in_use > most) ++overstated_;
  return static_cast<std::uint32_t>(std::min(in_use, most));
}

void ClientShares::grant(ClientRow& row) {
  std::vector<ShareClaim> claims;
  std::size_t own = 0;
  for (const auto& [id, one] : clients_) {
    if (id == row.id) own = claims.size();
    claims.push_back({one.weight, std::max(one.wanted, one.in_use)});
  }
  if (total_ < claims.size()) {  // workers have gone since these clients came
    row.share = std::min<std::uint32_t>(row.share, 1);
    return;
  }
  const std::uint32_t target = divide_shares(total_, claims)[own];
  row.share = static_cast<std::uint32_t>(std::min<std::uint64_t>(target, free_for(row)));
  row.lent = std::max(row.lent, row.share);
}

Result<ClientRow> ClientShares::enter(const ClientClaim& claim, Nanos now) {
  if (!is_name(claim.name))
    return refuse(Reason::kOutOfRange, fmt::format("client {}: {}", shown_name(claim.name), kNameAllowed));
  if (claim.weight < 1 || claim.weight > kMaxShareWeight) {
    return refuse(Reason::kOutOfRange, fmt::format("client \"{}\": weight {}: 1 to {} is allowed", claim.name,
                                                   claim.weight, kMaxShareWeight));
  }
  ClientRow* row = nullptr;
  for (auto& [id, one] : clients_) {
    if (one.name == claim.name) row = &one;
  }
  if (row != nullptr && row->incarnation != claim.incarnation) {
    return refuse(
        Reason::kDuplicate,
        fmt::format("client \"{}\": another client has this name, until {} ms after its last sign of life",
                    claim.name, lease_.value / 1'000'000));
  }
  const bool is_new = row == nullptr;
  if (is_new) {
    if (clients_.size() >= kMaxClients) {
      return refuse(Reason::kNoRoom, fmt::format("client \"{}\": there are {} clients, the most that can be",
                                                 claim.name, kMaxClients));
    }
    if (total_ < clients_.size() + 1) {
      return refuse(Reason::kNoRoom,
                    fmt::format("client \"{}\": room for {} requests in all, one for each of {} clients",
                                claim.name, total_, clients_.size() + 1));
    }
    const ClientId id = next_id_++;
    row = &clients_.emplace(id, ClientRow{.id = id, .name = claim.name}).first->second;
  }
  row->incarnation = claim.incarnation;
  const auto ordered = ordered_.find(claim.name);
  row->weight_ordered = ordered != ordered_.end();
  row->weight = row->weight_ordered ? ordered->second : claim.weight;
  // It has not heard the last answer, or registers anew: what it was lent before still counts.
  row->in_use = believed(claim.in_use, is_new ? free_for(*row) : row->lent);
  row->lent = std::max(row->lent, row->in_use);
  row->wanted = std::max(row->wanted, row->in_use);
  row->lease_end = now + lease_;
  grant(*row);
  return *row;
}

Result<void> ClientShares::check_life(ClientId id, std::uint64_t incarnation) const {
  const auto found = clients_.find(id);
  if (found != clients_.end() && found->second.incarnation == incarnation) return {};
  return refuse_unknown(id);
}

Result<std::uint32_t> ClientShares::heartbeat(ClientId id, std::uint32_t in_use, std::uint32_t wanted,
                                              Nanos now) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return refuse_unknown(id);
  if (in_use > kMostRequests || wanted > kMostRequests) {
    return refuse(Reason::kNonsense,
                  fmt::format("client \"{}\": {} requests in flight, {} wanted: at most {} are believed",
                              found->second.name, in_use, wanted, kMostRequests));
  }
  ClientRow& row = found->second;
  row.in_use = believed(in_use, row.lent);
  // It has heard its share, and may work by it until it hears the next.
  row.lent = std::max(row.in_use, row.share);
  row.wanted = wanted;
  row.lease_end = now + lease_;
  grant(row);
  return row.share;
}

Result<void> ClientShares::leave(ClientId id) {
  if (clients_.erase(id) == 0) return refuse(Reason::kUnknown, fmt::format("client id {}: unknown", id));
  return {};
}

Result<void> ClientShares::order_weight(const std::string& name, std::uint32_t weight) {
  if (weight < 1 || weight > kMaxShareWeight) {
    return refuse(Reason::kOutOfRange,
                  fmt::format("client \"{}\": weight {}: 1 to {} is allowed", name, weight, kMaxShareWeight));
  }
  for (auto& [id, row] : clients_) {
    if (row.name != name) continue;
    row.weight = weight;
    row.weight_ordered = true;
    ordered_[name] = weight;
    return {};
  }
  return refuse(Reason::kUnknown, fmt::format("client {}: unknown", shown_name(name)));
}

unsigned ClientShares::expire(Nanos now) {
  return static_cast<unsigned>(
      std::erase_if(clients_, [now](const auto& entry) { return entry.second.lease_end <= now; }));
}

void ClientShares::extend_leases(Nanos by) {
  for (auto& [id, row] : clients_) row.lease_end += by;
}

std::vector<ClientRow> ClientShares::rows() const {
  std::vector<ClientRow> rows;
  for (const auto& [id, row] : clients_) rows.push_back(row);
  return rows;
}

}  // namespace rain::control
