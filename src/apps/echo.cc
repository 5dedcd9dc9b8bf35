#include "apps/echo.h"

#include <algorithm>

#include "base/prng.h"

namespace rain::apps {
namespace {

class Echo final : public App {
 public:
  std::string_view name() const override { return "echo"; }
  workload::Quantity quantity() const override { return workload::Quantity::kCount; }
  std::string_view default_classes() const override { return "echo:1:const:8"; }

  Result<void> adopt_classes(std::vector<workload::ClassSpec>& classes) const override {
    for (workload::ClassSpec& one : classes) one.type = one.type.value_or(TaskType{});
    return {};
  }

  RequestBuilder make_builder(std::vector<workload::ClassSpec>, std::uint64_t seed) const override {
    return
        [random = Prng(seed)](const workload::Request& request, std::span<std::byte> out) mutable -> Payload {
          const std::size_t size = std::min(static_cast<std::size_t>(request.demand), kMaxMessageBytes);
          const std::uint64_t bits = random.next();
          for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(bits >> (8 * (i % 8)));
          return out.first(size);
        };
  }

  std::string reply_error(Payload) const override { return {}; }

  Result<void> prepare(const Progress&) override { return {}; }
  Handler make_handler() override {
    return [](const Task& task, ReplyBuffer& reply) { reply.append(task.payload); };
  }
};

}  // namespace

std::unique_ptr<App> make_echo() { return std::make_unique<Echo>(); }

}  // namespace rain::apps
