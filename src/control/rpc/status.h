// Refusals as the RPC library's status. Private to this folder.
#pragma once

#include <grpcpp/grpcpp.h>

#include "control/refusal.h"

namespace rain::control {

inline grpc::Status to_status(const Refusal& refusal) {
  using enum grpc::StatusCode;
  switch (refusal.reason) {
    case Reason::kUnknown:
      return {NOT_FOUND, refusal.text};
    case Reason::kDuplicate:
      return {ALREADY_EXISTS, refusal.text};
    case Reason::kStale:
      return {ABORTED, refusal.text};
    case Reason::kOutOfRange:
    case Reason::kNonsense:
      return {INVALID_ARGUMENT, refusal.text};
    case Reason::kLastWorker:
    case Reason::kInUse:
    case Reason::kWrongState:
      return {FAILED_PRECONDITION, refusal.text};
    case Reason::kClock:
      return {INTERNAL, refusal.text};
    case Reason::kNoRoom:
      return {RESOURCE_EXHAUSTED, refusal.text};
  }
  return {INTERNAL, refusal.text};
}

}  // namespace rain::control
