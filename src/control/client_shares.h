// The clients of a rack and what each may have in flight. A pure state machine: events with their time in, shares out.
//
// A share is raised only out of what no other client holds: while a lender's wish is served, the borrower gives back
// with its next heartbeat, says with the one after that that it has, and only then is there something to give. So the
// shares never add up to more than Q_max, but for the moments after Q_max itself has fallen, after a controller has lost
// its memory, and while the rack still serves what a client that died or left had sent. A client that stops renewing keeps
// its share until its lease ends, since its requests may still be in flight.
//
// What a client says that it has in flight is believed as far as it can be: up to what it was lent, or, of one that is not
// known (it may come back to a restarted controller), up to what nobody else holds. So none can take from the others by a
// number. What is more is cut, and counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "control/refusal.h"
#include "control/shares.h"

namespace rain::control {

using ClientId = std::uint32_t;

struct ClientClaim {
  std::string name{};             ///< unique in the rack
  std::uint64_t incarnation = 0;  ///< differs for each life of a client
  std::uint32_t weight = 1;       ///< 1..kMaxShareWeight; an operator's order wins
  std::uint32_t in_use = 0;  ///< requests in flight now: not 0 when it comes back to a restarted controller
};

/// What a client says of itself, or an operator reads.
struct ClientRow {
  ClientId id = 0;
  std::string name{};
  std::uint64_t incarnation = 0;
  std::uint32_t weight = 1;
  bool weight_ordered = false;  ///< by an operator
  std::uint32_t share = 0;      ///< as last told
  std::uint32_t in_use = 0;     ///< as last reported
  std::uint32_t wanted = 0;
  std::uint32_t lent = 0;  ///< the most that it can have in flight until its next word
  Nanos lease_end{};
};

class ClientShares {
 public:
  explicit ClientShares(Nanos lease) : lease_(lease) {}

  /// Room in the rack: queue capacity and quotas.
  void set_total(std::uint32_t total) { total_ = total; }
  std::uint32_t total() const { return total_; }

  /// A new client, or one that comes back. Its row, with its share.
  Result<ClientRow> enter(const ClientClaim& claim, Nanos now);
  /// Refused unless the id is this client's: it may have it from a controller that is no more.
  Result<void> check_life(ClientId id, std::uint64_t incarnation) const;
  /// Renews the lease; the new share.
  Result<std::uint32_t> heartbeat(ClientId id, std::uint32_t in_use, std::uint32_t wanted, Nanos now);
  Result<void> leave(ClientId id);
  /// Weights outlive their clients.
  Result<void> order_weight(const std::string& name, std::uint32_t weight);
  void restore_weights(std::map<std::string, std::uint32_t> ordered) { ordered_ = std::move(ordered); }
  /// Removes clients whose leases have ended. Returns how many.
  unsigned expire(Nanos now);
  /// All leases end that much later.
  void extend_leases(Nanos by);

  std::vector<ClientRow> rows() const;
  const std::map<std::string, std::uint32_t>& ordered_weights() const { return ordered_; }
  /// What is promised, and what was promised and is still in use.
  std::uint64_t committed() const;
  /// Reports of more in flight than there can be.
  std::uint64_t overstated() const { return overstated_; }

 private:
  void grant(ClientRow& row);
  std::uint64_t free_for(const ClientRow& row) const;
  std::uint32_t believed(std::uint64_t in_use, std::uint64_t most);

  Nanos lease_;
  std::uint32_t total_ = 0;
  ClientId next_id_ = 1;
  std::uint64_t overstated_ = 0;
  std::map<ClientId, ClientRow> clients_;
  std::map<std::string, std::uint32_t> ordered_;
};

}  // namespace rain::control
