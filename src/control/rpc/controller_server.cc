// See controller_server.h. Each stream has two threads: the call's own reads, a second one writes what is new. Streams are
// few (one of each switch and server) and long, so threads cost less than the states of an asynchronous server.
#include "control/rpc/controller_server.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/endpoint_text.h"
#include "base/utf8.h"
#include "control/names.h"
#include "control/rpc/admin_service.h"
#include "control/rpc/credentials.h"
#include "control/rpc/messages.h"
#include "control/rpc/status.h"

namespace rain::control {
namespace {

constexpr int kKeepaliveMs = 2000;
constexpr std::size_t kMostRefusalsWaiting = 64;
constexpr std::size_t kLongestRefusal = 400;

std::uint32_t to_ms(Nanos time) { return static_cast<std::uint32_t>(time.value / 1'000'000); }

/// The thread that writes a stream. Ends with the scope, however the reader ended.
class Writer {
 public:
  explicit Writer(Controller& controller) : controller_(controller) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    stop_.store(true);
    interrupt();
    if (thread_.joinable()) thread_.join();
  }
  template <typename Body>
  void start(Body body) {
    thread_ = std::thread(std::move(body));
  }

  bool stopping() const { return stop_.load(); }
  /// The body looks after something else than tables.
  void interrupt() {
    interrupted_.store(true);
    controller_.wake();
  }
  Changes wait(const Changes& last) {
    return controller_.wait_for_changes(last.instance, last.version, interrupted_);
  }

 private:
  Controller& controller_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> interrupted_{false};
  std::thread thread_;
};

class SwitchService final : public v1::Switches::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::Tables, v1::SwitchMessage>;

  explicit SwitchService(Controller& controller) : controller_(controller) {}

  grpc::Status Attach(grpc::ServerContext* context, Stream* stream) override {
    v1::SwitchMessage message;
    if (!stream->Read(&message) || !message.has_hello())
      return {grpc::StatusCode::INVALID_ARGUMENT, "a switch begins with a hello"};
    const v1::SwitchHello hello = message.hello();
    if (!is_name(hello.name()))
      return {grpc::StatusCode::INVALID_ARGUMENT, fmt::format("switch: {}", kNameAllowed)};
    const std::uint64_t session = controller_.attach_switch(hello.name(), BootId{hello.boot_id()});
    {
      Writer writer(controller_);
      writer.start([&] {
        push(writer, *stream, hello);
        if (!writer.stopping()) context->TryCancel();  // nobody listens: the reader may end too
      });
      while (stream->Read(&message)) {
        if (!message.has_answer()) continue;
        controller_.answer_switch(hello.name(), session, message.answer().version(),
                                  one_line(message.answer().refusal(), kLongestRefusal));
      }
    }
    controller_.detach_switch(hello.name(), session);
    return grpc::Status::OK;
  }

 private:
  void push(Writer& writer, Stream& stream, const v1::SwitchHello& hello) {
    Changes changes = controller_.changes_since(hello.instance(), hello.version());
    while (stream.Write(to_message(changes))) {
      const Changes sent = std::move(changes);
      do {
        changes = writer.wait(sent);
        if (writer.stopping()) return;
      } while (changes.version == sent.version);
    }
  }

  Controller& controller_;
};

class ServerService final : public v1::Servers::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::ServerOrders, v1::ServerMessage>;

  ServerService(Controller& controller, Nanos lease) : controller_(controller), lease_(lease) {}

  grpc::Status Attach(grpc::ServerContext* context, Stream* stream) override {
    v1::ServerMessage message;
    if (!stream->Read(&message) || !message.has_hello())
      return {grpc::StatusCode::INVALID_ARGUMENT, "a server begins with a hello"};
    const auto claim = from_message(message.hello());
    if (!claim) return to_status(claim.error());
    const auto session =
        controller_.change([&](Registry& registry) { return registry.enter(*claim, monotonic_now()); });
    if (!session) return to_status(session.error());
    grpc::Status end = grpc::Status::OK;
    {
      Refusals refusals;
      Writer writer(controller_);
      writer.start([&] {
        push(writer, *stream, claim->name, refusals);
        if (!writer.stopping()) context->TryCancel();  // nobody listens: the reader may end too
      });
      while (stream->Read(&message)) {
        const auto taken = take(claim->name, *session, message);
        if (!taken && taken.error().reason == Reason::kStale) {
          end = to_status(taken.error());
          break;
        }
        if (!taken) {
          refusals.add(refusal(taken.error().text, message));
          writer.interrupt();
        }
        if (message.has_leave()) break;
      }
    }
    controller_.change([&](Registry& registry) { return registry.detach(claim->name, *session), 0; });
    return end;
  }

 private:
  /// What was refused and not told yet. The oldest are lost when a server does not listen.
  class Refusals {
   public:
    void add(v1::ServerOrders refusal) {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() == kMostRefusalsWaiting) waiting_.pop_front();
      waiting_.push_back(std::move(refusal));
    }
    /// Without text: there is none.
    v1::ServerOrders take() {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) return {};
      v1::ServerOrders refusal = std::move(waiting_.front());
      waiting_.pop_front();
      return refusal;
    }

   private:
    std::mutex mutex_;
    std::deque<v1::ServerOrders> waiting_;
  };

  static v1::ServerOrders refusal(const std::string& text, const v1::ServerMessage& of) {
    v1::ServerOrders message;
    message.set_refusal(text);
    if (of.has_move()) message.set_refused_move(of.move().worker());
    return message;
  }

  Result<void> take(const std::string& server, std::uint64_t session, const v1::ServerMessage& message) {
    return controller_.change([&](Registry& registry) -> Result<void> {
      const Nanos now = monotonic_now();  // with the lock: the registry's time does not go back
      if (message.has_report()) return report(registry, server, session, message.report(), now);
      if (message.has_leave()) {
        if (auto left = registry.leave(server, session, now); !left) return tl::unexpected(left.error());
      }
      if (message.has_move()) {
        const auto worker = worker_id(message.move().worker());
        if (!worker) return tl::unexpected(worker.error());
        const auto moved = registry.request_move(server, session, *worker, message.move().slice(), now);
        if (!moved) return tl::unexpected(moved.error());
      }
      if (message.has_spill()) {
        const v1::SpillRequest& request = message.spill();
        const auto set = registry.request_spill(server, session, request.slice(), request.spill(), now);
        if (!set) return tl::unexpected(set.error());
      }
      return {};
    });
  }

  static Result<void> report(Registry& registry, const std::string& server, std::uint64_t session,
                             const v1::ServerReport& message, Nanos now) {
    std::vector<WorkerReport> reports;
    for (const v1::WorkerReport& one : message.workers()) {
      const auto report = from_message(one);
      if (!report) return tl::unexpected(report.error());
      reports.push_back(*report);
    }
    return registry.report(server, session, reports, now);
  }

  static v1::ServerOrders orders(const Changes& changes, const std::string& server) {
    Changes own = changes;
    std::erase_if(own.workers, [&server](const auto& entry) { return entry.row.server != server; });
    v1::ServerOrders message;
    *message.mutable_tables() = to_message(own);
    return message;
  }

  /// A server always hears all of its rows first: it may have missed that one was taken out.
  void push(Writer& writer, Stream& stream, const std::string& server, Refusals& refusals) {
    Changes changes = controller_.changes_since(0, 0);
    v1::ServerOrders message = orders(changes, server);
    message.set_lease_ms(to_ms(lease_));
    while (stream.Write(message)) {
      message.Clear();
      while (message.refusal().empty() && !message.has_tables()) {
        message = refusals.take();
        if (!message.refusal().empty()) break;
        const Version sent = changes.version;
        changes = writer.wait(changes);
        if (writer.stopping()) return;
        if (changes.version != sent) message = orders(changes, server);
      }
    }
  }

  Controller& controller_;
  Nanos lease_;
};

class ClientService final : public v1::Clients::Service {
 public:
  ClientService(Controller& controller, Nanos lease) : controller_(controller), lease_(lease) {}

  grpc::Status Register(grpc::ServerContext*, const v1::ClientHello* hello, v1::ClientShare* reply) override {
    const auto row = controller_.change_clients([&](ClientShares& clients) {
      return clients.enter({.name = hello->name(),
                            .incarnation = hello->incarnation(),
                            .weight = hello->weight(),
                            .in_use = hello->in_use()},
                           monotonic_now());
    });
    if (!row) return to_status(row.error());
    return answer(row->id, row->share, *reply);
  }
  grpc::Status Heartbeat(grpc::ServerContext*, const v1::ClientHeartbeat* beat,
                         v1::ClientShare* reply) override {
    const auto share = controller_.change_clients([&](ClientShares& clients) -> Result<std::uint32_t> {
      if (auto known = clients.check_life(beat->id(), beat->incarnation()); !known)
        return tl::unexpected(known.error());
      return clients.heartbeat(beat->id(), beat->in_use(), beat->wanted(), monotonic_now());
    });
    if (!share) return to_status(share.error());
    return answer(beat->id(), *share, *reply);
  }
  grpc::Status Leave(grpc::ServerContext*, const v1::ClientLeave* leave, v1::ClientLeft*) override {
    const auto left = controller_.change_clients([&](ClientShares& clients) {
      auto known = clients.check_life(leave->id(), leave->incarnation());
      return known ? clients.leave(leave->id()) : known;
    });
    return left ? grpc::Status::OK : to_status(left.error());
  }

 private:
  grpc::Status answer(ClientId id, std::uint32_t share, v1::ClientShare& reply) const {
    reply.set_id(id);
    reply.set_share(share);
    reply.set_lease_ms(to_ms(lease_));
    return grpc::Status::OK;
  }

  Controller& controller_;
  Nanos lease_;
};

std::shared_ptr<grpc::ServerCredentials> credentials(const TlsFiles& files) {
  if (!files.used()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = read_pem(files.authority).value_or("");
  options.pem_key_cert_pairs.push_back(
      {read_pem(files.key).value_or(""), read_pem(files.certificate).value_or("")});
  return grpc::SslServerCredentials(options);
}

}  // namespace

struct ControllerServer::Services {
  Services(Controller& controller, Nanos lease, Nanos client_lease)
      : switches(controller),
        servers(controller, lease),
        clients(controller, client_lease),
        admin(controller) {}

  SwitchService switches;
  ServerService servers;
  ClientService clients;
  AdminService admin;
  std::unique_ptr<grpc::Server> server;
};

ControllerServer::ControllerServer(std::unique_ptr<Services> services) : services_(std::move(services)) {}

ControllerServer::~ControllerServer() {
  // Streams are cancelled at once; their threads end with them.
  services_->server->Shutdown(gpr_inf_past(GPR_CLOCK_REALTIME));
  services_->server->Wait();
}

tl::expected<std::unique_ptr<ControllerServer>, std::string> ControllerServer::start(
    Controller& controller, const ControllerAddress& listen) {
  if (auto problem = security_problem(listen, unix_seconds_now()); !problem.empty())
    return tl::unexpected(problem);
  silence_library();
  auto services = std::make_unique<Services>(controller, controller.lease(), controller.client_lease());
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(format_endpoint(listen.endpoint), credentials(listen.tls), &port);
  builder.RegisterService(&services->switches);
  builder.RegisterService(&services->servers);
  builder.RegisterService(&services->clients);
  builder.RegisterService(&services->admin);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kKeepaliveMs / 4);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT,
                             0);  // two controllers on one port: the second is refused
  services->server = builder.BuildAndStart();
  if (!services->server || port == 0)
    return tl::unexpected(fmt::format("cannot listen on {}: the address is taken, or none of this machine's",
                                      format_endpoint(listen.endpoint)));
  std::unique_ptr<ControllerServer> server(new ControllerServer(std::move(services)));
  server->local_ = listen.endpoint;
  server->local_.port = static_cast<std::uint16_t>(port);
  return server;
}

}  // namespace rain::control
