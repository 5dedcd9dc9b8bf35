// What a link tells people: each state of its connection once, not every attempt. Private to this folder.
#pragma once

#include <functional>
#include <string>

namespace rain::control {

class LinkNotes {
 public:
  explicit LinkNotes(std::function<void(const std::string&)> note) : note_(std::move(note)) {}

  void attached() {
    if (state_ != State::kAttached) say("the controller is reached");
    state_ = State::kAttached;
    last_refusal_.clear();
  }
  /// `problem`: one line. The words for "unreachable" vary from attempt to attempt: the first are said.
  void lost(const std::string& problem, bool unreachable) {
    const bool known = unreachable ? state_ == State::kUnreachable : problem == last_refusal_;
    state_ = unreachable ? State::kUnreachable : State::kRefused;
    last_refusal_ = unreachable ? "" : problem;
    if (!known) say(problem + "; trying again");
  }

 private:
  enum class State { kNew, kAttached, kUnreachable, kRefused };

  void say(const std::string& text) const {
    if (note_) note_(text);
  }

  std::function<void(const std::string&)> note_;
  State state_ = State::kNew;
  std::string last_refusal_;
};

}  // namespace rain::control
