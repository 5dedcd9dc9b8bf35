#include "apps/rocksdb_store.h"

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "apps/filled_directory.h"
#include "base/assert.h"

namespace rain::apps {
namespace {

namespace fs = std::filesystem;
namespace rdb = rocksdb;

// What the two column families are called and hold.
struct Family {
  RocksDbItems items;
  const char* name;
  std::uint32_t RocksDbShape::*keys;

  std::size_t value_bytes(const RocksDbShape& shape) const {
    return items == RocksDbItems::kSmall ? kSmallValueBytes : shape.large_value_bytes;
  }
};
constexpr std::array<Family, 2> kFamilies = {{
    {RocksDbItems::kSmall, "small", &RocksDbShape::small_keys},
    {RocksDbItems::kLarge, "large", &RocksDbShape::large_keys},
}};

// RocksDB would write a LOG file into the database of every reader.
class NoLog final : public rdb::Logger {
 public:
  using rdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rdb::Options options() {
  rdb::Options made;
  made.create_if_missing = true;
  made.compression = rdb::kNoCompression;
  made.allow_mmap_reads = true;
  made.max_open_files = -1;  // tables with their indexes are opened once
  made.info_log = std::make_shared<NoLog>();
  return made;
}

// Each family for the operation that it serves: small blocks with a hash index for GETs of small items, blocks of many
// items for SCANs of large ones (measured: 4 KiB blocks make a SCAN half as slow again as 16 KiB blocks do).
rdb::Options family_options(RocksDbItems items) {
  using Table = rdb::BlockBasedTableOptions;
  Table table;
  table.no_block_cache = true;  // the page cache is one, and all processes share it
  table.block_size = items == RocksDbItems::kSmall ? 4096 : 16384;
  table.data_block_index_type =
      items == RocksDbItems::kSmall ? Table::kDataBlockBinaryAndHash : Table::kDataBlockBinarySearch;
  rdb::Options made = options();
  made.table_factory.reset(rdb::NewBlockBasedTableFactory(table));
  return made;
}

rdb::ReadOptions read_options() {
  rdb::ReadOptions made;
  made.verify_checksums = false;  // checked once, on opening
  return made;
}

tl::unexpected<std::string> failure(std::string_view what, const fs::path& path, const rdb::Status& status) {
  return tl::unexpected(fmt::format("rocksdb: cannot {} {}: {}", what, path.string(), status.ToString()));
}

rdb::Slice as_slice(const std::array<char, 8>& key) { return {key.data(), key.size()}; }

// Writes items 0..keys-1 in order into one table file: much faster than putting them one by one, and the database is
// in its final form, one level, at once.
Result<void> write_table(const fs::path& path, const Family& family, const RocksDbShape& shape,
                         const Progress& progress) {
  const std::uint32_t keys = shape.*family.keys;
  rdb::SstFileWriter writer(rdb::EnvOptions(), family_options(family.items));
  if (const auto status = writer.Open(path.string()); !status.ok()) return failure("create", path, status);
  const std::string what = fmt::format("filling the database, {} items", family.name);
  std::vector<char> value(family.value_bytes(shape));
  const std::uint32_t step = std::max(keys / 50, 1U);
  for (std::uint32_t key = 0; key < keys; ++key) {
    if (key % step == 0) progress(what, key, keys);
    rocksdb_value(key, value);
    const auto status = writer.Put(as_slice(rocksdb_key(key)), {value.data(), value.size()});
    if (!status.ok()) return failure("write", path, status);
  }
  if (const auto status = writer.Finish(); !status.ok()) return failure("write", path, status);
  progress(what, keys, keys);
  return {};
}

Result<void> fill_family(rdb::DB& db, const Family& family, const RocksDbShape& shape, const fs::path& data,
                         const Progress& progress) {
  rdb::ColumnFamilyHandle* made = nullptr;
  const auto created = db.CreateColumnFamily(family_options(family.items), family.name, &made);
  if (!created.ok()) return failure("create a column family in", data, created);
  const std::unique_ptr<rdb::ColumnFamilyHandle> handle(made);
  const fs::path table = data / fmt::format("{}.new", family.name);
  if (auto written = write_table(table, family, shape, progress); !written) return written;
  rdb::IngestExternalFileOptions move;
  move.move_files = true;
  const auto ingested = db.IngestExternalFile(handle.get(), {table.string()}, move);
  if (!ingested.ok()) return failure("add a table to", data, ingested);
  return {};
}

Result<void> fill(const fs::path& data, const RocksDbShape& shape, const Progress& progress) {
  std::error_code error;
  const std::uint64_t needed_bytes = std::uint64_t{shape.small_keys} * (kSmallValueBytes + 32) +
                                     std::uint64_t{shape.large_keys} * (shape.large_value_bytes + 32);
  const fs::space_info space = fs::space(data.parent_path(), error);
  if (!error && space.available < needed_bytes) {
    return tl::unexpected(fmt::format("rocksdb: {} has {} MB free (needed: {} MB)",
                                      data.parent_path().string(), space.available >> 20,
                                      needed_bytes >> 20));
  }
  rdb::DB* opened = nullptr;
  if (const auto status = rdb::DB::Open(options(), data.string(), &opened); !status.ok()) {
    return failure("create", data, status);
  }
  const std::unique_ptr<rdb::DB> db(opened);
  for (const Family& family : kFamilies) {
    if (auto filled = fill_family(*db, family, shape, data, progress); !filled) return filled;
  }
  if (const auto status = db->SyncWAL(); !status.ok()) return failure("write", data, status);
  if (const auto status = db->Close(); !status.ok()) return failure("close", data, status);
  return {};
}

}  // namespace

struct RocksDbStore::Impl {
  std::unique_ptr<rdb::DB> db;
  std::unique_ptr<rdb::ColumnFamilyHandle> default_family;  // RocksDB insists on one
  std::unique_ptr<rdb::ColumnFamilyHandle> small;
  std::unique_ptr<rdb::ColumnFamilyHandle> large;
  RocksDbShape shape;

  rdb::ColumnFamilyHandle* family(RocksDbItems items) const {
    return items == RocksDbItems::kSmall ? small.get() : large.get();
  }
  std::uint32_t key_count(RocksDbItems items) const {
    return items == RocksDbItems::kSmall ? shape.small_keys : shape.large_keys;
  }

  // Reads everything once, with checksums: brings the files into the page cache and finds a damaged one before any
  // request does.
  Result<void> read_all(const fs::path& data, const Progress& progress) const {
    for (const RocksDbItems items : {RocksDbItems::kSmall, RocksDbItems::kLarge}) {
      rdb::ReadOptions read;
      read.verify_checksums = true;
      const std::unique_ptr<rdb::Iterator> at(db->NewIterator(read, family(items)));
      std::uint32_t found = 0;
      const std::uint32_t step = std::max(key_count(items) / 10, 1U);
      for (at->SeekToFirst(); at->Valid(); at->Next()) {
        if (found++ % step == 0) progress("reading the database", found, key_count(items));
      }
      if (!at->status().ok()) return failure("read", data, at->status());
      if (found != key_count(items)) {
        return tl::unexpected(
            fmt::format("rocksdb: {} holds {} items (expected: {}); remove it to have it filled anew",
                        data.parent_path().string(), found, key_count(items)));
      }
    }
    return {};
  }
};

bool rocksdb_available() { return true; }

RocksDbStore::RocksDbStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RocksDbStore::~RocksDbStore() = default;

Result<std::shared_ptr<RocksDbStore>> RocksDbStore::open(const fs::path& directory, const RocksDbShape& shape,
                                                         const Progress& progress) {
  const auto data = ensure_filled(
      rocksdb_path(directory, shape), [&](const fs::path& path) { return fill(path, shape, progress); },
      [&] { progress("waiting for another process that fills the database", 0, 1); });
  if (!data) return tl::unexpected(data.error());

  std::vector<rdb::ColumnFamilyDescriptor> families = {{rdb::kDefaultColumnFamilyName, options()}};
  for (const Family& family : kFamilies) families.emplace_back(family.name, family_options(family.items));
  std::vector<rdb::ColumnFamilyHandle*> handles;
  rdb::DB* opened = nullptr;
  const auto status = rdb::DB::OpenForReadOnly(options(), data->string(), families, &handles, &opened);
  if (!status.ok()) return failure("open", *data, status);
  auto impl = std::make_unique<Impl>();
  impl->db.reset(opened);
  impl->default_family.reset(handles[0]);
  impl->small.reset(handles[1]);
  impl->large.reset(handles[2]);
  impl->shape = shape;
  if (auto good = impl->read_all(*data, progress); !good) return tl::unexpected(good.error());
  return std::shared_ptr<RocksDbStore>(new RocksDbStore(std::move(impl)));
}

// Iterators and the pinned value are made once: the database never changes, so a snapshot never ages.
struct RocksDbStore::Session::Impl {
  explicit Impl(const RocksDbStore::Impl& opened)
      : store(opened),
        small(store.db->NewIterator(read_options(), store.small.get())),
        large(store.db->NewIterator(read_options(), store.large.get())) {}

  const RocksDbStore::Impl& store;
  rdb::ReadOptions read = read_options();
  std::unique_ptr<rdb::Iterator> small;
  std::unique_ptr<rdb::Iterator> large;
  rdb::PinnableSlice value;

  rdb::Status get(const RocksDbRequest& request, std::uint32_t key, RocksDbAnswer& answer) {
    value.Reset();
    const rdb::Status status =
        store.db->Get(read, store.family(request.items), as_slice(rocksdb_key(key)), &value);
    if (status.IsNotFound()) return rdb::Status::OK();
    if (!status.ok()) return status;
    ++answer.found;
    answer.checksum += value_checksum({value.data(), value.size()});
    return status;
  }

  rdb::Status get_all(const RocksDbRequest& request, RocksDbAnswer& answer) {
    const bool listed = request.operation == RocksDbOperation::kGetListed;
    SeededKeys seeded(request.start, store.key_count(request.items));
    for (std::uint32_t i = 0; i < request.keys; ++i) {
      const rdb::Status status = get(request, listed ? listed_key(request, i) : seeded.next(), answer);
      if (!status.ok()) return status;
    }
    return rdb::Status::OK();
  }

  rdb::Status scan(const RocksDbRequest& request, RocksDbAnswer& answer) {
    rdb::Iterator& at = request.items == RocksDbItems::kSmall ? *small : *large;
    const auto start = rocksdb_key(request.start);
    for (at.Seek(as_slice(start)); at.Valid() && answer.found < request.keys; at.Next()) {
      ++answer.found;
      const rdb::Slice found = at.value();
      answer.checksum += value_checksum({found.data(), found.size()});
    }
    return at.status();
  }
};

RocksDbStore::Session::Session(RocksDbStore& store) : impl_(std::make_unique<Impl>(*store.impl_)) {}
RocksDbStore::Session::Session(Session&&) noexcept = default;
RocksDbStore::Session::~Session() = default;

Result<RocksDbAnswer> RocksDbStore::Session::serve(const RocksDbRequest& request) {
  RocksDbAnswer answer;
  const rdb::Status status = request.operation == RocksDbOperation::kScan ? impl_->scan(request, answer)
                                                                          : impl_->get_all(request, answer);
  if (!status.ok()) return tl::unexpected("rocksdb: " + status.ToString());
  return answer;
}

}  // namespace rain::apps
