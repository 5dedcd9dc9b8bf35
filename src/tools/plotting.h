// The pictures: figures/plot.py, which this program carries inside, run by Python.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rain::tools {

/// figures/figures.toml.
std::string_view figures_file();

/// Throws InputError if there is no Python with matplotlib.
void require_plotting();

/// Writes plot.py and figures.toml to `folder` and runs `plot.py FOLDER ARGUMENT...`; what it prints goes to our standard
/// output. Throws std::runtime_error if it fails.
void plot(const std::filesystem::path& folder, const std::vector<std::string>& arguments);

}  // namespace rain::tools
