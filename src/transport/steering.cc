#include "transport/steering.h"

#include <algorithm>

namespace rain::transport {
namespace {

constexpr std::uint32_t kMagicOffset = 0;
constexpr std::uint32_t kHeaderSizeOffset = 1;
constexpr std::uint32_t kTypeOffset = 2;
constexpr std::uint32_t kKeyOffset = 8;
constexpr std::uint32_t kKeyEnd = kKeyOffset + 2;
constexpr std::uint32_t kKeyCount = 65536;

sock_filter load_byte(std::uint32_t offset) { return BPF_STMT(BPF_LD | BPF_B | BPF_ABS, offset); }
sock_filter load_half(std::uint32_t offset) { return BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offset); }
sock_filter load_constant(std::uint32_t value) { return BPF_STMT(BPF_LD | BPF_IMM, value); }
sock_filter jump(std::uint32_t distance) { return BPF_STMT(BPF_JMP | BPF_JA, distance); }
sock_filter skip_if_equal(std::uint32_t value, std::uint8_t skip_true, std::uint8_t skip_false) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, skip_true, skip_false);
}
sock_filter skip_if_at_least(std::uint32_t value, std::uint8_t skip_true, std::uint8_t skip_false) {
  return BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, skip_true, skip_false);
}
sock_filter choose(std::uint32_t socket) { return BPF_STMT(BPF_RET | BPF_K, socket); }

struct Range {
  std::uint32_t first;
  std::uint32_t socket;
};

// The keys as ranges that cover 0..65535, each up to the next one's first key: far fewer than keys, because
// ids are usually dealt out in runs. A key listed twice keeps its first socket.
std::vector<Range> to_ranges(std::vector<SteeringKey> keys, std::uint32_t other_keys) {
  std::stable_sort(keys.begin(), keys.end(),
                   [](const SteeringKey& a, const SteeringKey& b) { return a.key < b.key; });
  std::vector<Range> ranges{{0, other_keys}};
  const auto start = [&ranges](std::uint32_t first, std::uint32_t socket) {
    if (ranges.back().first == first) ranges.pop_back();
    if (ranges.empty() || ranges.back().socket != socket) ranges.push_back({first, socket});
  };
  std::uint32_t next = 0;
  for (const SteeringKey& entry : keys) {
    if (entry.key < next) continue;
    if (entry.key > next) start(next, other_keys);
    start(entry.key, entry.socket);
    next = entry.key + std::uint32_t{1};
  }
  if (next < kKeyCount) start(next, other_keys);
  return ranges;
}

// Expects the key in the accumulator and always ends the program: the first range whose end lies above the
// key wins.
std::vector<sock_filter> match_key(const SteeringRule& rule) {
  const std::vector<Range> ranges = to_ranges(rule.keys, rule.other_keys);
  std::vector<sock_filter> code;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (i + 1 < ranges.size()) code.push_back(skip_if_at_least(ranges[i + 1].first, 1, 0));
    code.push_back(choose(ranges[i].socket));
  }
  return code;
}

}  // namespace

tl::expected<std::vector<sock_filter>, std::string> compile_steering(const Steering& steering) {
  // Loads outside the packet end a classic BPF program with 0, so that short packets go to socket 0 unasked.
  std::vector<sock_filter> code = {
      load_byte(kMagicOffset),
      skip_if_equal(steering.plain_magic, 4, 0),   // to the plain load
      skip_if_equal(steering.packed_magic, 0, 5),  // to the packed load, else to choose(0)
      load_byte(kTypeOffset),
      BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),
      jump(3),
      load_byte(kTypeOffset),
      jump(1),
      choose(0),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),  // the type stays in X
  };

  for (const SteeringRule& rule : steering.rules) {
    std::vector<sock_filter> body = {
        load_byte(kHeaderSizeOffset),
        skip_if_at_least(kKeyEnd, 2, 0),
        load_constant(rule.key_without_field),
        jump(1),
        load_half(kKeyOffset),
    };
    const std::vector<sock_filter> match = match_key(rule);
    body.insert(body.end(), match.begin(), match.end());

    // for each type: if X == type go to the body; after the last: go past it
    code.push_back(BPF_STMT(BPF_MISC | BPF_TXA, 0));
    for (std::size_t i = 0; i < rule.types.size(); ++i) {
      const auto to_body = static_cast<std::uint8_t>(rule.types.size() - i);
      code.push_back(skip_if_equal(rule.types[i], to_body, 0));
    }
    code.push_back(jump(static_cast<std::uint32_t>(body.size())));
    code.insert(code.end(), body.begin(), body.end());
  }
  code.push_back(choose(0));

  if (code.size() > kMaxSteeringInstructions) {
    return tl::unexpected("steering packets to the switch threads takes " + std::to_string(code.size()) +
                          " filter instructions, at most " + std::to_string(kMaxSteeringInstructions) +
                          " are possible: number the task types and workers of a thread in runs");
  }
  return code;
}

}  // namespace rain::transport
