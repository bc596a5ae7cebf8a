#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "output.h"

namespace softneuro::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRedraw = std::chrono::milliseconds(80);
constexpr auto kLogEvery = std::chrono::seconds(5);
constexpr std::size_t kBar = 24;

const char* name_of(const std::string& stage) {
  if (stage == "calibrate") return "calibrating";
  if (stage == "unit") return "measuring candidates";
  if (stage == "net") return "profiling in the net";
  if (stage == "final") return "end-to-end timing";
  if (stage == "sensitivity") return "measuring the effect of reduced precision";
  if (stage == "verify") return "comparing with the model";
  return stage.c_str();
}

std::string shortened(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : "…" + text.substr(text.size() - most + 1);
}

}  // namespace

ProgressPrinter::ProgressPrinter() : terminal_(isatty(STDERR_FILENO) != 0), begin_(Clock::now()) {}

ProgressPrinter::~ProgressPrinter() {
  finish();
}

void ProgressPrinter::operator()(const TuneProgress& progress) {
  const auto now = Clock::now();
  const bool new_stage = stage_ != progress.stage;
  if (!new_stage && now - last_ < (terminal_ ? kRedraw : kLogEvery)) return;
  stage_ = progress.stage;
  last_ = now;
  terminal_ ? draw(progress) : log(progress);
}

void ProgressPrinter::draw(const TuneProgress& progress) {
  const std::size_t total = std::max<std::size_t>(progress.total, 1);
  const std::size_t full = kBar * std::min(progress.done, total) / total;
  std::string bar;
  for (std::size_t i = 0; i < kBar; ++i) bar += i < full ? "█" : "░";
  print_error("\r\033[K{:<24} {} {}/{}  {}  {}", name_of(stage_), bar, progress.done,
              progress.total, shortened(progress.layer, 24), shortened(progress.candidate, 36));
  if (progress.seconds_left > 0) print_error("  at most {:.0f} s", progress.seconds_left);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressPrinter::log(const TuneProgress& progress) {
  print_error("tune: {} {}/{} {} ({:.1f} s)\n", name_of(stage_), progress.done, progress.total,
              progress.layer, std::chrono::duration<double>(Clock::now() - begin_).count());
}

void ProgressPrinter::finish() {
  if (drawn_) print_error("\r\033[K");
  drawn_ = false;
}

}  // namespace softneuro::tool
