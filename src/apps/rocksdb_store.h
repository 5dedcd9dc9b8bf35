// The database behind the application `rocksdb`: created and filled on first use, read-only ever after.
//
// Two column families, small (64-byte values) and large (1,024-byte values), without compression. A database is named
// by its shape (format, numbers and sizes of items), so two shapes never disturb each other. filled_directory.h sees to it that
// a half-filled one is never used; once it is complete, any number of processes may read it at once, also on a
// read-only file system.
//
// Files are mapped: all processes and threads share the page cache, no copy lies in a block cache besides.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "apps/app.h"
#include "apps/rocksdb_protocol.h"

namespace rain::apps {

struct RocksDbShape {
  std::uint32_t small_keys = 1'000'000;
  std::uint32_t large_keys = 100'000;
  std::uint32_t large_value_bytes =
      kLargeValueBytes;  ///< of the large items; others than the protocol's: to measure
};

/// The user's cache directory for our databases: $XDG_CACHE_HOME/rain, else $HOME/.cache/rain. Error: neither is set.
Result<std::filesystem::path> default_rocksdb_directory();

/// Where under it the database of that shape lies.
std::filesystem::path rocksdb_path(const std::filesystem::path& directory, const RocksDbShape& shape);

/// Whether this build has RocksDB.
bool rocksdb_available();

/// Thread-safe for readers, each with a Session of its own.
class RocksDbStore {
 public:
  /// Opens the database of that shape under `directory`, creating both if need be. Errors name path and cause.
  static Result<std::shared_ptr<RocksDbStore>> open(const std::filesystem::path& directory,
                                                    const RocksDbShape& shape, const Progress& progress);
  ~RocksDbStore();

  /// One thread's way to read. Must not outlive the store.
  class Session {
   public:
    explicit Session(RocksDbStore& store);
    Session(Session&&) noexcept;
    ~Session();
    /// Error: what RocksDB says; keys that are not there are no error.
    Result<RocksDbAnswer> serve(const RocksDbRequest& request);

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };

  struct Impl;  ///< private to rocksdb_store.cc

 private:
  explicit RocksDbStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rain::apps
