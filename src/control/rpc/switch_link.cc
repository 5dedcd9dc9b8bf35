#include "control/rpc/switch_link.h"

#include "control/rpc/channel.h"
#include "control/rpc/credentials.h"
#include "control/rpc/link_notes.h"
#include "control/rpc/messages.h"
#include "control/table_mirror.h"
#include "rain/v1/control.grpc.pb.h"

namespace rain::control {
namespace {

class Link final : public SwitchLink {
 public:
  Link(const SwitchLinkOptions& options, SwitchLinkHooks hooks)
      : options_(options),
        hooks_(std::move(hooks)),
        notes_(hooks_.note),
        thread_([this](auto& context, auto& stopping) { return attach(context, stopping); }) {}

 private:
  using Stream = grpc::ClientReaderWriter<v1::SwitchMessage, v1::Tables>;

  bool attach(grpc::ClientContext& context, const std::atomic<bool>& stopping) {
    // A channel for each attempt: one that has failed would make its own pauses beside ours.
    stub_ = v1::Switches::NewStub(open_channel(options_.controller));
    const auto stream = stub_->Attach(&context);
    v1::SwitchMessage message;
    v1::SwitchHello& hello = *message.mutable_hello();
    hello.set_name(options_.name);
    hello.set_boot_id(options_.boot_id.value);
    if (in_force_) {
      hello.set_instance(mirror_.instance());
      hello.set_version(mirror_.version());
    }
    bool told = false;
    if (stream->Write(message)) {
      v1::Tables tables;
      while (stream->Read(&tables)) {
        if (!told) notes_.attached();
        told = true;
        if (!stream->Write(take(tables))) break;
      }
    }
    const grpc::Status status = stream->Finish();
    if (!stopping.load()) notes_.lost(problem_text(options_.controller, status), is_unreachable(status));
    return told;
  }

  v1::SwitchMessage take(const v1::Tables& tables) {
    v1::SwitchMessage message;
    v1::SwitchAnswer& answer = *message.mutable_answer();
    answer.set_version(tables.version());
    const auto changes = from_message(tables);
    if (!changes) {
      answer.set_refusal(changes.error().text);
      return message;
    }
    mirror_.take(*changes);
    // After a refusal the switch may lack anything: it is told everything.
    const auto orders = in_force_ && !changes->reset ? mirror_.only(*changes) : mirror_.everything();
    const std::string problem = orders.empty() ? "" : hooks_.apply(orders);
    in_force_ = problem.empty();
    answer.set_refusal(problem);
    return message;
  }

  SwitchLinkOptions options_;
  SwitchLinkHooks hooks_;
  LinkNotes notes_;
  std::unique_ptr<v1::Switches::Stub> stub_;
  TableMirror mirror_;
  bool in_force_ = false;  // the switch has what the mirror has
  LinkThread thread_;      // last: ends first
};

}  // namespace

tl::expected<std::unique_ptr<SwitchLink>, std::string> SwitchLink::open(const SwitchLinkOptions& options,
                                                                        SwitchLinkHooks hooks) {
  if (auto problem = security_problem(options.controller, unix_seconds_now()); !problem.empty())
    return tl::unexpected(problem);
  return std::make_unique<Link>(options, std::move(hooks));
}

}  // namespace rain::control
