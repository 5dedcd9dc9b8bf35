// Tests of toml_reader.h: every refusal is one line with place, key, value and what is allowed.
#include "tools/toml_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "tools/run_rain.h"

namespace rain::tools {
namespace {

const std::string kFile = "rack.toml";

/// The message with which reading `text` is refused; "" when it is not.
std::string refusal(const std::string& text, const std::function<void(TomlReader&)>& read) {
  const toml::table table = toml::parse(text);
  TomlReader reader(table, "[x]", kFile);
  try {
    read(reader);
    reader.finish();
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(TomlReader, absent__leaves_the_default) {
  std::uint16_t port = 7;
  EXPECT_EQ(refusal("", [&](TomlReader& r) { EXPECT_FALSE(r.integer("port", port, 1, 9)); }), "");
  EXPECT_EQ(port, 7);
}

TEST(TomlReader, integer__range_and_type) {
  std::uint16_t port = 7;
  const auto read = [&](TomlReader& r) { r.integer("port", port, 1, 65535, "a UDP port"); };
  EXPECT_EQ(refusal("port = 65535", read), "");
  EXPECT_EQ(port, 65535);
  EXPECT_EQ(refusal("\nport = 65536", read),
            "rack.toml:2: key 'port' = 65536: an integer from 1 to 65535, a UDP port");
  EXPECT_EQ(refusal("port = 0", read), "rack.toml:1: key 'port' = 0: an integer from 1 to 65535, a UDP port");
  EXPECT_EQ(refusal("port = '80'", read),
            "rack.toml:1: key 'port' = \"80\": an integer from 1 to 65535, a UDP port");
  EXPECT_EQ(refusal("port = 80.0", read),
            "rack.toml:1: key 'port' = 80.0: an integer from 1 to 65535, a UDP port");
  EXPECT_EQ(port, 65535);
}

TEST(TomlReader, number__range_and_type) {
  double share = 0;
  const auto read = [&](TomlReader& r) { r.number("share", share, 0, 1); };
  EXPECT_EQ(refusal("share = 0.25", read), "");
  EXPECT_EQ(share, 0.25);
  EXPECT_EQ(refusal("share = 1", read), "");
  EXPECT_EQ(refusal("share = 1.5", read), "rack.toml:1: key 'share' = 1.5: a number from 0 to 1");
  EXPECT_EQ(refusal("share = nan", read), "rack.toml:1: key 'share' = nan: a number from 0 to 1");
}

TEST(TomlReader, duration__units_and_range) {
  Nanos time{};
  const auto read = [&](TomlReader& r) { r.duration("time", time, microseconds(1), seconds(1)); };
  EXPECT_EQ(refusal("time = '10us'", read), "");
  EXPECT_EQ(time, microseconds(10));
  EXPECT_EQ(refusal("time = 0", [&](TomlReader& r) { r.duration("time", time, Nanos{}, seconds(1)); }), "");
  EXPECT_EQ(time, Nanos{});
  const std::string allowed = ": a time with its unit (ns, us, ms, s, min) from 1us to 1s";
  EXPECT_EQ(refusal("time = 10", read), "rack.toml:1: key 'time' = 10" + allowed);
  EXPECT_EQ(refusal("time = '10'", read), "rack.toml:1: key 'time' = \"10\"" + allowed);
  EXPECT_EQ(refusal("time = '2s'", read), "rack.toml:1: key 'time' = \"2s\"" + allowed);
  EXPECT_EQ(refusal("time = '1ns'", read), "rack.toml:1: key 'time' = \"1ns\"" + allowed);
}

TEST(TomlReader, bytes__units_and_range) {
  std::uint64_t size = 0;
  const auto read = [&](TomlReader& r) { r.bytes("size", size, 1024, 1 << 20); };
  EXPECT_EQ(refusal("size = '4KiB'", read), "");
  EXPECT_EQ(size, 4096u);
  EXPECT_EQ(refusal("size = 2048", read), "");
  EXPECT_EQ(size, 2048u);
  const std::string allowed = ": bytes (an integer, or a string with KiB, MiB or GiB) from 1024 to 1048576";
  EXPECT_EQ(refusal("size = '2MiB'", read), "rack.toml:1: key 'size' = \"2MiB\"" + allowed);
  EXPECT_EQ(refusal("size = -5", read), "rack.toml:1: key 'size' = -5" + allowed);
}

TEST(TomlReader, text_and_flag__types) {
  std::string name;
  bool on = false;
  const auto read = [&](TomlReader& r) { r.text("name", name), r.flag("on", on); };
  EXPECT_EQ(refusal("name = 'a'\non = true", read), "");
  EXPECT_EQ(name, "a");
  EXPECT_TRUE(on);
  EXPECT_EQ(refusal("name = ''", read), "rack.toml:1: key 'name' = \"\": a string that is not empty");
  EXPECT_EQ(refusal("name = 3", read), "rack.toml:1: key 'name' = 3: a string that is not empty");
  EXPECT_EQ(refusal("on = 1", read), "rack.toml:1: key 'on' = 1: true or false");
}

TEST(TomlReader, name__utf8_without_control_characters) {
  std::string name;
  const auto read = [&](TomlReader& r) { r.name("n", name); };
  EXPECT_EQ(refusal("n = 'gr\xC3\xBCn'", read), "");
  EXPECT_EQ(name, "gr\xC3\xBCn");
  const std::string allowed = "a name of 1 to 64 bytes, UTF-8 without control characters";
  EXPECT_EQ(refusal("n = 5", read), "rack.toml:1: key 'n' = 5: a string, " + allowed);
  EXPECT_EQ(refusal("n = ''", read), "rack.toml:1: key 'n' = \"\": " + allowed);
  EXPECT_EQ(refusal("n = \"a\\nb\"", read), "rack.toml:1: key 'n' = \"a b\": " + allowed);
  const toml::table flags = flags_as_table({{"n", "a\xFF"}});
  const std::string no_file;
  TomlReader reader(flags, "", no_file);
  try {
    read(reader);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), "--n = \"a?\": " + allowed);
  }
}

TEST(TomlReader, choice__lists_and_suggests) {
  constexpr std::array<std::string_view, 2> kChoices{"random", "rain"};
  std::string choice;
  const auto read = [&](TomlReader& r) { r.choice("s", choice, kChoices); };
  EXPECT_EQ(refusal("s = 'rain'", read), "");
  EXPECT_EQ(choice, "rain");
  EXPECT_EQ(refusal("s = 'randon'", read),
            "rack.toml:1: key 's' = \"randon\": one of random, rain; did you mean 'random'?");
  EXPECT_EQ(refusal("s = 4", read), "rack.toml:1: key 's' = 4: one of random, rain");
}

TEST(TomlReader, integers__array_or_one) {
  std::vector<std::int64_t> values;
  const auto read = [&](TomlReader& r) { r.integers("t", values, 0, 9); };
  EXPECT_EQ(refusal("t = [1, 2]", read), "");
  EXPECT_EQ(values, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(refusal("t = 3", read), "");
  EXPECT_EQ(values, (std::vector<std::int64_t>{3}));
  const std::string allowed = ": integers from 0 to 9, in brackets, at least one";
  EXPECT_EQ(refusal("t = []", read), "rack.toml:1: key 't' = []" + allowed);
  EXPECT_EQ(refusal("t = [1, 10]", read), "rack.toml:1: key 't' = [ 1, 10 ]" + allowed);
  EXPECT_EQ(refusal("t = ['a']", read), "rack.toml:1: key 't' = [ 'a' ]" + allowed);
}

TEST(TomlReader, parsed__string_or_number) {
  std::string got;
  const auto read = [&](TomlReader& r) {
    r.parsed("v", "a string", [&](std::string_view text) {
      got = text;
      return text == "bad" ? std::string("anything else") : std::string();
    });
  };
  EXPECT_EQ(refusal("v = 5000", read), "");
  EXPECT_EQ(got, "5000");
  EXPECT_EQ(refusal("v = 'bad'", read), "rack.toml:1: key 'v' = \"bad\": anything else");
  EXPECT_EQ(refusal("v = [1]", read), "rack.toml:1: key 'v' = [ 1 ]: a string");
}

TEST(TomlReader, finish__unknown_key) {
  bool on = false;
  const auto read = [&](TomlReader& r) { r.flag("busy_poll", on); };
  EXPECT_EQ(
      refusal("\n\nbusy_pol = true", read),
      "rack.toml:3: key 'busy_pol' = true: unknown in [x], allowed are busy_poll; did you mean 'busy_poll'?");
  EXPECT_EQ(refusal("colour = 'red'", read),
            "rack.toml:1: key 'colour' = \"red\": unknown in [x], allowed are busy_poll");
}

TEST(TomlReader, table_and_tables__types) {
  EXPECT_EQ(refusal("a = 1", [](TomlReader& r) { r.table("a"); }),
            "rack.toml:1: key 'a' = 1: a table, written as [a]");
  EXPECT_EQ(refusal("[a]", [](TomlReader& r) { r.tables("a"); }),
            "rack.toml:1: key 'a' = a table: tables, each written as [[a]]");
  EXPECT_EQ(refusal("[[a]]\nx = 1\n[[a]]\nx = 2",
                    [](TomlReader& r) {
                      std::vector<TomlReader> all = r.tables("a");
                      ASSERT_EQ(all.size(), 2u);
                      EXPECT_EQ(all[1].line("x"), 4u);
                      EXPECT_EQ(all[1].name(), "[[a]]");
                    }),
            "");
}

TEST(TomlReader, shown__long_values_are_cut) {
  bool on = false;
  const std::string message =
      refusal("on = '" + std::string(500, 'x') + "'", [&](TomlReader& r) { r.flag("on", on); });
  EXPECT_LT(message.size(), 120u);
  EXPECT_NE(message.find("..."), std::string::npos);
}

TEST(TomlReader, flags_as_table__types_and_wording) {
  const toml::table table =
      flags_as_table({{"seed", "5"}, {"share", "0.5"}, {"on", "true"}, {"rate", "20k"}});
  EXPECT_TRUE(table.get("seed")->is_integer());
  EXPECT_TRUE(table.get("share")->is_floating_point());
  EXPECT_TRUE(table.get("on")->is_boolean());
  EXPECT_TRUE(table.get("rate")->is_string());
  EXPECT_EQ(flags_as_table({{"client", "007"}}, {"client"}).get("client")->value<std::string>(), "007");
  const toml::table bad = flags_as_table({{"sync_interval", "5"}});
  const std::string no_file;
  TomlReader reader(bad, "", no_file);
  Nanos time{};
  try {
    reader.duration("sync_interval", time, milliseconds(1), seconds(1));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "--sync-interval = 5: a time with its unit (ns, us, ms, s, min) from 1ms to 1s");
  }
}

TEST(ParseTomlFile, problems__one_line) {
  const auto problem = [](const std::string& path) -> std::string {
    try {
      parse_toml_file(path);
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(problem("/nowhere/rack.toml"), "/nowhere/rack.toml: no such file");
  EXPECT_EQ(problem("/tmp"), "/tmp: cannot be read as a file");
  EXPECT_EQ(problem("/proc/self/mem"), "/proc/self/mem: cannot be read as a file");
  EXPECT_EQ(problem("/dev/zero"), "/dev/zero: larger than 4194304 bytes");
  const testing::ScratchFile broken("broken.toml", "[switch]\nlisten = \n");
  EXPECT_EQ(problem(broken.path()).find(broken.path() + ":2: not TOML: "), 0u) << problem(broken.path());
  EXPECT_EQ(problem(broken.path()).find('\n'), std::string::npos);
  const testing::ScratchFile huge("huge.toml", "[load]\nweight = 99999999999999999999\n");
  EXPECT_EQ(problem(huge.path()).find(huge.path() + ":2: not TOML: "), 0u) << problem(huge.path());
  EXPECT_NE(problem(huge.path()).find(": weight = 99999999999999999999"), std::string::npos)
      << problem(huge.path());
  const testing::ScratchFile good("good.toml", "a = 1\n");
  EXPECT_EQ(problem(good.path()), "");
}

}  // namespace
}  // namespace rain::tools
