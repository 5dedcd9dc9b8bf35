#include "workload/presets.h"

#include <algorithm>
#include <array>

namespace rain::workload {
namespace {

// Task types are the classes' places unless given: slices are laid over them by number.
constexpr auto kPresets = std::to_array<Preset>({
    {"high-bimodal", "short:0.5:const:1us,long:0.5:const:100us", "Persephone"},
    {"extreme-bimodal", "short:0.995:const:500ns,long:0.005:const:500us", "Persephone"},
    {"tpcc",
     "payment:0.44:const:5.7us,order-status:0.04:const:6us,new-order:0.44:const:20us,delivery:0.04:const:"
     "88us,"
     "stock-level:0.04:const:100us",
     "Persephone"},
    {"rocksdb-persephone", "get:0.5:const:1.5us,scan:0.5:const:635us", "Persephone"},
    {"bimodal-90-10", "short:0.9:const:50us,long:0.1:const:500us", "RackSched"},
    {"bimodal-50-50", "short:0.5:const:50us,long:0.5:const:500us", "RackSched"},
    {"trimodal-thirds",
     "short:0.333333333:const:50us,medium:0.333333333:const:500us,long:0.333333334:const:5ms", "RackSched"},
    {"rocksdb-fixed", "get:0.9:const:8us,scan:0.1:const:107us", "Rain, section 5.2.2: 10 and 500 keys"},
    {"rocksdb-exp", "get:0.9:exp:8us,scan:0.1:exp:107us",
     "Rain, section 5.2.2: key counts exponential, so times too"},
    {"rocksdb-fixed", "get:0.9:const:10,scan:0.1:const:500", "the same in keys, for the application rocksdb",
     Quantity::kCount},
    {"rocksdb-exp", "get:0.9:exp:10,scan:0.1:exp:500", "the same in keys, for the application rocksdb",
     Quantity::kCount},
});

}  // namespace

std::span<const Preset> presets() { return kPresets; }

const Preset* find_preset(std::string_view name, Quantity quantity) {
  const auto at = std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& preset) {
    return preset.name == name && preset.quantity == quantity;
  });
  return at == kPresets.end() ? nullptr : &*at;
}

std::string preset_names(Quantity quantity) {
  std::string names;
  for (const Preset& preset : kPresets) {
    if (preset.quantity != quantity) continue;
    if (!names.empty()) names += ", ";
    names += preset.name;
  }
  return names;
}

}  // namespace rain::workload
