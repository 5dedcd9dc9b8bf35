#include "transport/wake_event.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/clock.h"

namespace rain::transport {

WakeEvent::WakeEvent() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!descriptor_.valid()) throw std::system_error(errno, std::system_category(), "cannot open an eventfd");
}

// Neither can fail in a way that matters: a full counter is signalled already, an empty one is clear.
void WakeEvent::signal() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(descriptor_.get(), &one, sizeof(one));
}

void WakeEvent::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(descriptor_.get(), &count, sizeof(count));
}

void WakeEvent::wait(Nanos timeout) const {
  if (timeout <= Nanos{}) return;
  pollfd readable{descriptor_.get(), POLLIN, 0};
  const timespec limit = to_timespec(timeout);
  ppoll(&readable, 1, &limit, nullptr);
}

}  // namespace rain::transport
