// "Did you mean": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rain::tools {

/// The candidate at the smallest edit distance from `word`, or "" when none is near enough to be a typing
/// slip.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);

/// "; did you mean 'X'?" for the nearest candidate, or "" when there is none.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

/// "a, b, c".
std::string comma_list(std::span<const std::string_view> words);

}  // namespace rain::tools
