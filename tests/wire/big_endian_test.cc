// Big-endian fields: most significant byte first, and back.
#include "wire/big_endian.h"

#include <gtest/gtest.h>

namespace rain::wire {
namespace {

TEST(big_endian, bytes__most_significant_first) {
  EXPECT_EQ(Be16(0x1234).bytes, (std::array<std::uint8_t, 2>{0x12, 0x34}));
  EXPECT_EQ(Be32(0x1234'5678).bytes, (std::array<std::uint8_t, 4>{0x12, 0x34, 0x56, 0x78}));
  EXPECT_EQ(Be64(0x0102'0304'0506'0708).bytes, (std::array<std::uint8_t, 8>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(big_endian, get__is_what_was_put) {
  for (const std::uint16_t value : std::array<std::uint16_t, 6>{0, 1, 0x00FF, 0x0100, 0x8000, 0xFFFF})
    EXPECT_EQ(Be16(value).get(), value);
  for (const std::uint32_t value : {0U, 1U, 0x0102'0304U, 0x8000'0000U, 0xFFFF'FFFFU}) {
    EXPECT_EQ(Be32(value).get(), value);
  }
  for (const std::uint64_t value : {0ULL, 1ULL, 0x8000'0000'0000'0000ULL, 0xFFFF'FFFF'FFFF'FFFFULL}) {
    EXPECT_EQ(Be64(value).get(), value);
  }
  static_assert(Be16(0xBEEF).get() == 0xBEEF);
  static_assert(Be32(0xDEAD'BEEF).get() == 0xDEAD'BEEF);
}

}  // namespace
}  // namespace rain::wire
