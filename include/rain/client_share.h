// A client's share of the rack, from the rack's controller: for racks that have one ([controller] of a rack file).
//
//   auto client = rain::Client::open({.switch_address = "10.0.0.1:9000"}).value();
//   auto share = rain::ClientShare::open(client, {.controller_address = "127.0.0.1:9700"}).value();
//
// From then on the client has its part of the rack's room, by weight; what other clients do not use is lent to it, and
// what it does not use to others. While the controller is away the share stays as it is; until the controller has first
// spoken it is what set_share() said. Needs the library rain::client_share, which brings gRPC; rain::client does not.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rain/client.h"

namespace rain {

struct ClientShareOptions {
  std::string controller_address =
      "127.0.0.1:9700";  ///< "host:port", numeric; outside of this machine with TLS
  /// PEM files, all three or none: this machine's certificate, its key, the authority that signed the controller's.
  std::string tls_certificate{};
  std::string tls_key{};
  std::string tls_authority{};
  std::string tls_name{};  ///< the name in the controller's certificate, where that is not its address
  std::string name{};   ///< of the client, unique in the rack; empty: made of the host's name and the process
  unsigned weight = 1;  ///< 1..1000, until `rain ctl weight` says otherwise
  /// Hears, on a thread of the library, one line when the controller is reached, lost or refuses, each once.
  std::function<void(const std::string&)> on_note{};
};

class ClientShare {
 public:
  /// Attaches, and does not wait for the controller. `client` must outlive what is returned and stay where it is; it may
  /// have one at a time. Errors: kBadOption.
  static Expected<ClientShare> open(Client& client, const ClientShareOptions& options);
  ClientShare(ClientShare&&) noexcept;
  /// None: the one that is replaced would take the client's share away after the new one has brought it.
  ClientShare& operator=(ClientShare&&) = delete;
  /// Gives the share back to the rack, in at most two seconds: the client has none then, until set_share().
  ~ClientShare();

 private:
  struct Impl;
  explicit ClientShare(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rain
