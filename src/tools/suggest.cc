// See suggest.h. Plain dynamic programming: words are short and this runs once, on the way to an error
// message.
#include "tools/suggest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rain::tools {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates) {
  // A slip changes, swaps or drops a letter or two; more is another word, and so is every other single letter.
  const std::size_t limit = word.size() <= 1 ? 0 : word.size() <= 3 ? 1 : word.size() <= 7 ? 2 : 3;
  std::string_view nearest;
  std::size_t smallest = limit + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < smallest) {
      smallest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearest_word(word, candidates);
  if (nearest.empty()) return {};
  return "; did you mean '" + std::string(nearest) + "'?";
}

std::string comma_list(std::span<const std::string_view> words) {
  std::string list;
  for (const std::string_view word : words) {
    if (!list.empty()) list += ", ";
    list += word;
  }
  return list;
}

}  // namespace rain::tools
