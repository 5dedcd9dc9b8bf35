// The first byte of every reply but echo's: served, or refused with a text for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rain/rpc.h"
#include "rain/worker.h"

namespace rain::apps {

enum class ReplyStatus : std::uint8_t {
  kOk = 0,          ///< what follows is the application's
  kBadRequest = 1,  ///< what follows is text: what was wrong with the request
  kFailed = 2,      ///< what follows is text: what went wrong with a good request
};

/// Starts a reply.
inline void append_status(ReplyBuffer& reply, ReplyStatus status) {
  const auto byte = static_cast<std::byte>(status);
  reply.append({&byte, 1});
}

/// Makes the whole reply a refusal.
inline void refuse(ReplyBuffer& reply, ReplyStatus status, std::string_view why) {
  reply.clear();
  append_status(reply, status);
  reply.append(as_payload(why.substr(0, reply.capacity() - reply.size())));
}

/// Empty for a reply of status kOk with exactly `ok_bytes` bytes, else what it says or what is wrong with it.
inline std::string status_error(Payload reply, std::size_t ok_bytes) {
  if (reply.empty()) return "empty reply";
  const auto status = static_cast<ReplyStatus>(reply[0]);
  if (status == ReplyStatus::kBadRequest || status == ReplyStatus::kFailed) {
    return reply.size() > 1 ? std::string(as_text(reply.subspan(1))) : "refused without a reason";
  }
  if (status != ReplyStatus::kOk) return "reply of unknown status";
  return reply.size() == ok_bytes ? "" : "reply of wrong size";
}

}  // namespace rain::apps
