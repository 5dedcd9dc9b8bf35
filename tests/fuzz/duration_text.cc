// Any text into parse_duration(): what it accepts survives formatting and parsing, what it refuses gets a fair message.
#include "base/duration_text.h"

#include "fuzz/text_input.h"

namespace rain::fuzz {

void one_input(std::span<const std::byte> input) {
  const auto parsed = parse_duration(as_text(input));
  if (!parsed) return check_error_message(parsed.error());
  RAIN_ASSERT(*parsed >= Nanos{});
  const auto again = parse_duration(format_duration(*parsed));
  RAIN_ASSERT(again.has_value() && *again == *parsed);
}

std::vector<Input> seeds() {
  return {as_input("0"),           as_input("10us"),   as_input("1.5ms"), as_input("0.000000001s"),
          as_input("9223372036s"), as_input("2.5min"), as_input("7ns"),   as_input("1h")};
}

}  // namespace rain::fuzz
