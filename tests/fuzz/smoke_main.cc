// Drives a fuzzer without libFuzzer, in every build and with either compiler: first its seeds, then a fixed
// number of mutations of them. Input k depends on k alone, so a failure is replayed by its number; the count
// is fixed, not the time, so that a slow machine tests as much as a fast one.
//
//   NAME                 runs 0 .. 20000
//   NAME --runs N        runs 0 .. N
//   NAME --run K         run K alone
//   NAME --hex BYTES     the input that a failing run printed
//   NAME FILE ...        the files' bytes, for inputs that libFuzzer has kept
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>

#include "base/prng.h"
#include "fuzz/fuzz.h"

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using rain::Prng;
using rain::fuzz::Input;

constexpr std::uint64_t kSeed = 1;
constexpr std::uint64_t kDefaultRuns = 20'000;
constexpr std::size_t kMaxInputBytes = 4096;

// Ready before each run: the death callback must not allocate.
char replay_line[256];
std::span<const std::byte> running;

void say(std::string_view text) { (void)!write(STDERR_FILENO, text.data(), text.size()); }

void say_replay() {
  static char hex[2 * kMaxInputBytes];
  const std::size_t shown = std::min(running.size(), kMaxInputBytes);
  for (std::size_t i = 0; i < shown; ++i) {
    hex[2 * i] = "0123456789abcdef"[std::to_integer<unsigned>(running[i]) >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[std::to_integer<unsigned>(running[i]) & 15];
  }
  say(replay_line);
  say("input: ");
  say({hex, 2 * shown});
  say(shown < running.size() ? "...\n" : "\n");
}

void on_signal(int signal) {
  say_replay();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::byte random_byte(Prng& prng) {
  constexpr std::uint8_t kEdges[] = {0x00, 0x01, 0x07, 0x08, 0x7F, 0x80, 0xFE, 0xFF};
  return prng.below(2) == 0 ? std::byte{kEdges[prng.below(std::size(kEdges))]}
                            : static_cast<std::byte>(prng.below(256));
}

void mutate_once(Prng& prng, Input& input, const std::vector<Input>& seeds) {
  const std::size_t at = input.empty() ? 0 : prng.below(input.size());
  switch (prng.below(6)) {
    case 0:  // one bit
      if (!input.empty()) input[at] ^= static_cast<std::byte>(1U << prng.below(8));
      break;
    case 1:  // one byte
      if (!input.empty()) input[at] = random_byte(prng);
      break;
    case 2:  // cut off
      input.resize(at);
      break;
    case 3:  // grow at the end
      for (std::uint64_t i = 0, count = 1 + prng.below(64); i < count; ++i)
        input.push_back(random_byte(prng));
      break;
    case 4:  // another seed's tail
      input.resize(at);
      if (const Input& other = seeds[prng.below(seeds.size())]; !other.empty()) {
        const auto from = other.begin() + static_cast<std::ptrdiff_t>(prng.below(other.size()));
        input.insert(input.end(), from, other.end());
      }
      break;
    default:  // a byte more in the middle
      input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), random_byte(prng));
  }
  input.resize(std::min(input.size(), kMaxInputBytes));
}

Input input_of_run(std::uint64_t run, const std::vector<Input>& seeds) {
  if (run < seeds.size()) return seeds[run];
  Prng prng(kSeed, run);
  Input input = seeds[prng.below(seeds.size())];
  for (std::uint64_t i = 0, count = 1 + prng.below(4); i < count; ++i) mutate_once(prng, input, seeds);
  return input;
}

/// Copies the input to a block of exactly its size, so that a sanitizer sees the first byte read beyond it.
void run_input(const Input& input) {
  const auto exact = std::make_unique<std::byte[]>(input.size());
  std::copy(input.begin(), input.end(), exact.get());
  running = input;  // not the copy: the subject may have overwritten what lies around that
  rain::fuzz::one_input({exact.get(), input.size()});
  running = {};
}

int run_files(int count, char** names) {
  for (int i = 0; i < count; ++i) {
    std::ifstream file(names[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", names[i]);
      return 2;
    }
    const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    std::snprintf(replay_line, sizeof replay_line, "failing input: %s\n", names[i]);
    Input input(text.size());
    std::transform(text.begin(), text.end(), input.begin(), [](char c) { return static_cast<std::byte>(c); });
    run_input(input);
  }
  std::printf("%d files, no failure\n", count);
  return 0;
}

void run_range(const char* program, std::uint64_t first, std::uint64_t end) {
  const std::vector<Input> seeds = rain::fuzz::seeds();
  RAIN_ASSERT(!seeds.empty());
  for (std::uint64_t run = first; run < end; ++run) {
    std::snprintf(replay_line, sizeof replay_line, "replay: %s --run %llu\n", program,
                  static_cast<unsigned long long>(run));
    run_input(input_of_run(run, seeds));
  }
  std::printf("%llu inputs from %zu seeds, no failure\n", static_cast<unsigned long long>(end - first),
              seeds.size());
}

int run_hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Input input;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const std::size_t high = kDigits.find(text[i]);
    const std::size_t low = kDigits.find(text[i + 1]);
    if (high == kDigits.npos || low == kDigits.npos) break;
    input.push_back(static_cast<std::byte>(high << 4 | low));
  }
  if (2 * input.size() != text.size()) {
    std::fprintf(stderr, "--hex takes pairs of hexadecimal digits, lower case\n");
    return 2;
  }
  run_input(input);
  std::printf("1 input, no failure\n");
  return 0;
}

bool parse_count(std::string_view text, std::uint64_t& count) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc{} && rest == text.data() + text.size() && count < UINT64_MAX;
}

}  // namespace

int main(int argc, char** argv) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    // A sanitizer that is linked in has its own handlers, with a stack trace; it tells us through the
    // callback.
    if (__sanitizer_set_death_callback == nullptr) std::signal(signal, on_signal);
  }
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(say_replay);
    std::signal(SIGABRT, on_signal);
  }

  const std::string_view option = argc > 1 ? argv[1] : "";
  std::uint64_t count = kDefaultRuns;
  if (option == "--hex" && argc == 3) return run_hex(argv[2]);
  if (option.starts_with("--")) {
    if ((option != "--runs" && option != "--run") || argc != 3 || !parse_count(argv[2], count)) {
      std::fprintf(stderr, "usage: %s [--runs N | --run K | --hex BYTES | FILE ...]\n", argv[0]);
      return 2;
    }
  } else if (argc > 1) {
    return run_files(argc - 1, argv + 1);
  }
  if (option == "--run") {
    run_range(argv[0], count, count + 1);
  } else {
    run_range(argv[0], 0, count);
  }
  return 0;
}
