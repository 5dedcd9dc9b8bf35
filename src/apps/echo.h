// The application `echo`: the reply is the request. Measures everything but an application.
#pragma once

#include <memory>

#include "apps/app.h"

namespace rain::apps {

/// Classes are of payload sizes in bytes (larger ones than kMaxMessageBytes are cut to it).
std::unique_ptr<App> make_echo();

}  // namespace rain::apps
