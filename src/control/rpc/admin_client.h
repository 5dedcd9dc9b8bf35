// What an operator asks and orders: `rain ctl`'s side of the controller.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "control/client_shares.h"
#include "control/controller.h"
#include "control/registry.h"
#include "control/rpc/security.h"

namespace rain::control {

struct WorkerStatus {
  WorkerRow row{};  ///< its token key is not told
  std::optional<WorkerReport> report{};
};
struct ServerStatus {
  std::string name{};
  bool attached = false;
  Nanos lease_left{};
};
struct ClientStatus {
  ClientRow row{};
  Nanos lease_left{};
};

struct RackStatus {
  std::uint64_t instance = 0;
  Version version = 0;
  std::vector<SliceRow> slices{};
  std::vector<TypeRow> types{};
  std::vector<WorkerStatus> workers{};
  std::vector<ServerStatus> servers{};
  std::vector<SwitchRow> switches{};
  std::vector<ClientStatus> clients{};
  std::uint64_t room = 0;  ///< Q_max
  std::vector<std::string> warnings{};
  std::map<std::string, std::uint64_t> refusals{};
  std::uint64_t clock_jumps = 0;
};

struct DrainOrder {
  WorkerId worker{};
  bool force = false;
};
struct RemoveOrder {
  WorkerId worker{};
  bool force = false;
};
struct ResumeOrder {
  WorkerId worker{};
};
struct MoveOrder {
  WorkerId worker{};
  std::string slice{};
  bool force = false;
};
struct QuotaOrder {
  WorkerId worker{};
  unsigned quota = 1;
};
struct AddSliceOrder {
  SliceRow slice{};
};
struct RemoveSliceOrder {
  std::string name{};
};
struct SetSliceOrder {
  std::string name{};
  SlicePatch patch{};
};
struct MasterOrder {
  std::string slice{};
  WorkerId worker{};
};
struct AddTypeOrder {
  TaskType type{};
  std::string slice{};
  bool move = false;
};
struct RemoveTypeOrder {
  TaskType type{};
};
struct WeightOrder {
  std::string client{};
  std::uint32_t weight = 1;
};
using Order =
    std::variant<DrainOrder, RemoveOrder, ResumeOrder, MoveOrder, QuotaOrder, AddSliceOrder, RemoveSliceOrder,
                 SetSliceOrder, MasterOrder, AddTypeOrder, RemoveTypeOrder, WeightOrder>;

struct OrderDone {
  Version version = 0;
  std::string note{};
};

struct CallProblem {
  bool bad_input = false;  ///< the order cannot be: an unknown worker, a number out of range. Else: not now
  std::string text{};      ///< one line
};

class AdminClient {
 public:
  /// The error is one line: security_problem(), a build without links.
  static tl::expected<std::unique_ptr<AdminClient>, std::string> open(const ControllerAddress& controller);
  virtual ~AdminClient() = default;

  // Each waits at most `limit`.
  virtual tl::expected<RackStatus, CallProblem> status(Nanos limit) = 0;
  /// `if_version`: only if it is the tables' present version; 0: whatever it is.
  virtual tl::expected<OrderDone, CallProblem> order(const Order& order, Version if_version, Nanos limit) = 0;
};

}  // namespace rain::control
