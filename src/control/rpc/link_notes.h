// What a link tells people: each state of its connection once, not every attempt. Private to this folder.
#pragma once

#include <functional>
#include <string>

namespace rain::control {

class LinkNotes {
 public:
  explicit LinkNotes(std::function<void(const std::string&)> note) : note_(std::move(note)) {}

  void attached() { say("the controller is reached"); }
  /// `problem`: one line.
  void lost(const std::string& problem) { say(problem + "; trying again"); }

 private:
  void say(const std::string& text) {
    if (text == last_) return;
    last_ = text;
    if (note_) note_(text);
  }

  std::function<void(const std::string&)> note_;
  std::string last_;
};

}  // namespace rain::control
