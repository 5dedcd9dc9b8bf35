// A decoder with a planted bug of the usual kind: it trusts a length field. The suite fails when this is NOT
// found, which proves that the drivers mutate, that a crash is noticed, and that its replay line is printed.
#include "base/assert.h"
#include "fuzz/fuzz.h"

namespace rain::fuzz {

void one_input(std::span<const std::byte> input) {
  if (input.size() < 2 || input[0] != std::byte{0x52}) return;
  const auto length = std::to_integer<std::size_t>(input[1]);
  RAIN_ASSERT(length <= input.size() - 2);
}

std::vector<Input> seeds() {
  return {{std::byte{0x52}, std::byte{3}, std::byte{1}, std::byte{2}, std::byte{3}}};
}

}  // namespace rain::fuzz
