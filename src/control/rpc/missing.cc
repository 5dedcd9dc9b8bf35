// Everything of this folder in a build without gRPC: it says so.
#include "control/rpc/admin_client.h"
#include "control/rpc/client_link.h"
#include "control/rpc/controller_server.h"
#include "control/rpc/server_link.h"
#include "control/rpc/state_file.h"
#include "control/rpc/switch_link.h"

namespace rain::control {
namespace {

constexpr const char* kMissing =
    "this build has no controller and no links to one: gRPC and protobuf (libgrpc++-dev, "
    "protobuf-compiler-grpc) were "
    "not there when it was made";

}  // namespace

struct ControllerServer::Services {};

ControllerServer::~ControllerServer() = default;

tl::expected<std::unique_ptr<ControllerServer>, std::string> ControllerServer::start(
    Controller&, const ControllerAddress&) {
  return tl::unexpected(kMissing);
}

tl::expected<std::unique_ptr<SwitchLink>, std::string> SwitchLink::open(const SwitchLinkOptions&,
                                                                        SwitchLinkHooks) {
  return tl::unexpected(kMissing);
}

tl::expected<std::unique_ptr<ServerLink>, std::string> ServerLink::open(const ServerLinkOptions&,
                                                                        ServerLinkHooks) {
  return tl::unexpected(kMissing);
}

tl::expected<std::unique_ptr<ClientLink>, std::string> ClientLink::open(const ClientLinkOptions&,
                                                                        ClientLinkHooks) {
  return tl::unexpected(kMissing);
}

tl::expected<std::unique_ptr<AdminClient>, std::string> AdminClient::open(const ControllerAddress&) {
  return tl::unexpected(kMissing);
}

tl::expected<std::optional<SavedState>, std::string> read_state_file(const std::string&) {
  return tl::unexpected(kMissing);
}

std::string write_state_file(const std::string&, const SavedState&) { return kMissing; }

std::string state_file_problem(const std::string&) { return kMissing; }

}  // namespace rain::control
