// See rocksdb_figure.h.
#include "tools/rocksdb_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "apps/rocksdb_store.h"
#include "base/clock.h"
#include "base/prng.h"
#include "tools/progress_line.h"

namespace rain::tools {
namespace {

constexpr std::array<std::uint32_t, 6> kItemBytes = {32, 64, 128, 256, 512, 1024};  // as in the paper
constexpr std::array<std::uint32_t, 6> kKeys = {500, 1000, 1500, 2000, 2500, 3000};
constexpr std::uint32_t kItems = 100'000;
constexpr std::uint32_t kQuickItems = 10'000;
constexpr int kRounds = 5;

struct Database {
  std::shared_ptr<apps::RocksDbStore> store;
  apps::RocksDbStore::Session session;
};

/// Mean time of a SCAN in microseconds, of this thread's CPU time.
double measure_scan_us(Database& database, std::uint32_t items, std::uint32_t keys, int scans) {
  Prng random(keys);
  const Nanos begin = thread_cpu_time();
  for (int i = 0; i < scans; ++i) {
    const apps::RocksDbRequest request{.operation = apps::RocksDbOperation::kScan,
                                       .items = apps::RocksDbItems::kLarge,
                                       .keys = keys,
                                       .start = static_cast<std::uint32_t>(random.below(items - keys)),
                                       .listed = {}};
    const auto answer = database.session.serve(request);
    if (!answer) throw std::runtime_error(answer.error());
    if (answer->found != keys) throw std::runtime_error("fig2: a SCAN found too few items");
  }
  return static_cast<double>((thread_cpu_time() - begin).value) / 1000 / scans;
}

}  // namespace

bool rocksdb_figure_available() { return apps::rocksdb_available(); }

std::string measure_rocksdb_figure(const std::filesystem::path& folder, bool quick) {
  const int scans = quick ? 5 : 100;
  const std::uint32_t items = quick ? kQuickItems : kItems;
  ProgressLine progress("rain figures: fig2: ");
  const std::filesystem::path place = folder / "rocksdb";
  std::vector<Database> databases;
  for (const std::uint32_t bytes : kItemBytes) {
    progress.show(fmt::format("a database with items of {} bytes", bytes));
    auto store = apps::RocksDbStore::open(
        place, {.small_keys = 1, .large_keys = items, .large_value_bytes = bytes}, [](auto&&...) {});
    if (!store) throw std::runtime_error(store.error());
    apps::RocksDbStore::Session session(**store);
    databases.push_back(Database{std::move(*store), std::move(session)});
  }
  // The lowest of some rounds far apart, because what else the machine does only adds. The first one warms up.
  std::array<std::array<double, kKeys.size()>, kItemBytes.size()> lowest{};
  for (int round = 0; round <= kRounds; ++round) {
    progress.show(fmt::format("SCANs, round {} of {}", round, kRounds));
    for (std::size_t size = 0; size < kItemBytes.size(); ++size) {
      for (std::size_t k = 0; k < kKeys.size(); ++k) {
        const double us = measure_scan_us(databases[size], items, kKeys[k], scans);
        lowest[size][k] = round <= 1 ? us : std::min(lowest[size][k], us);
      }
    }
  }
  databases.clear();
  std::filesystem::remove_all(place);
  std::string csv = "item_bytes,keys,scan_us\n";
  for (std::size_t size = 0; size < kItemBytes.size(); ++size) {
    for (std::size_t k = 0; k < kKeys.size(); ++k)
      csv += fmt::format("{},{},{:.2f}\n", kItemBytes[size], kKeys[k], lowest[size][k]);
  }
  return csv;
}

}  // namespace rain::tools
