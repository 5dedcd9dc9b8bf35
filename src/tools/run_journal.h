// The runs of a sweep that are done, on disk: a sweep that was killed goes on where it was.
//
// A line for each run, `KEY<tab>ROW`, appended in one write, so that a kill loses at most the line being written. The
// first line names the program that wrote them: another one may have come to other numbers, so its lines are worth
// nothing. Keys say everything about a run, hence lines of another sweep are never wrong, only unused.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace rain::tools {

class RunJournal {
 public:
  /// Opens or creates the file; what does not belong in it is cut off. Throws InputError when the folder cannot be
  /// made, the file cannot be written, or another process has it open.
  explicit RunJournal(std::filesystem::path file);
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;
  ~RunJournal();

  /// nullptr: not done.
  const std::string* find(const std::string& key) const;
  std::size_t size() const { return rows_.size(); }
  /// Neither has a tab or a line break. Throws std::runtime_error when the disk is full.
  void add(const std::string& key, const std::string& row);
  /// All is done and written elsewhere.
  void remove();

 private:
  void append(const std::string& line);

  std::filesystem::path path_;
  int fd_ = -1;
  std::map<std::string, std::string> rows_;
};

}  // namespace rain::tools
