// The figures that decide what tuning measures, for how long, and what it concludes: each with its
// meaning and, where there is one, the experiment that set it ("results": docs/results/tuning.md).
// Not here: TuneOptions' defaults, tolerances (verify/), and what is arithmetic (a quantile) or a
// format's size.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace softneuro::constants {

// --- Candidates (docs/internals/tuner.md) ---

// Combinations of one routine's parameters that are tried. Results, "which candidates are tried".
inline constexpr std::size_t kMostParams = 8;
// An exhaustive tuning has so many times as many of them, of samples, of runs in a round and in the
// final benchmark, of rounds and of finalists. Results, "what the short cuts cost": 1.00 to 1.01
// times.
inline constexpr int kExhaustiveTimes = 4;

// Values may reach so many times as far as those that were seen before a layer keeps its candidates
// in 16 bits: other inputs may go farther.
inline constexpr double kHeadroom = 4;

// --- A kernel alone (docs/internals/measuring.md) ---

// A sample is a batch of runs that lasts at least so long.
inline constexpr double kBatchUs = 40;
// Samples of a candidate, of which the low quartile counts.
inline constexpr std::size_t kSamples = 5;
// Slow candidates have so many once these have taken kSamplesUs together.
inline constexpr std::size_t kFewestSamples = 3;
inline constexpr double kSamplesUs = 40'000;
// A candidate, or a whole path, that takes so many times as long as the best one after its first
// samples is not measured any further; a childnet whose layers inside take as long is not measured
// at all. The ratio of times inside the net and alone scatters by a tenth within a layer (results,
// "ratios"), so that it is hardly ever the best.
inline constexpr double kBeaten = 1.4;
// On a device a sample is a recording of so many runs that it lasts at least so long: CUDA's events
// are told apart by half a microsecond, and the first run may wait for the launch.
inline constexpr double kReplayUs = 200;
// Runs of a sample at most, on the host and on devices.
inline constexpr int kMostBatch = 1000;
// A recording is played so often before its first sample: the first plays load it.
inline constexpr int kWarmUpReplays = 2;
// Raised whenever kernels of devices are measured in another way: part of the keys of what is kept
// of devices.
inline constexpr int kDeviceMethod = 2;
// Childnets within childnets that are looked into.
inline constexpr int kDeepestChildnet = 2;

// --- Other processes ---

// Threads that arrive within this ran at the same time: waking a parked one takes a third of it.
inline constexpr std::int64_t kAtOnceNs = 300'000;
// Who has waited for longer sleeps between looks: a time slice is forty times as long.
inline constexpr std::chrono::microseconds kBetweenLooks{100};
// A late thread is waited for so long. A time slice is some milliseconds, and several processes may
// be ahead of it.
inline constexpr std::int64_t kLatestNs = 20'000'000;
// The barrier is given up after so many waits in a row that nobody ended.
inline constexpr int kMostTimeouts = 3;
// A thread keeps a processor for about this long: runs that last longer are preempted nearly always
// on a busy machine, so that repeating them is no use. Others are repeated so often.
inline constexpr std::int64_t kTimeSliceNs = 4'000'000;
inline constexpr int kAttempts = 4;
// The machine is disturbed where threads wait for late ones for this share of the time, which
// counts as so long at least: one late thread shows nothing. A look whether it still is lasts so
// long.
inline constexpr double kDisturbed = 0.05;
inline constexpr std::int64_t kLeastNs = 500'000'000;
// Plans have so many times as many runs then; and where threads are waited for, the runs last so
// many times as long as planned at most.
inline constexpr int kDisturbedRuns = 3, kMostWaiting = 4;

// --- Plans in turns (docs/internals/measuring.md, "interleaved comparison") ---

// Warm-up runs and measured runs of a plan's turn. Results, "first runs": the fourth one takes
// 1.02 times as long as the twelfth.
inline constexpr int kWarmUpRuns = 3, kTurnRuns = 4;
// Weights of so many bytes do not stay in the caches from run to run, so that what ran before
// hardly matters. Results, "first runs": with warm-up runs resnet18 is tuned no better, and 2 s
// later.
inline constexpr std::size_t kManyBytes = std::size_t{32} << 20;
// Runs of each plan in a comparison: more show nothing that the next round does not.
inline constexpr int kFewestRuns = 4, kMostRuns = 60;
// Runs of a round of the search last about so long, all together, and those of the final benchmark
// of the finalists so long for each kind of candidates. Results, "what the short cuts cost": four
// times as long gains nothing that can be told.
inline constexpr double kRoundSeconds = 0.6, kFinalSeconds = 1.2;
// Paths of one round, and what their constants may take together. Their plans are made for at most
// kFinalSeconds.
inline constexpr std::size_t kMostPaths = 8;
inline constexpr std::size_t kPathsBytes = std::size_t{512} << 20;

// --- What is concluded (docs/internals/tuner.md) ---

// By so much less the time inside the net of a candidate that was only measured alone may be: two
// standard deviations of the ratio between the two within a layer (results, "ratios").
inline constexpr double kUnmeasured = 0.2;
// A layer's candidates take at most so many times their times alone inside the net, and less by
// kUnmeasured at most; what lies outside says more about one sample than about the layer.
inline constexpr double kMostRatio = 1.5;
// Half the distance between the quartiles of samples inside the net, relative, before any is known:
// about what a disturbed machine shows.
inline constexpr double kUsualNoise = 0.05;
// Less than this part is no difference. A path is run if its lower bound is below the best path's
// time by more: the bound adds up the uncertainties of many layers, and the real gain is a fraction
// of that. Among finalists that are as fast the solver's order holds. Bounds on memory are as near.
inline constexpr double kLeastGain = 0.01;
// The machine's speed may have changed by so many times since what is known was measured: other
// virtual machines halve it for minutes.
inline constexpr double kMostDrift = 4;

// --- Limits of time, memory and error ---

// What planning the model and running it took before is known when a time limit begins. The
// verification, which always runs, takes about so many times as long. Results, "with a limit".
inline constexpr int kVerificationTimes = 2;
// Shares of the rest of a time limit at whose end isolated candidates, paths inside the net, and
// the final benchmark are over. What is left is for the error limit.
inline constexpr double kIsolatedShare = 0.5, kInNetShare = 0.7, kFinalShare = 0.8;
// How the first share is divided: a candidate takes about a millisecond in itself, and as long
// again for so many multiply-adds.
inline constexpr double kMacsOfMillisecond = 1e7;
// Plans that are made to find the solver's bound under a memory limit.
inline constexpr int kMemoryPlans = 8;
// Samples on which a layer's sensitivity is measured: those that rounding affects most. Others show
// next to nothing of it.
inline constexpr std::size_t kSensitivitySamples = 8;
// The error limit has four parts: sensitivity, two orders in which layers are taken out, and
// putting layers back. Each takes at most this long, or a quarter of what is left of a time limit.
inline constexpr std::chrono::seconds kErrorPartTime{3};
inline constexpr int kErrorParts = 4;

// --- Verification (docs/internals/accuracy.md, "The verification") ---

// Sets of inputs that the outputs are verified on and ranges are seen on.
inline constexpr std::size_t kVerificationSamples = 4;

}  // namespace softneuro::constants
