// All that the tool prints for people goes through here: the texts that are put into a message may
// be a model's names, which must not reach the terminal as they are.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/printable.h"

namespace softneuro::tool {

template <class T>
using Printable = std::conditional_t<std::is_convertible_v<T, std::string_view>, std::string, T>;

template <class T>
Printable<T> printable(T&& value) {
  if constexpr (std::is_convertible_v<T, std::string_view>)
    return printable_text(std::string(std::string_view(value)));
  else
    return std::forward<T>(value);
}

// Errors of writing are reported at the end, by end_of_output().
inline void write(std::FILE* file, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), file);
}

// On standard output; texts among the arguments become printable lines.
template <class... A>
void print_out(fmt::format_string<Printable<A>...> format, A&&... args) {
  write(stdout, fmt::format(format, printable<A>(std::forward<A>(args))...));
}
// The same on standard error; errors of writing are ignored.
template <class... A>
void print_error(fmt::format_string<Printable<A>...> format, A&&... args) {
  write(stderr, fmt::format(format, printable<A>(std::forward<A>(args))...));
}
// Bytes as people read them: all commands count in these.
constexpr double kibibytes(std::size_t bytes) {
  return static_cast<double>(bytes) / 1024;
}
constexpr double mebibytes(std::size_t bytes) {
  return kibibytes(bytes) / 1024;
}

// Lines that are printable already: a table, JSON.
inline void print_lines(const std::string& lines) {
  write(stdout, lines);
}

// At the start: a standard stream that is closed is one that cannot be used, so that no file that
// is opened later takes its place; a reader that goes away is an error of writing, and no signal.
void prepare_output();
// At the end: the exit status, which is that of a failure where standard output could not be
// written.
int end_of_output(int status);

}  // namespace softneuro::tool
