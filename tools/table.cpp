#include "table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.h"

namespace softneuro::tool {
namespace {

// Characters, not bytes: names and units may be UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

Table::Table(std::vector<std::string> titles) : titles_(std::move(titles)) {
  for (std::string& title : titles_) {
    right_.push_back(title.starts_with('>'));
    if (right_.back()) title.erase(0, 1);
  }
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(titles_.size());
  for (std::string& cell : cells) cell = printable_text(std::move(cell));
  rows_.push_back(std::move(cells));
}

std::string Table::str() const {
  std::vector<std::size_t> widths;
  for (const std::string& title : titles_) widths.push_back(width_of(title));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));

  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string fill(widths[i] - width_of(cells[i]), ' ');
      out += (i > 0 ? "  " : "") + (right_[i] ? fill + cells[i] : cells[i] + fill);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + '\n';
  };
  line(titles_);
  std::vector<std::string> rules;
  for (const std::size_t width : widths) rules.emplace_back(width, '-');
  line(rules);
  for (const auto& row : rows_) line(row);
  return text;
}

}  // namespace softneuro::tool
