// Tables for people: columns as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace softneuro::tool {

class Table {
 public:
  // A leading '>' in a title aligns its column to the right.
  explicit Table(std::vector<std::string> titles);
  // As many cells as titles; their text is made printable.
  void add(std::vector<std::string> cells);
  std::string str() const;

 private:
  std::vector<std::string> titles_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace softneuro::tool
