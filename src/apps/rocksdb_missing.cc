// What stands for rocksdb_store.cc in a build without RocksDB: the application exists, its load side works, its workers
// say what is missing.
#include "apps/rocksdb_store.h"
#include "base/assert.h"

namespace rain::apps {

struct RocksDbStore::Impl {};
struct RocksDbStore::Session::Impl {};

bool rocksdb_available() { return false; }

Result<std::shared_ptr<RocksDbStore>> RocksDbStore::open(const std::filesystem::path&, const RocksDbShape&,
                                                         const Progress&) {
  return tl::unexpected(std::string(
      "rocksdb: this build has no RocksDB (install librocksdb-dev, then configure and build again)"));
}

RocksDbStore::RocksDbStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RocksDbStore::~RocksDbStore() = default;

// No store is ever opened, so there is none to have a session with.
RocksDbStore::Session::Session(RocksDbStore&) { RAIN_ASSERT(false); }
RocksDbStore::Session::Session(Session&&) noexcept = default;
RocksDbStore::Session::~Session() = default;
Result<RocksDbAnswer> RocksDbStore::Session::serve(const RocksDbRequest&) { RAIN_ASSERT(false); }

}  // namespace rain::apps
