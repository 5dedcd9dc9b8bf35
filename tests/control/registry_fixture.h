// A small rack in a registry, for tests: slices "a" (types 1 and 2) and "b" (all others), servers of two workers.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "control/registry.h"

namespace rain::control::testing {

inline RegistryOptions options(std::uint64_t instance = 7) {
  return {.instance = instance, .lease = seconds(3), .draw_key = [key = std::uint32_t{100}]() mutable {
            return key++;
          }};
}

inline SliceRow slice(const std::string& name, bool other_types = false, unsigned group = 0) {
  SliceRow row;
  row.name = name;
  row.other_types = other_types;
  row.queue_capacity = 1000;
  row.group = group;
  return row;
}

inline Endpoint address(unsigned worker) {
  return Endpoint::v4(10, 0, 0, 1, static_cast<std::uint16_t>(9100 + worker));
}

inline WorkerClaim worker(std::uint16_t id, const std::string& slice_name = "a") {
  WorkerClaim claim;
  claim.id = {id};
  claim.slice = slice_name;
  claim.address = address(id);
  claim.quota = 4;
  return claim;
}

inline ServerClaim server(const std::string& name, std::vector<WorkerClaim> workers,
                          std::uint64_t incarnation = 1) {
  return {.name = name, .incarnation = incarnation, .workers = std::move(workers)};
}

class RegistryTest : public ::testing::Test {
 protected:
  explicit RegistryTest(RegistryOptions of = options()) : registry_(std::move(of)) {
    EXPECT_TRUE(registry_.add_slice(slice("a")));
    EXPECT_TRUE(registry_.add_slice(slice("b", true)));
    EXPECT_TRUE(registry_.add_type({1}, "a", false));
    EXPECT_TRUE(registry_.add_type({2}, "a", false));
  }

  std::uint64_t enter(const ServerClaim& claim) {
    const auto session = registry_.enter(claim, now_);
    EXPECT_TRUE(session) << session.error().text;
    return session.value_or(0);
  }
  WorkerRow row(std::uint16_t id) const {
    for (const WorkerRow& one : registry_.workers()) {
      if (one.id == WorkerId{id}) return one;
    }
    ADD_FAILURE() << "no worker " << id;
    return {};
  }
  /// "s" with workers 0 and 1 in slice "a", "t" with 2 and 3 in "b". The session of "t".
  std::uint64_t two_servers() {
    enter(server("s", {worker(0), worker(1)}));
    return enter(server("t", {worker(2, "b"), worker(3, "b")}));
  }
  static WorkerReport report(std::uint16_t id) {
    WorkerReport one;
    one.id = {id};
    one.quota = 4;
    return one;
  }
  /// Renews everybody's lease and lets time pass.
  void pass(Nanos time) {
    now_ += time;
    EXPECT_TRUE(registry_.tick(now_));
  }

  Registry registry_;
  Nanos now_ = seconds(1000);
};

template <typename T>
void expect_refused(const Result<T>& result, Reason reason, const std::string& text) {
  ASSERT_FALSE(result.has_value()) << text;
  EXPECT_STREQ(reason_name(result.error().reason), reason_name(reason));
  EXPECT_THAT(result.error().text, ::testing::HasSubstr(text));
}

}  // namespace rain::control::testing
