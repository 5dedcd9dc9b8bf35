// A slice's FIFO of waiting tasks: a ring of entries between two counters. Freestanding.
//
// Whether there is room, or a task to take, is not decided here: the program's gate counts, so that one
// access of one register decides. Head and tail only say where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/memory.h"
#include "dataplane/packet.h"
#include "dataplane/pass.h"

namespace rain::dataplane {

/// Where the payload of a waiting task lies when it does not fit the entry.
enum class PayloadStore : std::uint8_t {
  kHold,   ///< a payload above the inline size is kept by the memory
  kFetch,  ///< it is not kept: the worker fetches it from the client (hold == kNoHold and payload_bytes above
           ///< the inline size)
};

/// `kId` is the first of three register ids; the counters live in stage `kStage`, the entries in the 8 stages
/// after it: one payload byte and an eighth of the metadata in each, as the paper's prototype stripes them
/// (section 4).
template <std::uint8_t kId, std::uint8_t kStage, PayloadStore kStore = PayloadStore::kHold>
struct TaskQueue {
  // On the switch an entry is 8 payload bytes, or the descriptor of a pre-written payload, plus client
  // address (32: an IPv4 rack), port (16), request id (16), type (16), deadline (32), arrival time (32),
  // payload size (16), packet count (16), layout, policy and last (8).
  static constexpr std::uint16_t kEntryBits =
      8 * kInlinePayloadBytes + 32 + 16 + 16 + 16 + 32 + 32 + 16 + 16 + 8;

  struct HeadSpec {
    static constexpr RegisterSpec value{"task_head", kId, kStage, 1, Extent::kSlices, 32, 4, false};
  };
  struct TailSpec {
    static constexpr RegisterSpec value{"task_tail", kId + 1, kStage, 1, Extent::kSlices, 32, 4, false};
  };
  struct EntrySpec {
    static constexpr RegisterSpec value{"task_entry",   kId + 2,    kStage + 1,        8,
                                        Extent::kTasks, kEntryBits, sizeof(TaskEntry), false};
  };
  using Head = Register<std::uint32_t, HeadSpec>;
  using Tail = Register<std::uint32_t, TailSpec>;
  using Entries = Register<TaskEntry, EntrySpec>;

  /// Appends the request; the gate has said that there is room, and that a payload above the inline size has
  /// a hold.
  template <typename M>
  static void push(Pass& pass, M& memory, SliceId slice, const PacketView& packet, Nanos now) {
    const std::uint32_t at = Tail::at(pass, memory, slice.value)++;
    TaskEntry& entry = Entries::at(pass, memory, index(memory, slice, at));
    const wire::Message& message = packet.message;
    entry.arrival = now;
    entry.client = packet.source;
    entry.request_id = message.request_id;
    entry.task_type = message.request.task_type;
    entry.payload_bytes = static_cast<std::uint16_t>(message.payload.size());
    entry.deadline_us = message.request.deadline_us;
    entry.packet_count = message.packet;
    entry.layout = message.layout;
    entry.policy = message.policy;
    entry.last = message.last;
    if (message.payload.size() <= kInlinePayloadBytes) {
      entry.hold = kNoHold;
      copy_inline(message.payload, entry.inline_payload);
    } else if constexpr (kStore == PayloadStore::kHold) {
      entry.hold = memory.hold(message.payload);
      RAIN_ASSERT(entry.hold != kNoHold);
    } else {
      entry.hold = kNoHold;
    }
  }

  /// Control plane, between packets: takes all tasks out, the oldest first, for `take(entry)`.
  template <typename M, typename Take>
  static void remove_all(M& memory, SliceId slice, Take&& take) {
    std::uint32_t& head = *memory.template cell<std::uint32_t>(HeadSpec::value.id, slice.value);
    const std::uint32_t tail = *memory.template cell<std::uint32_t>(TailSpec::value.id, slice.value);
    while (head != tail) {
      take(*memory.template cell<TaskEntry>(EntrySpec::value.id, index(memory, slice, head++)));
    }
  }

  /// Takes the oldest task; the gate has said that there is one.
  template <typename M>
  static const TaskEntry& pop(Pass& pass, M& memory, SliceId slice) {
    const std::uint32_t at = Head::at(pass, memory, slice.value)++;
    return Entries::at(pass, memory, index(memory, slice, at));
  }

 private:
  /// Most payloads fill their place. The others are copied in a bounded loop: the kernel's verifier does not take
  /// memcpy of a run-time size.
  static void copy_inline(std::span<const std::byte> payload, std::uint8_t (&place)[kInlinePayloadBytes]) {
    if (payload.size() == kInlinePayloadBytes) {
      __builtin_memcpy(place, payload.data(), kInlinePayloadBytes);
      return;
    }
    for (std::size_t i = 0; i < kInlinePayloadBytes && i < payload.size(); ++i) {
      place[i] = static_cast<std::uint8_t>(payload[i]);
    }
  }
  template <typename M>
  static std::uint32_t index(M& memory, SliceId slice, std::uint32_t at) {
    const std::uint32_t ring = memory.shape().task_ring;
    return slice.value * ring + (at & (ring - 1));
  }
};

}  // namespace rain::dataplane
