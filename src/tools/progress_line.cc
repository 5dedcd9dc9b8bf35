// See progress_line.h.
#include "tools/progress_line.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace rain::tools {

ProgressLine::ProgressLine(std::string prefix)
    : prefix_(std::move(prefix)), in_place_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const std::string& text) {
  // "\033[K" clears what a longer line before left behind.
  std::fprintf(stderr, in_place_ ? "\r%s%s\033[K" : "%s%s\n", prefix_.c_str(), text.c_str());
  std::fflush(stderr);
  open_ = in_place_;
}

void ProgressLine::done() {
  if (open_) std::fputc('\n', stderr);
  open_ = false;
}

}  // namespace rain::tools
