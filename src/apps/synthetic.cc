#include "apps/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/duration_text.h"

namespace rain::apps {
namespace {

class Synthetic final : public App {
 public:
  explicit Synthetic(Nanos limit) : limit_(limit) {}

  std::string_view name() const override { return "synthetic"; }
  workload::Quantity quantity() const override { return workload::Quantity::kTime; }
  std::string_view default_classes() const override { return "task:1:exp:10us"; }

  Result<void> adopt_classes(std::vector<workload::ClassSpec>& classes) const override {
    for (workload::ClassSpec& one : classes) one.type = one.type.value_or(TaskType{});
    return {};
  }

  RequestBuilder make_builder(std::vector<workload::ClassSpec>, std::uint64_t) const override {
    return [limit = limit_](const workload::Request& request, std::span<std::byte> out) {
      return write_synthetic(std::min(request.service(), limit), out);
    };
  }

  std::string reply_error(Payload reply) const override { return status_error(reply, kSyntheticReplyBytes); }

  Result<void> prepare(const Progress&) override { return {}; }
  Handler make_handler() override {
    return [limit = limit_](const Task& task, ReplyBuffer& reply) {
      serve_synthetic(task.payload, limit, monotonic_now, reply);
    };
  }

 private:
  Nanos limit_;
};

}  // namespace

void reply_synthetic(const SyntheticTask& task, Nanos limit, ReplyBuffer& reply) {
  if (task.good) {
    append_status(reply, ReplyStatus::kOk);
    std::array<std::byte, kSyntheticRequestBytes> field;
    reply.append(write_synthetic(task.service, field));
    return;
  }
  std::array<char, 128> text;
  const auto end =
      fmt::format_to_n(text.data(), text.size(),
                       "synthetic: a request is 8 bytes, a service time in ns, at most {}", limit.value);
  refuse(reply, ReplyStatus::kBadRequest, {text.data(), std::min(end.size, text.size())});
}

std::unique_ptr<App> make_synthetic(Nanos limit) { return std::make_unique<Synthetic>(limit); }

}  // namespace rain::apps
