#include "control/rpc/admin_service.h"

#include "base/clock.h"
#include "control/rpc/messages.h"
#include "control/rpc/status.h"

namespace rain::control {
namespace {

std::int64_t left_ms(Nanos end, Nanos now) { return (end - now).value / 1'000'000; }

/// Calls `then` with a worker id that fits.
template <typename Then>
Result<Done> with_worker(std::uint32_t id, Then then) {
  const auto worker = worker_id(id);
  if (!worker) return tl::unexpected(worker.error());
  return then(*worker);
}

Result<Done> set_slice(Registry& registry, const v1::SetSlice& order) {
  const auto patch = from_message(order);
  if (!patch) return tl::unexpected(patch.error());
  return registry.set_slice(order.name(), *patch);
}

Result<Done> add_slice(Registry& registry, const v1::AddSlice& order) {
  const auto slice = from_message(order.slice());
  if (!slice) return tl::unexpected(slice.error());
  return registry.add_slice(*slice);
}

Result<Done> add_type(Registry& registry, const v1::AddType& order) {
  const auto type = task_type(order.type());
  if (!type) return tl::unexpected(type.error());
  return registry.add_type(*type, order.slice(), order.move());
}

Result<Done> remove_type(Registry& registry, const v1::RemoveType& order) {
  const auto type = task_type(order.type());
  if (!type) return tl::unexpected(type.error());
  return registry.remove_type(*type);
}

Result<Done> carry_out(Registry& registry, const v1::ChangeRequest& request) {
  using Order = v1::ChangeRequest;
  switch (request.change_case()) {
    case Order::kDrainWorker:
      return with_worker(request.drain_worker().worker(),
                         [&](WorkerId id) { return registry.drain(id, request.drain_worker().force()); });
    case Order::kRemoveWorker:
      return with_worker(request.remove_worker().worker(),
                         [&](WorkerId id) { return registry.remove(id, request.remove_worker().force()); });
    case Order::kResumeWorker:
      return with_worker(request.resume_worker().worker(), [&](WorkerId id) { return registry.resume(id); });
    case Order::kMoveWorker:
      return with_worker(request.move_worker().worker(), [&](WorkerId id) {
        return registry.move(id, request.move_worker().slice(), request.move_worker().force());
      });
    case Order::kSetQuota:
      return with_worker(request.set_quota().worker(),
                         [&](WorkerId id) { return registry.set_quota(id, request.set_quota().quota()); });
    case Order::kAddSlice:
      return add_slice(registry, request.add_slice());
    case Order::kRemoveSlice:
      return registry.remove_slice(request.remove_slice().name());
    case Order::kSetSlice:
      return set_slice(registry, request.set_slice());
    case Order::kSetMaster:
      return with_worker(request.set_master().worker(),
                         [&](WorkerId id) { return registry.set_master(request.set_master().slice(), id); });
    case Order::kAddType:
      return add_type(registry, request.add_type());
    case Order::kRemoveType:
      return remove_type(registry, request.remove_type());
    case Order::kSetWeight:
    case Order::CHANGE_NOT_SET:
      break;
  }
  return tl::unexpected(Refusal{Reason::kOutOfRange, "an order that this controller does not know"});
}

void add_rows(const Registry& registry, v1::Status& status, Nanos now) {
  for (const SliceRow& slice : registry.slices()) *status.add_slices() = to_message(slice);
  for (const TypeRow& type : registry.types()) *status.add_types() = to_message(type);
  for (const WorkerRow& worker : registry.workers()) {
    v1::WorkerStatus& one = *status.add_workers();
    *one.mutable_row() = to_message(worker);
    one.mutable_row()->set_token_key(0);  // a secret of switch and worker
    const WorkerReport* report = registry.report_of(worker.id);
    one.set_reported(report != nullptr);
    if (report != nullptr) *one.mutable_report() = to_message(*report);
  }
  for (const ServerRow& server : registry.servers()) {
    v1::ServerStatus& one = *status.add_servers();
    one.set_name(server.name);
    one.set_attached(server.attached);
    one.set_lease_left_ms(left_ms(server.lease_end, now));
  }
}

void add_peers(const ClientShares& clients, const std::map<std::string, SwitchRow>& switches,
               v1::Status& status, Nanos now) {
  for (const ClientRow& client : clients.rows()) {
    v1::ClientStatus& one = *status.add_clients();
    one.set_id(client.id);
    one.set_name(client.name);
    one.set_weight(client.weight);
    one.set_share(client.share);
    one.set_in_use(client.in_use);
    one.set_wanted(client.wanted);
    one.set_lease_left_ms(left_ms(client.lease_end, now));
  }
  for (const auto& [name, row] : switches) {
    v1::SwitchStatus& one = *status.add_switches();
    one.set_name(name);
    one.set_boot_id(row.boot_id.value);
    one.set_attached(row.attached);
    one.set_version(row.version);
    one.set_refusal(row.refusal);
  }
}

}  // namespace

grpc::Status AdminService::GetStatus(grpc::ServerContext*, const v1::StatusRequest*, v1::Status* reply) {
  const Nanos now = monotonic_now();
  return controller_.read([&](const Registry& registry, const ClientShares& clients, const auto& switches) {
    reply->set_instance(registry.instance());
    reply->set_version(registry.version());
    add_rows(registry, *reply, now);
    add_peers(clients, switches, *reply, now);
    reply->set_room(registry.room());
    for (const std::string& line : registry.warnings()) reply->add_warnings(line);
    for (std::size_t i = 0; i < kReasonCount; ++i) {
      if (registry.refusals()[i] != 0)
        (*reply->mutable_refusals())[reason_name(static_cast<Reason>(i))] = registry.refusals()[i];
    }
    if (clients.overstated() != 0)
      (*reply->mutable_refusals())["overstated_in_flight"] = clients.overstated();
    reply->set_clock_jumps(registry.clock_jumps());
    return grpc::Status::OK;
  });
}

Result<Done> AdminService::order_weight(const v1::ChangeRequest& request) {
  return controller_.change_clients([&](ClientShares& clients) -> Result<Done> {
    const auto ordered = clients.order_weight(request.set_weight().client(), request.set_weight().weight());
    if (!ordered) return tl::unexpected(ordered.error());
    return Done{};
  });
}

grpc::Status AdminService::Change(grpc::ServerContext*, const v1::ChangeRequest* request,
                                  v1::ChangeReply* reply) {
  const auto done = request->has_set_weight()
                        ? order_weight(*request)
                        : controller_.change([&](Registry& registry) -> Result<Done> {
                            if (request->if_version() != 0) {
                              auto fresh = registry.check_version(request->if_version());
                              if (!fresh) return tl::unexpected(fresh.error());
                            }
                            return carry_out(registry, *request);
                          });
  if (!done) return to_status(done.error());
  reply->set_note(done->note);
  reply->set_version(controller_.read(
      [](const Registry& registry, const auto&, const auto&) { return registry.version(); }));
  return grpc::Status::OK;
}

}  // namespace rain::control
