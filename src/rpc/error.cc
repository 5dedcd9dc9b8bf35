// Errors as people read them.
#include "rain/rpc.h"

namespace rain {

namespace {

const char* describe(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kDropped:
      return "dropped";
    case ErrorKind::kTimedOut:
      return "timed out";
    case ErrorKind::kBackpressure:
      return "too many open requests";
    case ErrorKind::kTooLarge:
      return "payload too large";
    case ErrorKind::kNetwork:
      return "network error";
    case ErrorKind::kBadOption:
      return "bad option";
  }
  return "unknown error";
}

}  // namespace

std::string Error::message() const {
  std::string text = describe(kind);
  if (kind == ErrorKind::kDropped) {
    text.append(": ")
        .append(drop_reason_name(reason))
        .append(" (")
        .append(drop_reason_help(reason))
        .append(")");
  }
  if (!detail.empty()) text.append(": ").append(detail);
  return text;
}

}  // namespace rain
