#include "sim/ideal_rack.h"

#include <cstdint>
#include <utility>

#include "sim/engine.h"
#include "sim/measurement.h"
#include "sim/open_loop_client.h"
#include "sim/request_pool.h"

namespace rain::sim {
namespace {

class IdealRack {
 public:
  IdealRack(const RackSpec& spec, workload::Workload workload)
      : request_leg_(spec.calibration.to_registers()),
        reply_leg_(spec.calibration.to_registers() + spec.calibration.from_registers()),
        queue_capacity_(spec.queue_capacity),
        idle_(spec.workers),
        pool_(spec.queue_capacity + spec.workers + kOnTheWire),
        client_(spec, std::move(workload)),
        measurement_(spec) {}

  Result run() {
    send_next_request();
    Event event{};
    while ((sending_ || measurement_.in_flight() > 0) && engine_.pop(event)) handle(event);
    return measurement_.finish(engine_.processed(), pool_.high_water(), engine_.now());
  }

 private:
  static constexpr std::uint32_t kOnTheWire = 1u << 20;
  enum class Kind : std::uint32_t { kRequest, kServiceEnd, kReply, kDrop };
  struct Event {
    Kind kind;
    RequestIndex request;
  };
  enum Lane : unsigned { kRequests, kReplies, kLaneCount };

  void send_next_request() {
    const RequestIndex index = pool_.take();
    Request& request = pool_[index];
    sending_ = client_.next(request);
    if (!sending_) return pool_.give_back(index);
    engine_.schedule(kRequests, request.at + request_leg_, {Kind::kRequest, index});
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Kind::kRequest:
        return arrive(event.request);
      case Kind::kServiceEnd:
        engine_.schedule(kReplies, engine_.now() + reply_leg_, {Kind::kReply, event.request});
        return free_worker();
      case Kind::kReply:
        measurement_.on_completed(pool_[event.request], engine_.now());
        return pool_.give_back(event.request);
      case Kind::kDrop:
        measurement_.on_dropped(pool_[event.request], DropReason::kQueueFull);
        return pool_.give_back(event.request);
    }
  }

  void arrive(RequestIndex index) {
    Request& request = pool_[index];
    measurement_.on_sent(request.at);
    request.in_switch = engine_.now();
    request.in_worker = {};
    if (idle_ > 0) {
      --idle_;
      serve(index);
    } else if (waiting_ == queue_capacity_) {
      engine_.schedule(kReplies, engine_.now() + request_leg_, {Kind::kDrop, index});
    } else {
      (waiting_++ == 0 ? first_ : pool_[last_].next) = index;
      last_ = index;
    }
    send_next_request();
  }

  void free_worker() {
    if (waiting_ == 0) {
      ++idle_;
      return;
    }
    const RequestIndex index = first_;
    first_ = pool_[index].next;
    --waiting_;
    serve(index);
  }

  void serve(RequestIndex index) {
    Request& request = pool_[index];
    request.in_switch = engine_.now() - request.in_switch;
    request.queue_length = dataplane::saturate_to_u16(waiting_);
    engine_.schedule(engine_.now() + request.service, {Kind::kServiceEnd, index});
  }

  Nanos request_leg_, reply_leg_;
  std::uint32_t queue_capacity_;
  std::uint32_t idle_;
  std::uint32_t waiting_ = 0;
  RequestIndex first_ = kNoRequest;
  RequestIndex last_ = kNoRequest;
  Engine<Event, kLaneCount> engine_;
  RequestPool pool_;
  OpenLoopClient client_;
  Measurement measurement_;
  bool sending_ = true;
};

}  // namespace

Result run_ideal(const RackSpec& spec, workload::Workload workload) {
  return IdealRack(spec, std::move(workload)).run();
}

}  // namespace rain::sim
