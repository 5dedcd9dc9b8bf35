// Serialisation, and the calibration as the rack sees it.
#include "sim/link.h"

#include <gtest/gtest.h>

#include "sim/frames.h"

namespace rain::sim {
namespace {

TEST(Link, send__takes_time_by_the_byte_rounded_up) {
  Link link(100);  // 12.5 bytes a nanosecond
  EXPECT_EQ(link.send(Nanos{1'000}, 125), Nanos{1'010});
  EXPECT_EQ(link.send(Nanos{2'000}, 126), Nanos{2'011});
  Link slow(1);
  EXPECT_EQ(slow.send(Nanos{0}, 1'500), Nanos{12'000});
}

TEST(Link, send__waits_for_the_frame_before_it) {
  Link link(10);
  EXPECT_EQ(link.send(Nanos{0}, 125), Nanos{100});
  EXPECT_EQ(link.send(Nanos{50}, 125), Nanos{200});
  EXPECT_EQ(link.backlog(Nanos{150}), Nanos{50});
  EXPECT_EQ(link.backlog(Nanos{300}), Nanos{0});
  EXPECT_EQ(link.send(Nanos{500}, 125), Nanos{600});
}

TEST(Link, send__costs_nothing_without_a_bandwidth) {
  Link link(0);
  EXPECT_EQ(link.send(Nanos{7}, 1'500), Nanos{7});
  EXPECT_EQ(link.send(Nanos{7}, 1'500), Nanos{7});
}

TEST(Link, frame_bytes__counts_what_the_wire_carries) {
  EXPECT_EQ(frame_bytes(0), 84u);  // the smallest frame with preamble and gap
  EXPECT_EQ(frame_bytes(1'472), 1'538u);
}

TEST(Link, frame_sizes__follow_the_codec) {
  const FrameSizes sizes;
  EXPECT_EQ(sizes.request(8), frame_bytes(8 + 6 + 8));
  EXPECT_EQ(sizes.request(0), 84u);
  EXPECT_EQ(sizes.dispatch(64), frame_bytes(8 + 6 + 32 + 64));
  EXPECT_EQ(sizes.report(), frame_bytes(8 + 16));
  EXPECT_EQ(sizes.pull(), frame_bytes(8 + 16));
}

}  // namespace
}  // namespace rain::sim
