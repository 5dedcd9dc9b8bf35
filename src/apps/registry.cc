#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/app.h"
#include "apps/echo.h"
#include "apps/rocksdb.h"
#include "apps/synthetic.h"
#include "base/duration_text.h"

namespace rain::apps {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"echo", "synthetic", "rocksdb"};

constexpr Nanos kMinSyntheticLimit = microseconds(1);
constexpr Nanos kMaxSyntheticLimit = seconds(100);
constexpr std::uint32_t kMaxRocksDbKeys = 100'000'000;

Result<void> check(const AppOptions& options) {
  const Nanos limit = options.synthetic_limit;
  if (limit < kMinSyntheticLimit || limit > kMaxSyntheticLimit) {
    return tl::unexpected(fmt::format("synthetic: service time limit {} is out of range (allowed: {} to {})",
                                      format_duration(limit), format_duration(kMinSyntheticLimit),
                                      format_duration(kMaxSyntheticLimit)));
  }
  for (const std::uint32_t keys : {options.rocksdb_small_keys, options.rocksdb_large_keys}) {
    if (keys < 1 || keys > kMaxRocksDbKeys) {
      return tl::unexpected(
          fmt::format("rocksdb: {} keys are out of range (allowed: 1 to {})", keys, kMaxRocksDbKeys));
    }
  }
  return {};
}

}  // namespace

std::span<const std::string_view> app_names() { return kNames; }

Result<std::unique_ptr<App>> make_app(std::string_view name, const AppOptions& options) {
  if (auto good = check(options); !good) return tl::unexpected(good.error());
  if (name == "echo") return make_echo();
  if (name == "synthetic") return make_synthetic(options.synthetic_limit);
  if (name == "rocksdb") {
    return make_rocksdb(options.rocksdb_directory,
                        {.small_keys = options.rocksdb_small_keys, .large_keys = options.rocksdb_large_keys});
  }
  return tl::unexpected(fmt::format("no application \"{}\" (allowed: {})", name, fmt::join(kNames, ", ")));
}

}  // namespace rain::apps
