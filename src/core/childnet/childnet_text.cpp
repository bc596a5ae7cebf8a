#include "core/childnet/childnet_text.h"

#include <algorithm>
#include <charconv>

#include "core/base/error.h"
#include "core/childnet/childnet.h"

namespace softneuro {
namespace {

// Pieces between separators that stand in no braces; invalid_argument if braces do not match.
Result<std::vector<std::string_view>> split(std::string_view text, char separator) {
  std::vector<std::string_view> items;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && ++depth > kMaxChildnetDepth * 2)
      return invalid_argument("'{}': childnets nest at most {} deep", text, kMaxChildnetDepth);
    if (text[i] == '}' && --depth < 0) return invalid_argument("'{}': a brace too many", text);
    if (text[i] == separator && depth == 0) {
      items.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  if (depth != 0) return invalid_argument("'{}': a brace is missing", text);
  if (begin < text.size()) items.push_back(text.substr(begin));
  return items;
}

// A text as Params::str() prints it.
std::string unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"') return std::string(text);
  std::string result;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\') ++i;
    result += text[i];
  }
  return result;
}

}  // namespace

Result<std::vector<InnerChoice>> parse_inner(std::string_view text) {
  std::vector<InnerChoice> choices;
  if (text.empty()) return choices;
  if (text.size() < 2 || text.front() != '{' || text.back() != '}')
    return invalid_argument("'{}' should stand in braces", text);
  SN_ASSIGN_OR_RETURN(const auto items, split(text.substr(1, text.size() - 2), ';'));
  for (const std::string_view item : items) {
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string_view::npos || equals + 1 == item.size())
      return invalid_argument("'{}' should be layer=routine or layer=routine{{parameters}}", item);
    InnerChoice choice;
    choice.layer = item.substr(0, equals);
    std::string_view rest = item.substr(equals + 1);
    if (const std::size_t brace = rest.find('{'); brace != std::string_view::npos) {
      if (rest.back() != '}') return invalid_argument("'{}' goes on behind its braces", item);
      choice.params = rest.substr(brace + 1, rest.size() - brace - 2);
      rest = rest.substr(0, brace);
    }
    choice.routine = rest;
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::string print_inner(const std::vector<InnerChoice>& choices) {
  if (choices.empty()) return {};
  std::string text = "{";
  for (const InnerChoice& choice : choices) {
    if (text.size() > 1) text += ';';
    text += choice.layer + '=' + choice.routine;
    if (!choice.params.empty()) text += '{' + choice.params + '}';
  }
  return text + '}';
}

std::string print_params(RoutineParams params) {
  const std::string inner(params.text("inner"));
  params.erase("inner");
  std::string others = params.str();
  if (inner.empty()) return others;
  return "inner=" + inner + (others.empty() ? "" : ",") + others;
}

Result<RoutineParams> parse_params(const Implementation& implementation, std::string_view text) {
  RoutineParams params = implementation.default_params();
  SN_ASSIGN_OR_RETURN(const auto items, split(text, ','));
  for (const std::string_view item : items) {
    const std::string_view name = item.substr(0, item.find('='));
    const std::string_view value = item.substr(std::min(item.size(), name.size() + 1));
    const ParamValue* usual = params.find(name);
    std::int64_t number = 0;
    if (usual != nullptr && kind_of(*usual) == ParamKind::text)
      params.set(name, name == "inner" ? std::string(value) : unquoted(value));
    else if (usual != nullptr && kind_of(*usual) == ParamKind::integer &&
             std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc())
      params.set(name, number);
    else
      return invalid_argument("'{}' is not a parameter of {} here", item,
                              implementation.routine().descriptor().str());
  }
  if (const Applicability taken = implementation.check_params(params); !taken.ok())
    return invalid_argument("{}: {}", implementation.routine().descriptor().str(), taken.reason());
  return params;
}

}  // namespace softneuro
