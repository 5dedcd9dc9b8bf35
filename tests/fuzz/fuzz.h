// What a fuzzer is: two functions. One source file under tests/fuzz/ defines both for one subject and is
// listed in tests/fuzz/CMakeLists.txt; two mains drive it: libFuzzer (`./dev fuzz NAME`) and the smoke test
// of every other build.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rain::fuzz {

using Input = std::vector<std::byte>;

/// Gives the subject one input. Any bytes must be safe; what must hold beyond that is asserted with
/// RAIN_ASSERT. Keeps no state from one call to the next, so that a failing input fails alone.
void one_input(std::span<const std::byte> input);

/// Valid inputs that mutation starts from, the same in each call. At least one.
std::vector<Input> seeds();

}  // namespace rain::fuzz
