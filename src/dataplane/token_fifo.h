// A slice's FIFO of filed tokens. Freestanding.
#pragma once

#include <cstdint>

#include "dataplane/memory.h"
#include "dataplane/packet.h"
#include "dataplane/pass.h"

namespace rain::dataplane {

/// A filed token.
struct TokenCell {
  WorkerId worker{};
  Epoch epoch{};
  Generation generation{};
  Level level{};
};

/// Ring pointers of one FIFO: one paired register, so that "take if there is one" and "append" are one access
/// each.
struct TokenRing {
  std::uint16_t head = 0;
  std::uint16_t count = 0;
};

/// `kId` is the first of two register ids; pointers in stage `kStage`, cells in the stage after it.
template <std::uint8_t kId, std::uint8_t kStage>
struct TokenFifo {
  struct RingSpec {
    static constexpr RegisterSpec value{"token_ring",      kId,  kStage, 1, Extent::kSlices, 32,
                                        sizeof(TokenRing), false};
  };
  struct CellSpec {
    // worker (10), level (3), epoch (16), generation (32): one 64-bit paired register
    static constexpr RegisterSpec value{"token_cell",    kId + 1, kStage + 1,        1,
                                        Extent::kTokens, 64,      sizeof(TokenCell), false};
  };
  using Ring = Register<TokenRing, RingSpec>;
  using Cells = Register<TokenCell, CellSpec>;

  /// Takes the oldest token into `out`; false when there is none.
  template <typename M>
  static bool pop(Pass& pass, M& memory, SliceId slice, TokenCell& out) {
    TokenRing& ring = Ring::at(pass, memory, slice.value);
    if (ring.count == 0) return false;
    const std::uint32_t at = ring.head++;
    --ring.count;
    out = Cells::at(pass, memory, index(memory, slice, at));
    return true;
  }

  /// Appends the token; false when the ring is full, which dead tokens can cause, and workers that break the
  /// rule of levels.
  template <typename M>
  static bool push(Pass& pass, M& memory, SliceId slice, const TokenCell& token) {
    TokenRing& ring = Ring::at(pass, memory, slice.value);
    if (ring.count == memory.shape().token_ring) return false;
    const std::uint32_t at = static_cast<std::uint32_t>(ring.head) + ring.count++;
    Cells::at(pass, memory, index(memory, slice, at)) = token;
    return true;
  }

  /// Control plane, between packets: removes the tokens for which `dead(cell)`; the rest keep their order.
  /// Returns how many are left.
  template <typename M, typename Dead>
  static std::uint32_t remove_if(M& memory, SliceId slice, Dead&& dead) {
    TokenRing& ring = *memory.template cell<TokenRing>(RingSpec::value.id, slice.value);
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < ring.count; ++i) {
      const TokenCell cell =
          *memory.template cell<TokenCell>(CellSpec::value.id, index(memory, slice, ring.head + i));
      if (dead(cell)) continue;
      *memory.template cell<TokenCell>(CellSpec::value.id, index(memory, slice, ring.head + kept++)) = cell;
    }
    ring.count = static_cast<std::uint16_t>(kept);
    return kept;
  }

 private:
  template <typename M>
  static std::uint32_t index(M& memory, SliceId slice, std::uint32_t at) {
    const std::uint32_t ring = memory.shape().token_ring;
    return slice.value * ring + (at & (ring - 1));
  }
};

}  // namespace rain::dataplane
