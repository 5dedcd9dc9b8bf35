// Between the controller's types and the messages of proto/rain/v1. What comes from the network is checked on the way in:
// a number that does not fit its type is refused, never cut. Private to this folder.
#pragma once

#include <string>

#include "control/client_shares.h"
#include "control/controller.h"
#include "control/refusal.h"
#include "control/registry.h"
#include "rain/v1/control.pb.h"

namespace rain::control {

v1::Slice to_message(const SliceRow& row);
v1::TaskType to_message(const TypeRow& row);
v1::Worker to_message(const WorkerRow& row);
v1::WorkerReport to_message(const WorkerReport& report);
v1::Tables to_message(const Changes& changes);
v1::ServerHello to_message(const ServerClaim& claim);
v1::State to_message(const SavedState& state);

Result<SliceRow> from_message(const v1::Slice& message);
Result<TypeRow> from_message(const v1::TaskType& message);
Result<WorkerRow> from_message(const v1::Worker& message);
Result<Changes> from_message(const v1::Tables& message);
Result<ServerClaim> from_message(const v1::ServerHello& message);
Result<WorkerReport> from_message(const v1::WorkerReport& message);
Result<SavedState> from_message(const v1::State& message);
Result<SlicePatch> from_message(const v1::SetSlice& message);
Result<WorkerId> worker_id(std::uint32_t id);
Result<TaskType> task_type(std::uint32_t type);

/// Of the state file.
inline constexpr std::uint32_t kStateFormat = 1;

}  // namespace rain::control
