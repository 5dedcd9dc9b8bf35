// See rocksdb_figure.h.
#include "tools/rocksdb_figure.h"

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "apps/rocksdb_store.h"
#include "base/clock.h"
#include "base/prng.h"
#include "tools/progress_line.h"

namespace rain::tools {
namespace {

constexpr std::uint32_t kItemBytes[] = {32, 64, 128, 256, 512, 1024};  // as in the paper
constexpr std::uint32_t kKeys[] = {500, 1000, 1500, 2000, 2500, 3000};
constexpr std::uint32_t kItems = 100'000;
constexpr std::uint32_t kQuickItems = 10'000;
constexpr std::uint64_t kSeed = 1;

/// Mean time of a SCAN in microseconds, of this thread's CPU time: what other processes do is not RocksDB's.
double measure_scan_us(apps::RocksDbStore::Session& session, std::uint32_t items, std::uint32_t keys,
                       int scans) {
  Prng random(kSeed);
  Nanos begin{};
  for (int i = -scans / 10; i < scans; ++i) {
    if (i == 0) begin = thread_cpu_time();
    const apps::RocksDbRequest request{.operation = apps::RocksDbOperation::kScan,
                                       .items = apps::RocksDbItems::kLarge,
                                       .keys = keys,
                                       .start = static_cast<std::uint32_t>(random.below(items - keys)),
                                       .listed = {}};
    const auto answer = session.serve(request);
    if (!answer) throw std::runtime_error(answer.error());
    if (answer->found != keys) throw std::runtime_error("fig2: a SCAN found too few items");
  }
  return static_cast<double>((thread_cpu_time() - begin).value) / 1000 / scans;
}

}  // namespace

bool rocksdb_figure_available() { return apps::rocksdb_available(); }

std::string measure_rocksdb_figure(const std::filesystem::path& folder, bool quick) {
  const int scans = quick ? 20 : 300;
  const std::uint32_t items = quick ? kQuickItems : kItems;
  ProgressLine progress("rain figures: ");
  std::string csv = "item_bytes,keys,scan_us\n";
  const std::filesystem::path databases = folder / "rocksdb";
  for (const std::uint32_t bytes : kItemBytes) {
    progress.show(fmt::format("fig2: SCANs of items of {} bytes", bytes));
    {
      auto store = apps::RocksDbStore::open(
          databases, {.small_keys = 1, .large_keys = items, .large_value_bytes = bytes}, [](auto&&...) {});
      if (!store) throw std::runtime_error(store.error());
      apps::RocksDbStore::Session session(**store);
      for (const std::uint32_t keys : kKeys)
        csv += fmt::format("{},{},{:.2f}\n", bytes, keys, measure_scan_us(session, items, keys, scans));
    }
    std::filesystem::remove_all(databases);
  }
  return csv;
}

}  // namespace rain::tools
