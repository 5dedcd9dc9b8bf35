#include "control/rpc/admin_client.h"

#include "control/rpc/channel.h"
#include "control/rpc/credentials.h"
#include "control/rpc/messages.h"
#include "rain/v1/control.grpc.pb.h"

namespace rain::control {
namespace {

void write(const DrainOrder& order, v1::ChangeRequest& out) {
  out.mutable_drain_worker()->set_worker(order.worker.value);
  out.mutable_drain_worker()->set_force(order.force);
}
void write(const RemoveOrder& order, v1::ChangeRequest& out) {
  out.mutable_remove_worker()->set_worker(order.worker.value);
  out.mutable_remove_worker()->set_force(order.force);
}
void write(const ResumeOrder& order, v1::ChangeRequest& out) {
  out.mutable_resume_worker()->set_worker(order.worker.value);
}
void write(const MoveOrder& order, v1::ChangeRequest& out) {
  out.mutable_move_worker()->set_worker(order.worker.value);
  out.mutable_move_worker()->set_slice(order.slice);
  out.mutable_move_worker()->set_force(order.force);
}
void write(const QuotaOrder& order, v1::ChangeRequest& out) {
  out.mutable_set_quota()->set_worker(order.worker.value);
  out.mutable_set_quota()->set_quota(order.quota);
}
void write(const AddSliceOrder& order, v1::ChangeRequest& out) {
  *out.mutable_add_slice()->mutable_slice() = to_message(order.slice);
}
void write(const RemoveSliceOrder& order, v1::ChangeRequest& out) {
  out.mutable_remove_slice()->set_name(order.name);
}
void write(const SetSliceOrder& order, v1::ChangeRequest& out) {
  v1::SetSlice& change = *out.mutable_set_slice();
  change.set_name(order.name);
  if (order.patch.queue_capacity) change.set_queue_capacity(*order.patch.queue_capacity);
  if (order.patch.spill) change.set_spill(*order.patch.spill);
  change.set_default_spill(order.patch.default_spill);
  if (order.patch.drain) change.set_drain(*order.patch.drain);
}
void write(const MasterOrder& order, v1::ChangeRequest& out) {
  out.mutable_set_master()->set_slice(order.slice);
  out.mutable_set_master()->set_worker(order.worker.value);
}
void write(const AddTypeOrder& order, v1::ChangeRequest& out) {
  out.mutable_add_type()->set_type(order.type.value);
  out.mutable_add_type()->set_slice(order.slice);
  out.mutable_add_type()->set_move(order.move);
}
void write(const RemoveTypeOrder& order, v1::ChangeRequest& out) {
  out.mutable_remove_type()->set_type(order.type.value);
}
void write(const WeightOrder& order, v1::ChangeRequest& out) {
  out.mutable_set_weight()->set_client(order.client);
  out.mutable_set_weight()->set_weight(order.weight);
}

Result<RackStatus> from_message(const v1::Status& message) {
  RackStatus status{.instance = message.instance(), .version = message.version()};
  for (const v1::Slice& one : message.slices()) {
    auto row = control::from_message(one);
    if (!row) return tl::unexpected(row.error());
    status.slices.push_back(std::move(*row));
  }
  for (const v1::TaskType& one : message.types()) {
    auto row = control::from_message(one);
    if (!row) return tl::unexpected(row.error());
    status.types.push_back(*row);
  }
  for (const v1::WorkerStatus& one : message.workers()) {
    auto row = control::from_message(one.row());
    if (!row) return tl::unexpected(row.error());
    WorkerStatus& worker = status.workers.emplace_back();
    worker.row = std::move(*row);
    if (!one.reported()) continue;
    const auto report = control::from_message(one.report());
    if (!report) return tl::unexpected(report.error());
    worker.report = *report;
  }
  for (const v1::ServerStatus& one : message.servers()) {
    ServerStatus& server = status.servers.emplace_back();
    server.name = one.name();
    server.attached = one.attached();
    server.lease_left = milliseconds(one.lease_left_ms());
  }
  for (const v1::SwitchStatus& one : message.switches()) {
    SwitchRow& row = status.switches.emplace_back();
    row.name = one.name();
    row.boot_id = {one.boot_id()};
    row.attached = one.attached();
    row.version = one.version();
    row.refusal = one.refusal();
  }
  for (const v1::ClientStatus& one : message.clients()) {
    ClientStatus& client = status.clients.emplace_back();
    client.row.id = one.id();
    client.row.name = one.name();
    client.row.weight = one.weight();
    client.row.share = one.share();
    client.row.in_use = one.in_use();
    client.row.wanted = one.wanted();
    client.lease_left = milliseconds(one.lease_left_ms());
  }
  status.room = message.room();
  status.warnings = {message.warnings().begin(), message.warnings().end()};
  status.refusals = {message.refusals().begin(), message.refusals().end()};
  status.clock_jumps = message.clock_jumps();
  return status;
}

class Client final : public AdminClient {
 public:
  explicit Client(const ControllerAddress& controller)
      : controller_(controller), stub_(v1::Admin::NewStub(open_channel(controller))) {}

  tl::expected<RackStatus, CallProblem> status(Nanos limit) override {
    grpc::ClientContext context;
    set_time_limit(context, limit);
    v1::Status reply;
    if (const grpc::Status status = stub_->GetStatus(&context, {}, &reply); !status.ok())
      return tl::unexpected(problem(status));
    auto status = from_message(reply);
    if (!status) return tl::unexpected(CallProblem{false, "the controller's status: " + status.error().text});
    return std::move(*status);
  }

  tl::expected<OrderDone, CallProblem> order(const Order& order, Version if_version, Nanos limit) override {
    grpc::ClientContext context;
    set_time_limit(context, limit);
    v1::ChangeRequest request;
    request.set_if_version(if_version);
    std::visit([&request](const auto& one) { write(one, request); }, order);
    v1::ChangeReply reply;
    if (const grpc::Status status = stub_->Change(&context, request, &reply); !status.ok())
      return tl::unexpected(problem(status));
    return OrderDone{reply.version(), reply.note()};
  }

 private:
  CallProblem problem(const grpc::Status& status) const {
    using enum grpc::StatusCode;
    const grpc::StatusCode code = status.error_code();
    return {code == NOT_FOUND || code == INVALID_ARGUMENT || code == ALREADY_EXISTS,
            problem_text(controller_, status)};
  }

  ControllerAddress controller_;
  std::unique_ptr<v1::Admin::Stub> stub_;
};

}  // namespace

tl::expected<std::unique_ptr<AdminClient>, std::string> AdminClient::open(
    const ControllerAddress& controller) {
  if (auto problem = security_problem(controller, unix_seconds_now()); !problem.empty())
    return tl::unexpected(problem);
  return std::make_unique<Client>(controller);
}

}  // namespace rain::control
