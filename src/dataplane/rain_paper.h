// Program `rain-paper`: the bidirectional queue as section 3.2.1 of the Rain paper describes it.
// Freestanding.
//
// Per slice one signed balance: tokens > 0, waiting tasks < 0; one FIFO of tokens, one of tasks, of which one
// is always empty. A task takes the oldest token whatever its worker is doing; a full queue is answered with
// DROP. The paper does not say what becomes of repeated and dead tokens; here the ledger of program `rain`
// guards it too, so that both can be compared under faults. A token's level is carried but decides nothing. Nor does
// it say what becomes of STICKY tasks: as in program `rain`.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/ledger.h"
#include "dataplane/program.h"
#include "dataplane/task_queue.h"
#include "dataplane/token_fifo.h"

namespace rain::dataplane {

template <typename M>
class RainPaperProgram {
  static_assert(Memory<M>);

  static constexpr std::uint8_t kSeenStage = 0, kBalanceStage = 1, kQueueStage = 2, kConsumedStage = 5;
  struct BalanceSpec {
    static constexpr RegisterSpec value{"balance", 0, kBalanceStage, 1, Extent::kSlices, 32, 4, false};
  };
  using Balance = Register<std::int32_t, BalanceSpec>;
  using Tasks = TaskQueue<1, kQueueStage>;
  using Tokens = Ledger<4, kSeenStage, kConsumedStage>;
  using Fifo = TokenFifo<6, kQueueStage>;

 public:
  static constexpr std::array kRegisters{
      BalanceSpec::value,      Tasks::HeadSpec::value,      Tasks::TailSpec::value, Tasks::EntrySpec::value,
      Tokens::SeenSpec::value, Tokens::ConsumedSpec::value, Fifo::RingSpec::value,  Fifo::CellSpec::value};

  explicit RainPaperProgram(M& memory) : memory_(memory) {}

  Verdict pass(const PacketView& packet, Nanos now) {
    switch (packet.message.type) {
      case wire::MessageType::kRequest:
        return task(packet, now);
      case wire::MessageType::kFeedback:
        return token(packet, now);
      case wire::MessageType::kSync:
        return sync(packet);
      default:
        return ignore(DropReason::kUnexpectedMessage);
    }
  }

  void forget_dead_tokens(SliceId slice) {
    const auto left = static_cast<std::int32_t>(Fifo::remove_if(memory_, slice, [&](const TokenCell& cell) {
      return Tokens::consume_if_dead(memory_, slice, cell);
    }));
    // It may count more than are filed, never less.
    std::int32_t& balance = *memory_.template cell<std::int32_t>(BalanceSpec::value.id, slice.value);
    if (balance > left) balance = left;
  }

  /// As RainProgram's.
  template <typename Take>
  void remove_tasks(SliceId slice, Take&& take) {
    Tasks::remove_all(memory_, slice, take);
    std::int32_t& balance = *memory_.template cell<std::int32_t>(BalanceSpec::value.id, slice.value);
    if (balance < 0) balance = 0;
  }

  /// Tokens > 0, waiting tasks < 0; for counters and tests.
  std::int32_t balance(SliceId slice) {
    return *memory_.template cell<std::int32_t>(BalanceSpec::value.id, slice.value);
  }

 private:
  Verdict task(const PacketView& packet, Nanos now) {
    SliceId id{};
    const SliceEntry* slice = nullptr;
    const DropReason reason = match_task(memory_, packet.message, id, slice);
    if (reason != DropReason::kNone) return refuse_task(id, reason);

    Pass pass;
    const Lending lending = packet.carried.lending;
    if (lending == Lending::kAway) return borrow(pass, packet, id, slice->master_slice);
    const bool can_wait = packet.message.payload.size() <= kInlinePayloadBytes || memory_.free_holds() > 0;
    const std::int32_t floor = can_wait ? -static_cast<std::int32_t>(slice->queue_capacity) : 0;
    std::int32_t& balance = Balance::at(pass, memory_, id.value);
    if (balance == 0 && slice->master_slice != kNoSlice && lending == Lending::kHome)
      return pass_on(id, packet.carried, Lending::kAway);
    if (balance <= floor) {
      const DropReason full = can_wait ? DropReason::kQueueFull : DropReason::kPayloadStoreFull;
      return reply_drop(id, full, waiting(balance));
    }
    if (balance-- > 0) return spend(pass, id, id);
    Tasks::push(pass, memory_, id, packet, now);
    return buffered(id, waiting(balance));
  }

  /// As RainProgram's.
  Verdict borrow(Pass& pass, const PacketView& packet, SliceId id, SliceId master_slice) {
    if (memory_.slice(master_slice) == nullptr) return pass_on(id, packet.carried, Lending::kReturn);
    std::int32_t& balance = Balance::at(pass, memory_, master_slice.value);
    if (balance <= 0) return pass_on(id, packet.carried, Lending::kReturn);
    --balance;
    return spend(pass, id, master_slice);
  }

  Verdict spend(Pass& pass, SliceId id, SliceId from) {
    TokenCell token{};
    const bool found = Fifo::pop(pass, memory_, from, token);
    const bool fresh = found && Tokens::consume(pass, memory_, token);
    if (!fresh || !token_alive(memory_, from, token)) return pass_again(from);
    return forward(id, token, 0);
  }

  Verdict token(const PacketView& packet, Nanos now) {
    const wire::TokenFields& token = packet.message.token;
    const WorkerEntry* worker = nullptr;
    const DropReason reason = match_token(memory_, packet, kMaxQuota, worker);
    if (reason != DropReason::kNone) return ignore(reason);

    Pass pass;
    const Carried& carried = packet.carried;
    if (carried.passes == 0) {
      const DropReason unseen = Tokens::see(pass, memory_, token);
      if (unseen != DropReason::kNone) return ignore(unseen);
    }
    const SliceId id = worker->slice;
    const SliceEntry& slice = *memory_.slice(id);
    const TokenCell cell{token.worker, token.epoch, token.generation, token.level};
    if (carried.lending == Lending::kAway) return lend(pass, slice.host, cell, carried, now);
    std::int32_t& balance = Balance::at(pass, memory_, id.value);
    if (balance < 0) return serve_head(pass, id, balance, cell, carried, now);
    if (slice.host != kNoSlice && carried.lending == Lending::kHome)
      return pass_on(id, carried, Lending::kAway);
    ++balance;
    if (Fifo::push(pass, memory_, id, cell)) return consumed(id);
    if (!carried.swept) return sweep_and_pass_again(id, carried);
    Tokens::consume(pass, memory_, cell);
    return ignore(DropReason::kTokenQueueFull);
  }

  Verdict serve_head(Pass& pass, SliceId id, std::int32_t& balance, const TokenCell& token,
                     const Carried& carried, Nanos now) {
    ++balance;
    const TaskEntry& head = Tasks::pop(pass, memory_, id);
    if (expired(head, now, carried)) return expire(id, head, carried, waiting(balance));
    Tokens::consume(pass, memory_, token);
    return dispatch(id, token, head, now, waiting(balance));
  }

  /// As RainProgram's.
  Verdict lend(Pass& pass, SliceId host, const TokenCell& token, const Carried& carried, Nanos now) {
    if (memory_.slice(host) == nullptr) return pass_on(host, carried, Lending::kReturn);
    std::int32_t& balance = Balance::at(pass, memory_, host.value);
    if (balance >= 0) return pass_on(host, carried, Lending::kReturn);
    return serve_head(pass, host, balance, token, carried, now);
  }

  Verdict sync(const PacketView& packet) {
    const WorkerEntry* worker = nullptr;
    const DropReason reason = match_token(memory_, packet, kMaxQuota, worker);
    if (reason != DropReason::kNone) return ignore(reason);
    Pass pass;
    return Tokens::report(pass, memory_, packet.message.token, *worker);
  }

  static std::uint16_t waiting(std::int32_t balance) {
    return saturate_to_u16(balance < 0 ? static_cast<std::uint32_t>(-balance) : 0);
  }

  M& memory_;
};

}  // namespace rain::dataplane
