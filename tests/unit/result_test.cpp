// Result: what a caller reads, and what it is told where there is nothing to read.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "softneuro/status.h"

using namespace softneuro;

namespace {

Result<int> error() {
  return Status(StatusCode::not_found, "no such thing: look elsewhere");
}

// The first line that f() writes to standard error in a process of its own (an emulator adds one
// when the process aborts); `aborted`: whether it ended by SIGABRT.
template <class F>
std::string complaint_of(F f, bool& aborted) {
  int ends[2] = {};
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);  // Catch's handler would write a report
    f();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  return text.substr(0, text.find('\n') + 1);
}

}  // namespace

TEST_CASE("a const Result gives its value", "[result]") {
  const Result<std::string> text = std::string("abc");
  CHECK(text.value() == "abc");
  CHECK(*text == "abc");
  CHECK(text->size() == 3);
  const Result<int> none = error();
  CHECK_THROWS_AS(none.value(), StatusError);
}

TEST_CASE("value() without a value throws the error", "[result]") {
  try {
    static_cast<void>(error().value());
    FAIL("nothing was thrown");
  } catch (const StatusError& thrown) {
    CHECK(thrown.status().code() == StatusCode::not_found);
    CHECK(std::string(thrown.what()) == "no such thing: look elsewhere");
  }
}

TEST_CASE("* and -> without a value tell the error and abort", "[result]") {
  bool aborted = false;
  const std::string star = complaint_of([] { static_cast<void>(*error()); }, aborted);
  CHECK(aborted);
  CHECK(star ==
        "softneuro: a Result without a value was read: not_found: no such thing: look elsewhere\n");
  const Result<std::string> none = Status(StatusCode::io_error, "the disk is full");
  const std::string arrow = complaint_of([&] { static_cast<void>(none->size()); }, aborted);
  CHECK(aborted);
  CHECK(arrow == "softneuro: a Result without a value was read: io_error: the disk is full\n");
}

TEST_CASE("value_or: the value, else the other one", "[result]") {
  CHECK(Result<int>(3).value_or(7) == 3);
  CHECK(error().value_or(7) == 7);
  const Result<std::string> none = Status(StatusCode::io_error, "x");
  CHECK(none.value_or("other") == "other");
  // What cannot be copied moves.
  CHECK(*Result<std::unique_ptr<int>>(std::make_unique<int>(5)).value_or(nullptr) == 5);
}

TEST_CASE("and_then: f of the value, or the error as it is", "[result]") {
  const auto half = [](int n) -> Result<double> {
    if (n % 2 != 0) return Status(StatusCode::invalid_argument, "odd");
    return n / 2.0;
  };
  CHECK(Result<int>(4).and_then(half).value() == 2);
  CHECK(Result<int>(3).and_then(half).status().message() == "odd");
  CHECK(error().and_then(half).status().code() == StatusCode::not_found);
  const Result<int> four = 4;
  CHECK(four.and_then(half).value() == 2);

  // f may give a Status alone.
  int seen = 0;
  const auto keep = [&](int n) -> Status {
    seen = n;
    return {};
  };
  CHECK(Result<int>(4).and_then(keep).ok());
  CHECK(seen == 4);
  CHECK(error().and_then(keep).message() == "no such thing: look elsewhere");
  CHECK(seen == 4);
}

TEST_CASE("transform: a Result of f of the value, or the error as it is", "[result]") {
  const auto text = [](int n) { return std::to_string(n); };
  CHECK(Result<int>(4).transform(text).value() == "4");
  CHECK(error().transform(text).status().code() == StatusCode::not_found);
  Result<std::unique_ptr<int>> pointer = std::make_unique<int>(5);
  CHECK(std::move(pointer).transform([](std::unique_ptr<int> p) { return *p; }).value() == 5);
}
