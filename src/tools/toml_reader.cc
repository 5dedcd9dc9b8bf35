// See toml_reader.h.
#include "tools/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/duration_text.h"
#include "base/utf8.h"
#include "control/names.h"
#include "tools/suggest.h"
#include "tools/units.h"

namespace rain::tools {
namespace {

constexpr std::size_t kLongestShownValue = 60;
constexpr std::size_t kLongestDescription = 200;  // of what is wrong with a file
constexpr std::size_t kLargestFileBytes = std::size_t{4} << 20;

/// The value as the file spells it, on one line, cut when long.
std::string shown(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (const auto whole = node.as_integer()) return std::to_string(whole->get());
  // The library writes 0.3 as 0.29999999999999999, but 80.0 as that.
  if (const auto real = node.as_floating_point(); real && std::floor(real->get()) != real->get())
    return fmt::format("{}", real->get());
  std::ostringstream stream;
  node.visit([&stream](const auto& value) { stream << value; });
  std::string text = stream.str();
  if (node.is_string()) text = '"' + *node.value<std::string>() + '"';
  return one_line(text, kLongestShownValue);
}

/// Of a file's text, counted from 1.
std::string_view line_of(std::string_view text, std::uint32_t line) {
  for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

std::string range_text(std::string_view kind, const std::string& min, const std::string& max,
                       std::string_view what) {
  return fmt::format("{} from {} to {}{}{}", kind, min, max, what.empty() ? "" : ", ", what);
}

}  // namespace

toml::table flags_as_table(const std::vector<std::pair<std::string, std::string>>& flags,
                           std::initializer_list<std::string_view> texts) {
  toml::table table;
  for (const auto& [name, text] : flags) {
    std::int64_t whole = 0;
    const char* const end = text.data() + text.size();
    if (std::find(texts.begin(), texts.end(), name) != texts.end()) {
      table.insert_or_assign(name, text);
    } else if (const auto [at, error] = std::from_chars(text.data(), end, whole);
               error == std::errc{} && at == end) {
      table.insert_or_assign(name, whole);
    } else if (const auto number = parse_number(text)) {
      table.insert_or_assign(name, *number);
    } else if (text == "true" || text == "false") {
      table.insert_or_assign(name, text == "true");
    } else {
      table.insert_or_assign(name, text);
    }
  }
  return table;
}

toml::table parse_toml_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw InputError(fmt::format("{}: no such file", path));
  std::string text(kLargestFileBytes + 1, '\0');
  std::ifstream stream(path);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.is_open() || stream.bad()) throw InputError(fmt::format("{}: cannot be read as a file", path));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kLargestFileBytes)
    throw InputError(fmt::format("{}: larger than {} bytes", path, kLargestFileBytes));
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& problem) {
    const std::uint32_t line = problem.source().begin.line;
    throw InputError(fmt::format("{}:{}: not TOML: {}: {}", path, line,
                                 one_line(problem.description(), kLongestDescription),
                                 one_line(line_of(text, line), kLongestShownValue)));
  }
}

TomlReader::TomlReader(const toml::table& table, std::string name, const std::string& file)
    : table_(&table), name_(std::move(name)), file_(&file) {}

const toml::node* TomlReader::lookup(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  return table_->get(key);
}

std::uint32_t TomlReader::line(std::string_view key) const {
  const toml::node* node = table_->get(key);
  return node != nullptr ? node->source().begin.line : line();
}

std::string TomlReader::place(std::string_view key) const {
  const std::string shown_key = one_line(key, kLongestShownValue);
  if (!file_->empty()) return fmt::format("{}:{}: key '{}'", *file_, line(key), shown_key);
  if (!name_.empty()) return fmt::format("{}: key '{}'", name_, shown_key);
  std::string flag = "--" + std::string(key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void TomlReader::refuse(std::string_view key, std::string_view allowed) const {
  const toml::node* node = table_->get(key);
  if (node == nullptr) throw InputError(fmt::format("{} is missing: {}", place(key), allowed));
  throw InputError(fmt::format("{} = {}: {}", place(key), shown(*node), allowed));
}

void TomlReader::refuse_table(std::string_view problem) const {
  if (file_->empty()) throw InputError(std::string(problem));
  throw InputError(fmt::format("{}:{}: {}: {}", *file_, std::max(line(), 1u), name_, problem));
}

bool TomlReader::text(std::string_view key, std::string& out) {
  const toml::node* node = lookup(key);
  if (node == nullptr) return false;
  if (!node->is_string() || node->value<std::string>()->empty()) refuse(key, "a string that is not empty");
  out = *node->value<std::string>();
  return true;
}

bool TomlReader::name(std::string_view key, std::string& out) {
  const toml::node* node = lookup(key);
  if (node == nullptr) return false;
  if (!node->is_string()) refuse(key, fmt::format("a string, {}", control::kNameAllowed));
  std::string value = *node->value<std::string>();
  if (!control::is_name(value)) refuse(key, control::kNameAllowed);
  out = std::move(value);
  return true;
}

bool TomlReader::flag(std::string_view key, bool& out) {
  const toml::node* node = lookup(key);
  if (node == nullptr) return false;
  if (!node->is_boolean()) refuse(key, "true or false");
  out = *node->value<bool>();
  return true;
}

bool TomlReader::integer_in_range(std::string_view key, std::int64_t& out, std::int64_t min, std::int64_t max,
                                  std::string_view what) {
  const toml::node* node = lookup(key);
  if (node == nullptr) return false;
  if (!node->is_integer() || *node->value<std::int64_t>() < min || *node->value<std::int64_t>() > max) {
    refuse(key, range_text("an integer", std::to_string(min), std::to_string(max), what));
  }
  out = *node->value<std::int64_t>();
  return true;
}

bool TomlReader::number(std::string_view key, double& out, double min, double max, std::string_view what) {
  const toml::node* node = lookup(key);
  if (node == nullptr) return false;
  const double value = node->is_number() ? *node->value<double>() : std::nan("");
  if (!(value >= min && value <= max)) {
    refuse(key, range_text("a number", fmt::format("{:g}", min), fmt::format("{:g}", max), what));
  }
  out = value;
  return true;
}

bool TomlReader::duration(std::string_view key, Nanos& out, Nanos min, Nanos max) {
  const toml::node* node = lookup(key);
  if (node == nullptr) return false;
  Nanos value{-1};
  if (node->is_string()) value = parse_duration(*node->value<std::string>()).value_or(Nanos{-1});
  if (node->is_integer() && *node->value<std::int64_t>() == 0)
    value = {};  // the one number that needs no unit
  if (value < min || value > max) {
    refuse(key, range_text("a time with its unit (ns, us, ms, s, min)", format_duration(min),
                           format_duration(max), ""));
  }
  out = value;
  return true;
}

bool TomlReader::bytes(std::string_view key, std::uint64_t& out, std::uint64_t min, std::uint64_t max) {
  const toml::node* node = lookup(key);
  if (node == nullptr) return false;
  std::optional<std::uint64_t> value;
  if (node->is_string()) value = parse_bytes(*node->value<std::string>());
  if (node->is_integer() && *node->value<std::int64_t>() >= 0) value = *node->value<std::uint64_t>();
  if (!value || *value < min || *value > max) {
    refuse(key, range_text("bytes (an integer, or a string with KiB, MiB or GiB)", std::to_string(min),
                           std::to_string(max), ""));
  }
  out = *value;
  return true;
}

bool TomlReader::choice(std::string_view key, std::string& out, std::span<const std::string_view> allowed) {
  const toml::node* node = lookup(key);
  if (node == nullptr) return false;
  const std::string value = node->is_string() ? *node->value<std::string>() : "";
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    refuse(key, "one of " + comma_list(allowed) + did_you_mean(value, allowed));
  }
  out = value;
  return true;
}

bool TomlReader::integers(std::string_view key, std::vector<std::int64_t>& out, std::int64_t min,
                          std::int64_t max) {
  const toml::node* node = lookup(key);
  if (node == nullptr) return false;
  const auto refuse_it = [&] {
    refuse(key, fmt::format("integers from {} to {}, in brackets, at least one", min, max));
  };
  std::vector<std::int64_t> values;
  const auto take = [&](const toml::node& element) {
    if (!element.is_integer()) refuse_it();
    const std::int64_t value = *element.value<std::int64_t>();
    if (value < min || value > max) refuse_it();
    values.push_back(value);
  };
  if (const toml::array* array = node->as_array()) {
    for (const toml::node& element : *array) take(element);
  } else {
    take(*node);
  }
  if (values.empty()) refuse_it();
  out = std::move(values);
  return true;
}

bool TomlReader::parsed(std::string_view key, std::string_view kind,
                        const std::function<std::string(std::string_view)>& accept) {
  const toml::node* node = lookup(key);
  if (node == nullptr) return false;
  if (!node->is_string() && !node->is_number()) refuse(key, kind);
  const std::string allowed = accept(node->is_string() ? *node->value<std::string>() : shown(*node));
  if (!allowed.empty()) refuse(key, allowed);
  return true;
}

std::optional<TomlReader> TomlReader::table(std::string_view key) {
  const toml::node* node = lookup(key);
  if (node == nullptr) return std::nullopt;
  const toml::table* table = node->as_table();
  if (table == nullptr) refuse(key, fmt::format("a table, written as [{}]", key));
  return TomlReader(*table, fmt::format("[{}]", key), *file_);
}

std::vector<TomlReader> TomlReader::tables(std::string_view key) {
  std::vector<TomlReader> readers;
  const toml::node* node = lookup(key);
  if (node == nullptr) return readers;
  const toml::array* array = node->as_array();
  const bool all_tables = array != nullptr && std::all_of(array->begin(), array->end(),
                                                          [](const auto& n) { return n.is_table(); });
  if (!all_tables || array->empty()) refuse(key, fmt::format("tables, each written as [[{}]]", key));
  for (const toml::node& element : *array) {
    readers.emplace_back(*element.as_table(), fmt::format("[[{}]]", key), *file_);
  }
  return readers;
}

void TomlReader::finish() const {
  for (const auto& [key, node] : *table_) {
    if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
    std::vector<std::string_view> allowed = known_;
    std::sort(allowed.begin(), allowed.end());
    throw InputError(fmt::format("{} = {}: unknown in {}, allowed are {}{}", place(key.str()), shown(node),
                                 name_, comma_list(allowed), did_you_mean(key.str(), allowed)));
  }
}

}  // namespace rain::tools
