// Strong types for the numbers that name things, so that none is passed for another. Freestanding.
#pragma once

#include <compare>
#include <cstdint>

namespace rain {

/// An integer that names a thing of kind `Tag`. Never arithmetic, only compared; `.value` is the wire's
/// number.
template <typename Tag, typename Rep>
struct StrongId {
  using rep = Rep;
  Rep value{};
  constexpr auto operator<=>(const StrongId&) const = default;
};

using WorkerId =
    StrongId<struct WorkerIdTag, std::uint16_t>;  ///< a worker: one thread's FIFO; unique in a rack
using SliceId =
    StrongId<struct SliceIdTag, std::uint16_t>;  ///< a slice: tasks of some types and their workers
using TaskType =
    StrongId<struct TaskTypeTag, std::uint16_t>;  ///< the class of a task, chosen by the application
using RequestId =
    StrongId<struct RequestIdTag, std::uint16_t>;        ///< with the client's address and port: one RPC
using Epoch = StrongId<struct EpochTag, std::uint16_t>;  ///< a worker's life in one slice; tokens die with it
using BootId = StrongId<struct BootIdTag, std::uint32_t>;  ///< a switch's life

/// A token's level: the number of unfinished tasks its worker held when it issued it (0: idle, else spare).
using Level = StrongId<struct LevelTag, std::uint8_t>;
inline constexpr Level kNoLevel{0xFF};        ///< a dispatch that consumed no token
inline constexpr std::uint8_t kMaxQuota = 8;  ///< n_max of the paper (section 3.3); levels are 0..7

/// Further than this no generation is ahead of the one that its switch has seen last: a worker issues the next token
/// only when it has heard of the one before, so what lies between was lost at changes of epoch (one each), or came late
/// to a switch that has just booted (16 s of a million tokens a second and level). A number beyond it is forged or stray,
/// and if it were believed, `seen` and `consumed` could come to lie half a circle apart, where neither is the newer.
inline constexpr std::uint32_t kMaxGenerationLeap = std::uint32_t{1} << 24;
/// The same for the first one that a switch sees after its boot. A worker whose number is higher begins again.
inline constexpr std::uint32_t kMaxFirstGeneration = std::uint32_t{1} << 30;

/// Counts the tokens a worker has issued at one level; wraps, so it is compared by serial-number arithmetic.
struct Generation {
  std::uint32_t value = 0;
  constexpr bool operator==(const Generation&) const = default;
  constexpr bool newer_than(Generation other) const {
    return static_cast<std::int32_t>(value - other.value) > 0;
  }
  /// Newer, and by no more than is believed; `last` = 0: none was seen.
  constexpr bool follows(Generation last) const {
    const std::uint32_t skipped = value - last.value - 1;
    return skipped < kMaxGenerationLeap || (last.value == 0 && skipped < kMaxFirstGeneration);
  }
  constexpr bool leaps_from(Generation last) const { return newer_than(last) && !follows(last); }
  constexpr Generation next() const { return {value + 1}; }
};

}  // namespace rain
