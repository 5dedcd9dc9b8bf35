#include "tools/controller_section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/rack_file.h"
#include "tools/run_rain.h"

namespace rain::tools {
namespace {

using ::testing::HasSubstr;
using testing::ScratchFile;

RackFile read(const std::string& section, const std::string& rest = "[[server]]\n") {
  const ScratchFile file("rack.toml", "[controller]\n" + section + rest);
  RackFile rack = RackFile::read(file.path());
  rack.path = file.folder().string();
  return rack;
}

std::string refusal(const std::string& section) {
  try {
    read(section);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ControllerSection, read__defaults) {
  const RackFile rack = read("");
  ASSERT_TRUE(rack.controller);
  EXPECT_EQ(rack.controller->address.endpoint, Endpoint::v4(127, 0, 0, 1, 9700));
  EXPECT_EQ(rack.controller->lease, seconds(3));
  EXPECT_EQ(rack.controller->state_file, "");
  EXPECT_FALSE(rack.controller->address.tls.used());
}

TEST(ControllerSection, read__absent__no_controller_and_no_room_for_changes) {
  const ScratchFile file("rack.toml", "[[server]]\n");
  const RackFile rack = RackFile::read(file.path());
  EXPECT_FALSE(rack.controller);
  EXPECT_EQ(rack.in_switch.max_workers, 0u);
}

TEST(ControllerSection, read__the_switch_has_room_for_what_may_come) {
  const RackFile rack = read(
      "", "[[server]]\nworkers = 2\nfirst_id = 400\nquota = 2\n[[slice]]\nname = 's'\nqueue_capacity = 50\n");
  EXPECT_EQ(rack.in_switch.max_workers, 402u);
  EXPECT_EQ(rack.in_switch.max_slices, 16u);
  EXPECT_EQ(rack.in_switch.max_queue_capacity, 50u);
  EXPECT_EQ(rack.in_switch.quota, kMaxQuota);
  EXPECT_EQ(read("", "[[server]]\n[switch]\nmax_workers = 8\n").in_switch.max_workers, 8u);
}

TEST(ControllerSection, read__paths_are_relative_to_the_rack_file) {
  const RackFile rack = read(
      "listen = '10.0.0.1:9700'\nstate_file = 'state.json'\ntls_certificate = 'a.pem'\ntls_key = "
      "'/etc/a.key'\n"
      "tls_authority = '../ca.pem'\ntls_name = 'controller'\n");
  EXPECT_EQ(rack.controller->state_file, rack.path + "/state.json");
  EXPECT_EQ(rack.controller->address.tls.certificate, rack.path + "/a.pem");
  EXPECT_EQ(rack.controller->address.tls.key, "/etc/a.key");
  EXPECT_EQ(rack.controller->address.tls.peer_name, "controller");
}

TEST(ControllerSection, read__bad_input) {
  EXPECT_THAT(refusal("listen = 'x'\n"),
              HasSubstr("rack.toml:2: key 'listen' = \"x\": an address that all processes"));
  EXPECT_THAT(refusal("listen = '0.0.0.0:9700'\n"), HasSubstr("an address that all processes reach"));
  EXPECT_THAT(refusal("listen = '127.0.0.1:0'\n"), HasSubstr("an address that all processes reach"));
  EXPECT_THAT(refusal("listen = '10.0.0.1:9700'\n"),
              HasSubstr("without TLS (tls_certificate, tls_key, tls_authority) only 127.0.0.0/8 and [::1]"));
  EXPECT_THAT(refusal("lease = '1ms'\n"), HasSubstr("key 'lease' = \"1ms\""));
  EXPECT_THAT(refusal("tls_key = 'k'\n"),
              HasSubstr("TLS needs all of tls_certificate, tls_key and tls_authority"));
  EXPECT_THAT(refusal("lese = '1s'\n"), HasSubstr("did you mean 'lease'?"));
}

}  // namespace
}  // namespace rain::tools
