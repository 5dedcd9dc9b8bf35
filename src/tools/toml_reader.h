// One [table] of a TOML file, read key by key into checked values.
//
// Every read says what is allowed, so every refusal is the same line: `FILE:LINE: key 'x' = value: what is
// allowed`. A reader remembers which keys were asked for; finish() refuses the others, so no mistyped key is
// ever ignored.
#pragma once

#include <toml++/toml.h>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "tools/input_error.h"

namespace rain::tools {

/// Flags as a table, so that one reader serves files and flags: whole and decimal numbers become such, true
/// and false too, all else strings. Its reader has the file name "" and says "--x = value" for "key 'x' =
/// value". `texts`: flags that stay strings whatever they look like.
toml::table flags_as_table(const std::vector<std::pair<std::string, std::string>>& flags,
                           std::initializer_list<std::string_view> texts = {});

/// Reads and parses a file. Throws InputError for a file that cannot be read or is not TOML.
toml::table parse_toml_file(const std::string& path);

class TomlReader {
 public:
  /// `name` as messages call the table: "[switch]". `table` and `file` must outlive the reader.
  TomlReader(const toml::table& table, std::string name, const std::string& file);

  const std::string& name() const { return name_; }
  bool has(std::string_view key) { return lookup(key) != nullptr; }

  // Each leaves `out` alone and returns false when the key is absent; throws InputError when its value is not
  // allowed.
  bool text(std::string_view key, std::string& out);
  /// As text(), but fit for messages, tables and the controller: control::is_name().
  bool name(std::string_view key, std::string& out);
  bool flag(std::string_view key, bool& out);
  template <typename Int>
  bool integer(std::string_view key, Int& out, std::int64_t min, std::int64_t max,
               std::string_view what = "") {
    std::int64_t value = 0;
    if (!integer_in_range(key, value, min, max, what)) return false;
    out = static_cast<Int>(value);
    return true;
  }
  bool number(std::string_view key, double& out, double min, double max, std::string_view what = "");
  bool duration(std::string_view key, Nanos& out, Nanos min, Nanos max);
  /// An integer, or a string with KiB, MiB or GiB.
  bool bytes(std::string_view key, std::uint64_t& out, std::uint64_t min, std::uint64_t max);
  bool choice(std::string_view key, std::string& out, std::span<const std::string_view> allowed);
  /// An array of integers, or one integer.
  bool integers(std::string_view key, std::vector<std::int64_t>& out, std::int64_t min, std::int64_t max);
  /// A string, or a number as its text. `accept` returns "" or what is allowed; `kind` is said of other
  /// types.
  bool parsed(std::string_view key, std::string_view kind,
              const std::function<std::string(std::string_view)>& accept);

  std::optional<TomlReader> table(std::string_view key);
  /// [[key]]: one reader per element.
  std::vector<TomlReader> tables(std::string_view key);

  /// Refuses keys that nobody asked for.
  void finish() const;

  /// "FILE:LINE: key 'x' = value: allowed", thrown; "--x = value: allowed" for flags.
  [[noreturn]] void refuse(std::string_view key, std::string_view allowed) const;
  /// "FILE:LINE: [table]: problem", thrown.
  [[noreturn]] void refuse_table(std::string_view problem) const;
  /// Line of the key, or of the table when the key is absent.
  std::uint32_t line(std::string_view key) const;
  std::uint32_t line() const { return table_->source().begin.line; }

 private:
  std::string place(std::string_view key) const;  ///< "FILE:LINE: key 'x'" or "--x"
  const toml::node* lookup(std::string_view key);
  bool integer_in_range(std::string_view key, std::int64_t& out, std::int64_t min, std::int64_t max,
                        std::string_view what);

  const toml::table* table_;
  std::string name_;
  const std::string* file_;
  std::vector<std::string_view> known_;
};

}  // namespace rain::tools
