#include "control/rpc/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/assert.h"
#include "base/endpoint_text.h"
#include "base/utf8.h"
#include "control/rpc/credentials.h"

namespace rain::control {
namespace {

constexpr int kFirstPauseMs = 100;
constexpr int kLongestPauseMs = 1000;
/// How long a connection may take to come up; by its name in the library one would think that it is a pause.
constexpr int kConnectLimitMs = 5000;
/// A peer that is silent is asked after that long, and given that long to answer.
constexpr int kKeepaliveMs = 2000;

/// What the library says of a failed handshake names nothing that a user could change.
std::string handshake_problem(const ControllerAddress& address, std::string text) {
  const auto says = [&text](std::string_view words) { return text.find(words) != text.npos; };
  const bool was_connecting = says("failed to connect");
  if (was_connecting && says("certificate verify failed"))
    return fmt::format("its certificate is not of the authority {}", address.tls.authority);
  if (!was_connecting || !(says("Socket closed") || says("Connection reset"))) return text;
  if (!address.tls.used())
    return "it ended the connection at once: it may want TLS (tls_certificate, tls_key, tls_authority)";
  return fmt::format("it ended the connection while certificates were checked: {} must be of its authority",
                     address.tls.certificate);
}

}  // namespace

std::shared_ptr<grpc::Channel> open_channel(const ControllerAddress& address) {
  silence_library();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstPauseMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectLimitMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestPauseMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // each link has its own connection
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (address.tls.used()) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = read_pem(address.tls.authority).value_or("");
    options.pem_cert_chain = read_pem(address.tls.certificate).value_or("");
    options.pem_private_key = read_pem(address.tls.key).value_or("");
    credentials = grpc::SslCredentials(options);
    if (!address.tls.peer_name.empty()) arguments.SetSslTargetNameOverride(address.tls.peer_name);
  }
  return grpc::CreateCustomChannel(format_endpoint(address.endpoint), credentials, arguments);
}

void set_time_limit(grpc::ClientContext& context, Nanos limit) {
  context.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(limit.value, GPR_TIMESPAN)));
}

std::string problem_text(const ControllerAddress& address, const grpc::Status& status) {
  std::string text = one_line(status.error_message(), std::string::npos);
  if (!is_unreachable(status)) return text;
  return fmt::format("the controller at {} cannot be reached: {}", format_endpoint(address.endpoint),
                     handshake_problem(address, std::move(text)));
}

LinkThread::LinkThread(Attempt attempt) : attempt_(std::move(attempt)), thread_([this] { run(); }) {}

void LinkThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
    if (context_ != nullptr) context_->TryCancel();
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LinkThread::run() {
  int pause_ms = kFirstPauseMs;
  while (!stopping_.load()) {
    grpc::ClientContext context;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_.load()) return;
      context_ = &context;
    }
    const bool told = attempt_(context, stopping_);
    std::unique_lock lock(mutex_);
    context_ = nullptr;
    pause_ms = told ? kFirstPauseMs : std::min(pause_ms * 2, kLongestPauseMs);
    wake_.wait_for(lock, std::chrono::milliseconds(pause_ms), [this] { return stopping_.load(); });
  }
}

}  // namespace rain::control
