// The public ClientShare: a client's link to the controller, around the client that it belongs to.
#include "rain/client_share.h"

#include <utility>

#include "control/rpc/client_link.h"
#include "control/shares.h"
#include "rpc/option_check.h"

namespace rain {

struct ClientShare::Impl {
  explicit Impl(Client& of) : client(of) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (!link) return;
    link->stop();
    client.set_share(0);  // before it is given back: others may be lent it at once
  }

  Client& client;
  std::uint64_t refused = 0;  // of the client, when it was asked last
  std::unique_ptr<control::ClientLink> link;
};

Expected<ClientShare> ClientShare::open(Client& client, const ClientShareOptions& options) {
  const auto endpoint = rpc::check_address("controller_address", options.controller_address, 1);
  if (!endpoint) return tl::unexpected(endpoint.error());
  auto checked = rpc::check_range("weight", options.weight, 1, control::kMaxShareWeight);
  if (!checked) return tl::unexpected(checked.error());
  auto impl = std::make_unique<Impl>(client);
  const auto usage = [&client, at = impl.get()]() -> control::ClientUsage {
    const Client::Usage now = client.usage();
    const std::uint64_t refused = now.refused_by_share - std::exchange(at->refused, now.refused_by_share);
    return control::usage_of({.outstanding = now.outstanding, .refused = refused});
  };
  auto link = control::ClientLink::open({.controller = {*endpoint,
                                                        {.certificate = options.tls_certificate,
                                                         .key = options.tls_key,
                                                         .authority = options.tls_authority,
                                                         .peer_name = options.tls_name}},
                                         .name = options.name,
                                         .weight = options.weight},
                                        {.usage = usage,
                                         .share = [&client](std::uint32_t share) { client.set_share(share); },
                                         .note = options.on_note});
  if (!link) return tl::unexpected(Error{.kind = ErrorKind::kBadOption, .detail = std::move(link.error())});
  impl->link = std::move(*link);
  return ClientShare(std::move(impl));
}

ClientShare::ClientShare(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientShare::ClientShare(ClientShare&&) noexcept = default;
ClientShare::~ClientShare() = default;

}  // namespace rain
