// Endpoint: IPv4 is v4-mapped, and only that counts as IPv4.
#include "base/endpoint.h"

#include <gtest/gtest.h>

namespace rain {
namespace {

TEST(endpoint, v4__is_mapped) {
  const Endpoint endpoint = Endpoint::v4(10, 0, 0, 7, 9000);
  const std::array<std::uint8_t, 16> expected = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 7};
  EXPECT_EQ(endpoint.address, expected);
  EXPECT_EQ(endpoint.port, 9000);
  EXPECT_TRUE(endpoint.is_v4());
}

TEST(endpoint, is_v4__every_byte_of_the_prefix_counts) {
  EXPECT_FALSE(Endpoint{}.is_v4());
  for (unsigned i = 0; i < 12; ++i) {
    Endpoint endpoint = Endpoint::v4(10, 0, 0, 7, 9000);
    endpoint.address[i] ^= 1;
    EXPECT_FALSE(endpoint.is_v4()) << "byte " << i;
  }
}

TEST(endpoint, equality__address_and_port) {
  EXPECT_EQ(Endpoint::v4(1, 2, 3, 4, 5), Endpoint::v4(1, 2, 3, 4, 5));
  EXPECT_NE(Endpoint::v4(1, 2, 3, 4, 5), Endpoint::v4(1, 2, 3, 4, 6));
  EXPECT_NE(Endpoint::v4(1, 2, 3, 4, 5), Endpoint::v4(1, 2, 3, 5, 5));
}

}  // namespace
}  // namespace rain
