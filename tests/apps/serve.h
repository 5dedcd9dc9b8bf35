// One request through an application's handler, as a worker would do it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "apps/app.h"

namespace rain::apps {

inline std::vector<std::byte> serve(const Handler& handler, Payload request) {
  const auto reply = std::make_unique<ReplyBuffer>();
  handler({.payload = request, .type = {}, .client = {}, .in_switch = {}, .in_worker = {}}, *reply);
  EXPECT_FALSE(reply->overflowed());
  return {reply->bytes().begin(), reply->bytes().end()};
}

}  // namespace rain::apps
