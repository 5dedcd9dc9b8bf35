#include "apps/rocksdb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "apps/reply_status.h"
#include "base/assert.h"
#include "base/prng.h"

namespace rain::apps {
namespace {

bool is_get(const workload::ClassSpec& one) { return one.name.starts_with("get"); }
bool is_scan(const workload::ClassSpec& one) { return one.name.starts_with("scan"); }

class RocksDb final : public App {
 public:
  RocksDb(std::string directory, const RocksDbShape& shape)
      : directory_(std::move(directory)), shape_(shape) {}

  std::string_view name() const override { return "rocksdb"; }
  workload::Quantity quantity() const override { return workload::Quantity::kCount; }
  std::string_view default_classes() const override { return "get:0.9:const:10,scan:0.1:const:500"; }

  Result<void> adopt_classes(std::vector<workload::ClassSpec>& classes) const override {
    for (workload::ClassSpec& one : classes) {
      if (!is_get(one) && !is_scan(one)) {
        return tl::unexpected(
            fmt::format("rocksdb: class \"{}\" (allowed: names that begin with get or scan)", one.name));
      }
      one.type = one.type.value_or(is_get(one) ? kTaskGet : kTaskScan);
    }
    return {};
  }

  RequestBuilder make_builder(std::vector<workload::ClassSpec> classes, std::uint64_t seed) const override {
    return [classes = std::move(classes), shape = shape_, random = Prng(seed)](
               const workload::Request& request, std::span<std::byte> out) mutable {
      const auto most = static_cast<std::int64_t>(kMaxKeysPerRequest);
      RocksDbRequest made;
      made.keys = static_cast<std::uint32_t>(std::clamp<std::int64_t>(request.demand, 1, most));
      if (is_get(classes[request.class_index])) {
        made.start = static_cast<std::uint32_t>(random.next());
      } else {
        made.operation = RocksDbOperation::kScan;
        made.items = RocksDbItems::kLarge;
        // The whole range lies in the database, so that every SCAN of a class takes the same time.
        made.keys = std::min(made.keys, shape.large_keys);
        made.start = static_cast<std::uint32_t>(random.below(shape.large_keys - made.keys + 1));
      }
      return write_rocksdb_request(made, out);
    };
  }

  std::string reply_error(Payload reply) const override {
    std::string error = status_error(reply, kRocksDbReplyBytes);
    // All keys that make_builder() asks for exist in a database of the same shape.
    if (error.empty() && parse_rocksdb_answer(reply)->found == 0) {
      error = "rocksdb: no key found (load and workers must have the same numbers of items)";
    }
    return error;
  }

  Result<void> prepare(const Progress& progress) override {
    std::filesystem::path directory = directory_;
    if (directory.empty()) {
      auto found = default_rocksdb_directory();
      if (!found) return tl::unexpected(found.error());
      directory = std::move(*found);
    }
    auto opened = RocksDbStore::open(directory, shape_, progress);
    if (!opened) return tl::unexpected(opened.error());
    store_ = std::move(*opened);
    return {};
  }

  Handler make_handler() override {
    RAIN_ASSERT(store_ != nullptr);
    // Shared, because a Handler must be copyable; the one worker thread is still its only user.
    return
        [session = std::make_shared<RocksDbStore::Session>(*store_)](const Task& task, ReplyBuffer& reply) {
          const ParsedRocksDbRequest parsed = parse_rocksdb_request(task.payload);
          if (!parsed.request) return refuse(reply, ReplyStatus::kBadRequest, parsed.error);
          const auto answer = session->serve(*parsed.request);
          if (!answer) return refuse(reply, ReplyStatus::kFailed, answer.error());
          append_rocksdb_answer(*answer, reply);
        };
  }

 private:
  std::string directory_;
  RocksDbShape shape_;
  std::shared_ptr<RocksDbStore> store_;
};

}  // namespace

Result<std::filesystem::path> default_rocksdb_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::filesystem::path(cache) / "rain";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::filesystem::path(home) / ".cache" / "rain";
  }
  return tl::unexpected(std::string(
      "rocksdb: no directory for the database (allowed: one given, or XDG_CACHE_HOME or HOME set)"));
}

std::filesystem::path rocksdb_path(const std::filesystem::path& directory, const RocksDbShape& shape) {
  // The leading number is the format of keys, values and files: to be raised when one of them changes.
  return directory / fmt::format("rocksdb-1-{}x{}-{}x{}", shape.small_keys, kSmallValueBytes,
                                 shape.large_keys, shape.large_value_bytes);
}

std::unique_ptr<App> make_rocksdb(std::string directory, const RocksDbShape& shape) {
  return std::make_unique<RocksDb>(std::move(directory), shape);
}

}  // namespace rain::apps
