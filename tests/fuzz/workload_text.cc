// Any text into the parsers of workloads: what they accept makes a workload that keeps its promises, what they refuse gets
// a fair message. The first byte chooses the parser.
#include "fuzz/text_input.h"
#include "workload/workload.h"

namespace rain::fuzz {

namespace {

using namespace rain::workload;

constexpr int kDraws = 8;

void check_distribution(std::string_view text, Quantity quantity) {
  const auto parsed = Distribution::parse(text, quantity);
  if (!parsed) return check_error_message(parsed.error());
  RAIN_ASSERT(parsed->mean() >= 0 && parsed->mean() <= 1.001e11);
  const auto again = Distribution::parse(parsed->text(), quantity);
  RAIN_ASSERT(again.has_value() && again->mean() == parsed->mean());
  const bool time = quantity == Quantity::kTime;
  Prng random(1);
  for (int i = 0; i < kDraws; ++i) {
    const std::int64_t sample = parsed->sample(random);
    RAIN_ASSERT(sample >= (time ? 0 : 1));
    RAIN_ASSERT(sample <= (time ? Distribution::kMaxSampleNs : Distribution::kMaxSampleCount));
  }
}

void check_workload(WorkloadSpec spec) {
  auto made = Workload::make(std::move(spec), 1);
  if (!made) return check_error_message(made.error());
  Nanos before{};
  for (int i = 0; i < kDraws; ++i) {
    const Request request = made->next();
    RAIN_ASSERT(request.at >= before && request.at - before == request.gap);
    RAIN_ASSERT(request.class_index < made->spec().classes.size());
    before = request.at;
  }
}

void check_classes(std::string_view text, Quantity quantity) {
  auto parsed = parse_classes(text, quantity);
  if (!parsed) return check_error_message(parsed.error());
  WorkloadSpec spec = WorkloadSpec::steady(1000, *std::move(parsed));
  RAIN_ASSERT(spec.validate().has_value());
  check_workload(std::move(spec));
}

void check_phases(std::string_view text) {
  auto parsed = parse_phases(text);
  if (!parsed) return check_error_message(parsed.error());
  auto classes = parse_classes("a:0.5:const:1us,b:0.5:const:2us");
  check_workload({.classes = *std::move(classes), .phases = *std::move(parsed)});
}

}  // namespace

void one_input(std::span<const std::byte> input) {
  if (input.empty()) return;
  const std::string_view text = as_text(input.subspan(1));
  switch (static_cast<char>(input[0])) {
    case 'd':
      return check_distribution(text, Quantity::kTime);
    case 'n':
      return check_distribution(text, Quantity::kCount);
    case 'c':
      return check_classes(text, Quantity::kTime);
    case 'k':
      return check_classes(text, Quantity::kCount);
    case 'p':
      return check_phases(text);
    default:
      return;
  }
}

std::vector<Input> seeds() {
  return {as_input("dconst:10us"),
          as_input("dexp:1.5ms"),
          as_input("dbimodal:0.5:10us:100us"),
          as_input("dtrimodal:0.6:5us:0.3:50us:500us"),
          as_input("dlognormal:10us:1.5"),
          as_input("dpareto:100s:1.001"),
          as_input("nexp:500"),
          as_input("cshort@1:0.9:const:10us,long@65535:0.1:exp:100us"),
          as_input("kget:0.9:const:10,scan:0.1:exp:500"),
          as_input("p0s=450k"),
          as_input("p0s=160k,1s=0@0/1,3s=1.6M,1000s=0.001")};
}

}  // namespace rain::fuzz
