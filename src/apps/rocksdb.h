// The application `rocksdb`: point reads (GET) and range scans (SCAN) of an embedded database, as in section 5.2.2 of the
// paper. See rocksdb_protocol.h for requests and replies and rocksdb_store.h for the database.
#pragma once

#include <memory>

#include "apps/app.h"
#include "apps/rocksdb_store.h"

namespace rain::apps {

/// Classes are of numbers of keys, and are named get.. or scan..: the first word decides the operation and the task
/// type. `directory` empty: default_rocksdb_directory().
std::unique_ptr<App> make_rocksdb(std::string directory, const RocksDbShape& shape);

}  // namespace rain::apps
