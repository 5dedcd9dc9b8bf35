// Service times of the application rocksdb: what one request of each kind costs a worker, in this machine's CPU time, with
// all data in the page cache. Fills a database of the default shape in the user's cache directory on first use.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/rocksdb_store.h"
#include "base/prng.h"

namespace rain::apps {
namespace {

// As a test the benchmark only has to run, and leaves nothing behind.
bool is_smoke() { return std::getenv("RAIN_BENCH_SMOKE") != nullptr; }

RocksDbShape shape() {
  if (!is_smoke()) return {};
  return {.small_keys = 10'000, .large_keys = 6'000};
}

std::filesystem::path smoke_directory() {
  return std::filesystem::temp_directory_path() / ("rain-bench-" + std::to_string(::getpid()));
}

void print_progress(std::string_view what, std::uint64_t done, std::uint64_t total) {
  std::fprintf(stderr, "%.*s: %llu of %llu\n", static_cast<int>(what.size()), what.data(),
               static_cast<unsigned long long>(done), static_cast<unsigned long long>(total));
}

std::shared_ptr<RocksDbStore> open_store() {
  const auto directory =
      is_smoke() ? Result<std::filesystem::path>(smoke_directory()) : default_rocksdb_directory();
  auto store =
      directory ? RocksDbStore::open(*directory, shape(), print_progress) : tl::unexpected(directory.error());
  if (store) return *store;
  std::fprintf(stderr, "%s\n", store.error().c_str());
  std::exit(1);
}

// The arguments: operation, items, keys.
void serve(benchmark::State& state) {
  static const std::shared_ptr<RocksDbStore> store = open_store();
  RocksDbStore::Session session(*store);
  RocksDbRequest request;
  request.operation = static_cast<RocksDbOperation>(state.range(0));
  request.items = static_cast<RocksDbItems>(state.range(1));
  request.keys = static_cast<std::uint32_t>(state.range(2));
  const std::uint32_t items = request.items == RocksDbItems::kSmall ? shape().small_keys : shape().large_keys;
  const bool scan = request.operation == RocksDbOperation::kScan;
  Prng random(1);
  for (auto _ : state) {
    request.start =
        static_cast<std::uint32_t>(random.below(scan ? items - request.keys + 1 : std::uint64_t{1} << 32));
    auto answer = session.serve(request);
    if (!answer || answer->found != request.keys) {
      state.SkipWithError(answer ? "keys are missing" : answer.error().c_str());
      return;
    }
    benchmark::DoNotOptimize(answer->checksum);
  }
}

void add(const char* name, RocksDbOperation operation, RocksDbItems items, int keys) {
  benchmark::RegisterBenchmark(name, serve)
      ->Args({static_cast<int>(operation), static_cast<int>(items), keys})
      ->Unit(benchmark::kMicrosecond)
      ->Repetitions(is_smoke() ? 1 : 7)
      ->ReportAggregatesOnly();
}

}  // namespace
}  // namespace rain::apps

int main(int argc, char** argv) {
  using namespace rain::apps;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  add("get_small", RocksDbOperation::kGetSeeded, RocksDbItems::kSmall, 10);
  add("get_large", RocksDbOperation::kGetSeeded, RocksDbItems::kLarge, 10);
  add("scan_large", RocksDbOperation::kScan, RocksDbItems::kLarge, 500);
  add("scan_large", RocksDbOperation::kScan, RocksDbItems::kLarge, 5'000);
  add("scan_small", RocksDbOperation::kScan, RocksDbItems::kSmall, 500);
  add("scan_small", RocksDbOperation::kScan, RocksDbItems::kSmall, 5'000);
  benchmark::RunSpecifiedBenchmarks();
  if (is_smoke()) std::filesystem::remove_all(smoke_directory());
  return 0;
}
