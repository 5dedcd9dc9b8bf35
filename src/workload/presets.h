// Workloads that the literature uses, by name: a preset stands wherever classes are written (parse_classes()).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "workload/distribution.h"

namespace rain::workload {

struct Preset {
  std::string_view name;
  std::string_view classes;  ///< as parse_classes() takes them
  std::string_view source;
  Quantity quantity = Quantity::kTime;  ///< what the distributions are of
};

std::span<const Preset> presets();
/// nullptr: there is none of that name and quantity.
const Preset* find_preset(std::string_view name, Quantity quantity);
/// "a, b, c": those of a quantity.
std::string preset_names(Quantity quantity);

}  // namespace rain::workload
