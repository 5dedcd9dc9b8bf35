// The pipeline's random-number unit, in software: splitmix64, a counter and a mixing function. Freestanding.
//
// One state per slice, so that slices on different threads share nothing and a run repeats from its seed.
#pragma once

#include <cstdint>

#include "dataplane/memory.h"
#include "dataplane/pass.h"

namespace rain::dataplane {

template <std::uint8_t kId, std::uint8_t kStage>
struct RandomUnit {
  struct Spec {
    static constexpr RegisterSpec value{"random_state", kId, kStage, 1, Extent::kSlices, 64, 8, false};
  };
  using State = Register<std::uint64_t, Spec>;

  /// Control plane, between packets.
  template <typename M>
  static void seed(M& memory, std::uint64_t seed) {
    for (std::uint32_t slice = 0; slice < memory.shape().slices; ++slice) {
      *memory.template cell<std::uint64_t>(Spec::value.id, slice) = mix(seed + slice);
    }
  }

  template <typename M>
  static std::uint64_t next(Pass& pass, M& memory, SliceId slice) {
    std::uint64_t& state = State::at(pass, memory, slice.value);
    state += 0x9E3779B97F4A7C15u;
    return mix(state);
  }

  /// A number in [0, bound) from 32 random bits, without a division; its bias is below bound / 2^32.
  static constexpr std::uint32_t below(std::uint32_t random_bits, std::uint32_t bound) {
    return static_cast<std::uint32_t>((std::uint64_t{random_bits} * bound) >> 32);
  }

 private:
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
};

}  // namespace rain::dataplane
