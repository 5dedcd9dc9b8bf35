// Traces: what is read is what is replayed, over and over; each malformed file gets its one line.
#include "workload/trace.h"

#include <gtest/gtest.h>

#include <utility>

#include "workload/temporary_file.h"
#include "workload/workload.h"

namespace rain::workload {
namespace {

using namespace rain::literals;

const std::string kHeader = "arrival_us,type,service_us,size_bytes\n";

std::string error_of(const std::string& rows) {
  const TemporaryFile file(kHeader + rows);
  const auto trace = Trace::read(file.path());
  if (trace) return "no error";
  EXPECT_TRUE(trace.error().starts_with(file.path()));
  return trace.error().substr(file.path().size());
}

TEST(trace, read__rows_in_nanoseconds_from_zero) {
  const TemporaryFile file(kHeader + "100,7,10.5,8\n100.25,3,0,0\n104,7,1,1400\n");
  const auto trace = Trace::read(file.path());
  ASSERT_TRUE(trace) << trace.error();
  const Trace& read = **trace;
  ASSERT_EQ(read.rows.size(), 3u);
  EXPECT_EQ(read.rows[0].at, 0_ns);
  EXPECT_EQ(read.rows[1].at, 250_ns);
  EXPECT_EQ(read.rows[2].at, 4_us);
  EXPECT_EQ(read.rows[0].service, 10'500_ns);
  EXPECT_EQ(read.rows[2].size_bytes, 1400);
  ASSERT_EQ(read.types.size(), 2u);
  EXPECT_EQ(read.types[0], TaskType{7});
  EXPECT_EQ(read.rows[1].class_index, 1);
  EXPECT_EQ(read.period, 6_us);
}

TEST(trace, replay__begins_again_after_a_mean_gap) {
  const TemporaryFile file(kHeader + "0,1,10,8\n1,2,30,64\n4,1,20,8\n");
  const auto trace = Trace::read(file.path());
  ASSERT_TRUE(trace) << trace.error();
  auto workload = Workload::make(WorkloadSpec::replay(*trace), 1);
  ASSERT_TRUE(workload) << workload.error();
  const Nanos expected_at[] = {0_us, 1_us, 4_us, 6_us, 7_us, 10_us, 12_us};
  Nanos last{};
  for (const Nanos at : expected_at) {
    const Request request = workload->next();
    EXPECT_EQ(request.at, at);
    EXPECT_EQ(request.gap, at - last);
    const bool second = at == 1_us || at == 7_us;
    EXPECT_EQ(request.class_index, second ? 1 : 0);
    EXPECT_EQ(request.size_bytes, second ? 64 : 8);
    EXPECT_EQ(request.service() == 30_us, second);
    last = at;
  }
}

TEST(trace, replay__classes_describe_the_trace) {
  const TemporaryFile file(kHeader + "0,1,10,8\n1,2,30,64\n4,1,20,8\n");
  const WorkloadSpec spec = WorkloadSpec::replay(Trace::read(file.path()).value());
  ASSERT_EQ(spec.classes.size(), 2u);
  EXPECT_EQ(spec.classes[0].name, "type-1");
  EXPECT_EQ(spec.classes[0].type, TaskType{1});
  EXPECT_DOUBLE_EQ(spec.mean_demand(), 20'000);
  EXPECT_DOUBLE_EQ(spec.phases[0].rate, 500'000);
}

TEST(trace, read__errors) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ": 0 requests in 0 ns (allowed: at least two, not all at once)"},
      {"5,1,10,8\n", ": 1 requests in 0 ns (allowed: at least two, not all at once)"},
      {"5,1,10,8\n5,1,10,8\n", ": 2 requests in 0 ns (allowed: at least two, not all at once)"},
      {"0,1,10\n", ":2: has 3 columns (allowed: 4)"},
      {"0,1,10,8\nx,1,10,8\n", ":3: column 1: arrival_us \"x\" is not a number (allowed: 0 to 86400000000)"},
      {"0,1.5,10,8\n", ":2: column 2: type 1.5 is not whole"},
      {"0,70000,10,8\n", ":2: column 2: type \"70000\" is out of range (allowed: 0 to 65535)"},
      {"0,1,-1,8\n", ":2: column 3: service_us \"-1\" is out of range (allowed: 0 to 100000000)"},
      {"0,1,1,1401\n", ":2: column 4: size_bytes \"1401\" is out of range (allowed: 0 to 1400)"},
      {"0,1,1,0.5\n", ":2: column 4: size_bytes 0.5 is not whole"},
      {"9,1,10,8\n8,1,10,8\n",
       ":3: column 1: arrival_us lies before the row above (allowed: the order of arrival)"},
  };
  for (const auto& [rows, error] : cases) EXPECT_EQ(error_of(rows), error);
  std::string many;
  for (int type = 0; type <= 64; ++type) many += std::to_string(type) + "," + std::to_string(type) + ",1,8\n";
  EXPECT_EQ(error_of(many), ":66: column 2: type 64 is one too many (allowed: 64)");
}

}  // namespace
}  // namespace rain::workload
