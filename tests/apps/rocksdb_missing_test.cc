// A build without RocksDB says so when a worker wants it.
#include <gtest/gtest.h>

#include "apps/rocksdb.h"

namespace rain::apps {
namespace {

TEST(rocksdb_missing, prepare__says_what_to_install) {
  EXPECT_FALSE(rocksdb_available());
  EXPECT_EQ(make_rocksdb("/nowhere", {})->prepare({}).error(),
            "rocksdb: this build has no RocksDB (install librocksdb-dev, then configure and build again)");
}

}  // namespace
}  // namespace rain::apps
