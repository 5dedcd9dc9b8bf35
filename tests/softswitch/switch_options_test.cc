#include "softswitch/switch_options.h"

#include <gtest/gtest.h>

#include <functional>

namespace rain::softswitch {
namespace {

SwitchOptions valid() {
  SwitchOptions options;
  options.slices = {{.name = "fast", .id = {0}, .task_types = {TaskType{1}, TaskType{2}}},
                    {.name = "rest", .id = {5}, .queue_capacity = 8, .group = 1}};
  options.workers = {{.id = {0}, .slice = {0}, .address = Endpoint::v4(127, 0, 0, 1, 9100)},
                     {.id = {7}, .slice = {5}, .address = Endpoint::v4(127, 0, 0, 1, 9101)}};
  return options;
}

TEST(SwitchOptions, validate__accepts_a_rack) {
  const auto result = valid().validate();
  EXPECT_TRUE(result.has_value()) << result.error();
}

TEST(SwitchOptions, validate__accepts_the_extremes) {
  SwitchOptions options = valid();
  options.quota = 8;
  options.hold_slots = 0;
  options.drain_limit = {};
  options.slices[0].queue_capacity = 1;
  options.slices[0].spill = 1;
  options.slices[1].queue_capacity = dataplane::kMaxQueueCapacity;
  options.workers[0].id = {1023};
  options.workers[1].address = options.workers[0].address;  // logical workers share a socket
  EXPECT_TRUE(options.validate().has_value());
}

TEST(SwitchOptions, validate__accepts_a_slice_without_workers) {
  SwitchOptions options = valid();
  options.workers.clear();
  EXPECT_TRUE(options.validate().has_value());
}

TEST(SwitchOptions, validate__max_slices_is_of_each_thread) {
  SwitchOptions options = valid();
  options.max_slices = 1;
  ASSERT_NE(options.slices[0].group, options.slices[1].group);
  EXPECT_TRUE(options.validate().has_value());
}

struct Case {
  const char* name;
  std::function<void(SwitchOptions&)> spoil;
  const char* message;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class BadSwitchOptions : public testing::TestWithParam<Case> {};

TEST_P(BadSwitchOptions, validate__says_key_value_and_what_is_allowed) {
  SwitchOptions options = valid();
  GetParam().spoil(options);
  const auto result = options.validate();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error(), GetParam().message);
}

const Case kCases[] = {
    {"program", [](auto& o) { o.program = "fifo"; },
     "program = \"fifo\": one of rain, rain-paper, racksched, pallas, random, round-robin, jsq is allowed"},
    {"program_of_the_simulator", [](auto& o) { o.program = "draconis"; },
     "program = \"draconis\": one of rain, rain-paper, racksched, pallas, random, round-robin, jsq is "
     "allowed"},
    {"quota_0", [](auto& o) { o.quota = 0; }, "quota is 0; allowed: 1..8"},
    {"quota_9", [](auto& o) { o.quota = 9; }, "quota is 9; allowed: 1..8"},
    {"hold_slots", [](auto& o) { o.hold_slots = 1048577; }, "hold_slots is 1048577; allowed: 0..1048576"},
    {"receive_buffer", [](auto& o) { o.receive_buffer_bytes = 1073741825; },
     "receive_buffer_bytes is 1073741825; allowed: 0..1073741824"},
    {"send_buffer", [](auto& o) { o.send_buffer_bytes = UINT64_MAX; },
     "send_buffer_bytes is 18446744073709551615; allowed: 0..1073741824"},
    {"kernel_busy_poll", [](auto& o) { o.kernel_busy_poll = seconds(2); },
     "kernel_busy_poll is 2s; allowed: 0s..1s"},
    {"drain_limit", [](auto& o) { o.drain_limit = Nanos{-1}; }, "drain_limit is -1ns; allowed: 0s..3600s"},
    {"no_slices", [](auto& o) { o.slices.clear(); },
     "slices: none; at least one is needed, or a max_slices for those to come"},
    {"slice_name", [](auto& o) { o.slices[1].name.clear(); }, "slice 5: name = \"\": a name is needed"},
    {"slice_name_twice", [](auto& o) { o.slices[1].name = "fast"; },
     "slice \"fast\": name: another slice has it; names differ"},
    {"slice_id", [](auto& o) { o.slices[1].id = {64}; }, "slice \"rest\": id is 64; allowed: 0..63"},
    {"slice_id_twice", [](auto& o) { o.slices[1].id = {0}; },
     "slice \"rest\": id = 0: another slice has it; ids differ"},
    {"queue_capacity_0", [](auto& o) { o.slices[1].queue_capacity = 0; },
     "slice \"rest\": queue_capacity is 0; allowed: 1..1048576"},
    {"queue_capacity_large", [](auto& o) { o.slices[1].queue_capacity = 1048577; },
     "slice \"rest\": queue_capacity is 1048577; allowed: 1..1048576"},
    {"spill", [](auto& o) { o.slices[1].spill = 9; }, "slice \"rest\": spill is 9; allowed: 0..8"},
    {"type_twice", [](auto& o) { o.slices[1].task_types = {TaskType{2}}; },
     "slice \"rest\": types = 2: slice \"fast\" has it; a type belongs to one slice"},
    {"two_take_the_rest", [](auto& o) { o.slices[0].task_types.clear(); },
     "slice \"rest\": types is empty: slice \"fast\" takes all other types already; one slice may"},
    {"group", [](auto& o) { o.slices[1].group = 16; }, "slice \"rest\": group is 16; allowed: 0..15"},
    {"group_gap", [](auto& o) { o.slices[1].group = 2; },
     "group = 1: no slice has it; groups are numbered from 0 to 2 without gaps"},
    {"max_slices", [](auto& o) { o.max_slices = 1, o.slices[1].group = 0; },
     "2 slices on thread 0: 1 is allowed (max_slices)"},
    {"worker_id", [](auto& o) { o.workers[1].id = {1024}; }, "worker 1024: id is 1024; allowed: 0..1023"},
    {"worker_id_twice", [](auto& o) { o.workers[1].id = {0}; },
     "worker 0: id: another worker has it; ids differ"},
    {"worker_weight", [](auto& o) { o.workers[1].weight = 0; }, "worker 7: weight is 0; allowed: 1..8"},
    {"worker_of_an_unknown_slice", [](auto& o) { o.workers[1].slice = {3}; },
     "worker 7: slice = 3: no slice has this id"},
    {"worker_port", [](auto& o) { o.workers[1].address.port = 0; },
     "worker 7: address = 127.0.0.1:0: port 1 to 65535 is allowed"},
    {"worker_is_the_switch", [](auto& o) { o.workers[1].address = o.listen; },
     "worker 7: address = 127.0.0.1:9000: the switch listens there itself"},
    {"worker_on_ipv6",
     [](auto& o) {
       o.workers[1].address = Endpoint{{0xfd}, 9100};
     },
     "worker 7: address = [fd00::]:9100: an IPv4 address is needed, as the switch listens on 127.0.0.1:9000"},
};

INSTANTIATE_TEST_SUITE_P(Options, BadSwitchOptions, testing::ValuesIn(kCases),
                         [](const auto& one) { return one.param.name; });

TEST(SwitchOptions, spill_of__a_quarter_of_the_slices_workers_by_default) {
  SwitchOptions options = valid();
  options.workers.clear();
  for (std::uint16_t id = 0; id < 40; ++id)
    options.workers.push_back({.id = {id}, .slice = {id < 10 ? SliceId{5} : SliceId{0}}});
  EXPECT_EQ(options.spill_of(options.slices[0]), 7u);
  EXPECT_EQ(options.spill_of(options.slices[1]), 2u);
  options.slices[1].queue_capacity = 1;
  EXPECT_EQ(options.spill_of(options.slices[1]), 1u);
  options.slices[1].spill = 0;
  EXPECT_EQ(options.spill_of(options.slices[1]), 0u);
}

TEST(SwitchOptions, warning__tasks_that_may_starve) {
  SwitchOptions options = valid();
  EXPECT_EQ(options.warning(), "");
  options.slices[1].drain = 0;
  EXPECT_EQ(options.warning(), "") << "spill is 0";
  options.slices[1].spill = 8;
  EXPECT_EQ(options.warning(),
            "slice \"rest\": with drain = 0 newer tasks may overtake the first 8 that wait (spill = 8) for "
            "as long as no "
            "worker is idle; a drain above 0 serves them");
  options.quota = 1;
  EXPECT_EQ(options.warning(), "") << "no spare tokens";
  options.quota = 4;
  options.program = "rain-paper";
  EXPECT_EQ(options.warning(), "") << "another scheduler";
}

TEST(SwitchOptions, group_count__one_more_than_the_last) {
  SwitchOptions options = valid();
  EXPECT_EQ(options.group_count(), 2u);
  options.slices[1].group = 0;
  EXPECT_EQ(options.group_count(), 1u);
}

}  // namespace
}  // namespace rain::softswitch
