// What an application of the rack is to the tools: how the load generator makes its requests and judges its replies,
// and what its workers do with a request. Adding an application is one file that implements this class and one line
// in registry.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/time.h"
#include "rain/rpc.h"
#include "rain/worker.h"
#include "workload/workload.h"

namespace rain::apps {

/// A result, or one line for people: what is wrong, where, and what is allowed.
template <typename T>
using Result = tl::expected<T, std::string>;

/// Hears of long work: what is being done, how much of how much. Called a few times a second at most.
using Progress = std::function<void(std::string_view what, std::uint64_t done, std::uint64_t total)>;

/// Writes the payload of one request into `out` (kMaxMessageBytes at least) and returns it. No allocation. Made from a
/// seed: the same requests give the same payloads on any machine.
using RequestBuilder = std::function<Payload(const workload::Request& request, std::span<std::byte> out)>;

class App {
 public:
  virtual ~App() = default;

  virtual std::string_view name() const = 0;

  /// What the distributions of its classes are of (service time, keys, bytes), for parse_classes().
  virtual workload::Quantity quantity() const = 0;
  /// The classes of a load that names none.
  virtual std::string_view default_classes() const = 0;

  /// Load side. Checks that it has such classes and gives those without a task type theirs.
  virtual Result<void> adopt_classes(std::vector<workload::ClassSpec>& classes) const = 0;
  /// Load side. `classes` as adopt_classes() left them.
  virtual RequestBuilder make_builder(std::vector<workload::ClassSpec> classes, std::uint64_t seed) const = 0;
  /// Load side. Empty when the reply says that the request was served, else what it says or what is wrong with it.
  virtual std::string reply_error(Payload reply) const = 0;

  /// Worker side, once per process, before make_handler(). May take long on its first use on a machine.
  virtual Result<void> prepare(const Progress& progress) = 0;
  /// Worker side, one per worker thread. The handler is used by that thread alone and must not outlive the App.
  virtual Handler make_handler() = 0;
};

/// Settings of all applications; each reads its own.
struct AppOptions {
  Nanos synthetic_limit = seconds(1);  ///< longer service times are refused, 1 us .. 100 s
  std::string rocksdb_directory{};     ///< where the database lives; empty: the user's cache directory
  std::uint32_t rocksdb_small_keys = 1'000'000;  ///< items with 64-byte values, 1 .. 100,000,000
  std::uint32_t rocksdb_large_keys = 100'000;    ///< items with 1,024-byte values, the same range
};

/// The application of that name. Errors: no such application (the message lists them), an option out of range.
Result<std::unique_ptr<App>> make_app(std::string_view name, const AppOptions& options = {});

/// The applications' names: echo, synthetic, rocksdb.
std::span<const std::string_view> app_names();

}  // namespace rain::apps
