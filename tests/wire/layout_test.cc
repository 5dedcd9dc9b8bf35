// The places of all fields, counted from the first byte of the packet, as docs/protocol.md gives them.
#include "wire/layout.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace rain::wire {
namespace {

constexpr std::size_t kExtensionAt = sizeof(BaseHeader);
constexpr std::size_t kDispatchAt = kExtensionAt + sizeof(RequestExtension);

TEST(layout, base_header__offsets) {
  EXPECT_EQ(offsetof(BaseHeader, magic), 0U);
  EXPECT_EQ(offsetof(BaseHeader, header_size), 1U);
  EXPECT_EQ(offsetof(BaseHeader, type_byte), 2U);
  EXPECT_EQ(offsetof(BaseHeader, flag_byte), 3U);
  EXPECT_EQ(offsetof(BaseHeader, request_id), 4U);
  EXPECT_EQ(offsetof(BaseHeader, packet), 6U);
}

TEST(layout, request__offsets) {
  EXPECT_EQ(kExtensionAt + offsetof(RequestExtension, task_type), 8U);
  EXPECT_EQ(kExtensionAt + offsetof(RequestExtension, deadline_us), 10U);
  EXPECT_EQ(kExtensionAt + sizeof(RequestExtension), 14U);
}

TEST(layout, dispatch__offsets) {
  EXPECT_EQ(kDispatchAt + offsetof(DispatchExtension, client_address), 14U);
  EXPECT_EQ(kDispatchAt + offsetof(DispatchExtension, client_port), 30U);
  EXPECT_EQ(kDispatchAt + offsetof(DispatchExtension, worker), 32U);
  EXPECT_EQ(kDispatchAt + offsetof(DispatchExtension, level), 34U);
  EXPECT_EQ(kDispatchAt + offsetof(DispatchExtension, flags), 35U);
  EXPECT_EQ(kDispatchAt + offsetof(DispatchExtension, generation), 36U);
  EXPECT_EQ(kDispatchAt + offsetof(DispatchExtension, switch_delay_ns), 40U);
  EXPECT_EQ(kDispatchAt + offsetof(DispatchExtension, queue_length), 44U);
  EXPECT_EQ(kDispatchAt + sizeof(DispatchExtension), 46U);
}

TEST(layout, token__offsets) {
  EXPECT_EQ(kExtensionAt + offsetof(TokenExtension, worker), 8U);
  EXPECT_EQ(kExtensionAt + offsetof(TokenExtension, epoch), 10U);
  EXPECT_EQ(kExtensionAt + offsetof(TokenExtension, token_key), 12U);
  EXPECT_EQ(kExtensionAt + offsetof(TokenExtension, generation), 16U);
  EXPECT_EQ(kExtensionAt + offsetof(TokenExtension, level), 20U);
  EXPECT_EQ(kExtensionAt + offsetof(TokenExtension, flags), 21U);
  EXPECT_EQ(kExtensionAt + offsetof(TokenExtension, queue_length), 22U);
  EXPECT_EQ(kExtensionAt + sizeof(TokenExtension), 24U);
}

TEST(layout, sync_ack__offsets) {
  EXPECT_EQ(kExtensionAt + offsetof(SyncAckExtension, worker), 8U);
  EXPECT_EQ(kExtensionAt + offsetof(SyncAckExtension, epoch), 10U);
  EXPECT_EQ(kExtensionAt + offsetof(SyncAckExtension, boot_id), 12U);
  EXPECT_EQ(kExtensionAt + offsetof(SyncAckExtension, seen), 16U);
  EXPECT_EQ(kExtensionAt + offsetof(SyncAckExtension, consumed), 20U);
  EXPECT_EQ(kExtensionAt + offsetof(SyncAckExtension, level), 24U);
  EXPECT_EQ(kExtensionAt + offsetof(SyncAckExtension, flags), 25U);
  EXPECT_EQ(kExtensionAt + offsetof(SyncAckExtension, reserved), 26U);
  EXPECT_EQ(kExtensionAt + sizeof(SyncAckExtension), 28U);
}

TEST(layout, reply__offsets) {
  EXPECT_EQ(kExtensionAt + offsetof(ReplyExtension, worker), 8U);
  EXPECT_EQ(kExtensionAt + offsetof(ReplyExtension, queue_length), 10U);
  EXPECT_EQ(kExtensionAt + offsetof(ReplyExtension, switch_delay_ns), 12U);
  EXPECT_EQ(kExtensionAt + offsetof(ReplyExtension, worker_delay_ns), 16U);
  EXPECT_EQ(kExtensionAt + offsetof(ReplyExtension, service_ns), 20U);
  EXPECT_EQ(kExtensionAt + sizeof(ReplyExtension), 24U);
}

TEST(layout, drop__offsets) {
  EXPECT_EQ(kExtensionAt + offsetof(DropExtension, reason), 8U);
  EXPECT_EQ(kExtensionAt + sizeof(DropExtension), 10U);
}

TEST(layout, steering_field__is_at_one_place_in_all_that_the_switch_receives) {
  EXPECT_EQ(offsetof(RequestExtension, task_type), offsetof(TokenExtension, worker));
}

}  // namespace
}  // namespace rain::wire
