// Fig. 2 of the paper, measured here: how long a SCAN of RocksDB takes by number of keys and size of items.
#pragma once

#include <filesystem>
#include <string>

namespace rain::tools {

bool rocksdb_figure_available();

/// The CSV. Makes and removes databases in `folder`. Throws std::runtime_error.
std::string measure_rocksdb_figure(const std::filesystem::path& folder, bool quick);

}  // namespace rain::tools
