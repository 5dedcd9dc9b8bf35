// Progress on standard error: rewritten in place on a terminal, one line each elsewhere.
#pragma once

#include <string>

namespace rain::tools {

class ProgressLine {
 public:
  explicit ProgressLine(std::string prefix);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { done(); }

  void show(const std::string& text);
  /// Ends the line, so that what follows starts on its own.
  void done();

 private:
  std::string prefix_;
  bool in_place_;
  bool open_ = false;
};

}  // namespace rain::tools
