// How many bytes each kind of packet occupies on a wire, from the sizes that the codec really writes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/link.h"
#include "wire/message.h"

namespace rain::sim {

class FrameSizes {
 public:
  /// Bytes on the wire, the task's payload included where there is one.
  std::uint32_t request(std::size_t payload_bytes) const { return frame_bytes(request_ + payload_bytes); }
  std::uint32_t dispatch(std::size_t payload_bytes) const { return frame_bytes(dispatch_ + payload_bytes); }
  std::uint32_t reply() const { return reply_; }
  std::uint32_t drop() const { return drop_; }
  std::uint32_t report() const { return report_; }  ///< FEEDBACK and SYNC
  std::uint32_t pull() const { return pull_; }
  std::uint32_t sync_ack() const { return sync_ack_; }

 private:
  static std::size_t header(wire::MessageType type, bool dispatched = false) {
    wire::Message message;
    message.type = type;
    message.has_extension = true;
    message.has_dispatch = dispatched;
    return wire::header_size(message);
  }

  std::size_t request_ = header(wire::MessageType::kRequest);
  std::size_t dispatch_ = header(wire::MessageType::kRequest, true);
  std::uint32_t reply_ = frame_bytes(header(wire::MessageType::kReply));
  std::uint32_t drop_ = frame_bytes(header(wire::MessageType::kDrop));
  std::uint32_t report_ = frame_bytes(header(wire::MessageType::kFeedback));
  std::uint32_t pull_ = frame_bytes(header(wire::MessageType::kPull));
  std::uint32_t sync_ack_ = frame_bytes(header(wire::MessageType::kSyncAck));
};

}  // namespace rain::sim
