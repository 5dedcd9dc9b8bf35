// Any text into parse_endpoint(): what it accepts survives formatting and parsing, what it refuses gets a fair message.
#include "base/endpoint_text.h"

#include "fuzz/text_input.h"

namespace rain::fuzz {

void one_input(std::span<const std::byte> input) {
  const auto parsed = parse_endpoint(as_text(input));
  if (!parsed) return check_error_message(parsed.error());
  const std::string text = format_endpoint(*parsed);
  RAIN_ASSERT(text.size() <= kMaxEndpointText);
  const auto again = parse_endpoint(text);
  RAIN_ASSERT(again.has_value() && *again == *parsed);
  RAIN_ASSERT(format_endpoint(*again) == text);
}

std::vector<Input> seeds() {
  return {as_input("127.0.0.1:9000"), as_input("255.255.255.255:65535"), as_input("[::1]:0"),
          as_input("[fd00::a:1]:80"), as_input("[1:2:3:4:5:6:7:8]:9"),   as_input("[::ffff:10.0.0.7]:9000"),
          as_input("localhost:80")};
}

}  // namespace rain::fuzz
