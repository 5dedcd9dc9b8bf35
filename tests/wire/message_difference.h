// Compares two messages in what they mean: base header, the groups of fields that their type has, and
// payload. Shared by the tests and the fuzzers of this layer.
#pragma once

#include <algorithm>
#include <string>

#include "wire/message.h"

namespace rain::wire {

/// The name of the first part in which the two differ; "" when they mean the same.
inline std::string difference(const Message& a, const Message& b) {
  if (a.layout != b.layout) return "layout";
  if (a.type != b.type) return "type";
  if (a.policy != b.policy) return "policy";
  if (a.first != b.first) return "first";
  if (a.last != b.last) return "last";
  if (a.request_id != b.request_id) return "request_id";
  if (a.packet != b.packet) return "packet";
  if (a.has_extension != b.has_extension) return "has_extension";
  if (a.has_dispatch != b.has_dispatch) return "has_dispatch";
  if (!std::equal(a.payload.begin(), a.payload.end(), b.payload.begin(), b.payload.end())) return "payload";
  switch (a.type) {
    case MessageType::kRequest: {
      if (a.request.task_type != b.request.task_type) return "request.task_type";
      if (a.request.deadline_us != b.request.deadline_us) return "request.deadline_us";
      if (!a.has_dispatch) return "";
      if (a.dispatch.client != b.dispatch.client) return "dispatch.client";
      if (a.dispatch.worker != b.dispatch.worker) return "dispatch.worker";
      if (a.dispatch.level != b.dispatch.level) return "dispatch.level";
      if (a.dispatch.generation != b.dispatch.generation) return "dispatch.generation";
      if (a.dispatch.switch_delay_ns != b.dispatch.switch_delay_ns) return "dispatch.switch_delay_ns";
      if (a.dispatch.queue_length != b.dispatch.queue_length) return "dispatch.queue_length";
      return "";
    }
    case MessageType::kFeedback:
    case MessageType::kSync:
    case MessageType::kPull: {
      if (a.token.worker != b.token.worker) return "token.worker";
      if (a.token.epoch != b.token.epoch) return "token.epoch";
      if (a.token.token_key != b.token.token_key) return "token.token_key";
      if (a.token.generation != b.token.generation) return "token.generation";
      if (a.token.level != b.token.level) return "token.level";
      if (a.token.queue_length != b.token.queue_length) return "token.queue_length";
      if (a.token.recall != b.token.recall) return "token.recall";
      return "";
    }
    case MessageType::kSyncAck: {
      if (a.sync_ack.worker != b.sync_ack.worker) return "sync_ack.worker";
      if (a.sync_ack.epoch != b.sync_ack.epoch) return "sync_ack.epoch";
      if (a.sync_ack.boot_id != b.sync_ack.boot_id) return "sync_ack.boot_id";
      if (a.sync_ack.seen != b.sync_ack.seen) return "sync_ack.seen";
      if (a.sync_ack.consumed != b.sync_ack.consumed) return "sync_ack.consumed";
      if (a.sync_ack.level != b.sync_ack.level) return "sync_ack.level";
      if (a.sync_ack.recalled != b.sync_ack.recalled) return "sync_ack.recalled";
      return "";
    }
    case MessageType::kReply: {
      if (a.reply.worker != b.reply.worker) return "reply.worker";
      if (a.reply.switch_delay_ns != b.reply.switch_delay_ns) return "reply.switch_delay_ns";
      if (a.reply.worker_delay_ns != b.reply.worker_delay_ns) return "reply.worker_delay_ns";
      if (a.reply.service_ns != b.reply.service_ns) return "reply.service_ns";
      if (a.reply.queue_length != b.reply.queue_length) return "reply.queue_length";
      return "";
    }
    case MessageType::kDrop:
      return a.drop.reason != b.drop.reason ? "drop.reason" : "";
    case MessageType::kRequestReady:
    case MessageType::kSack:
    case MessageType::kFetch:
    case MessageType::kFetched:
      return "";
  }
  return "type outside the protocol";
}

}  // namespace rain::wire
