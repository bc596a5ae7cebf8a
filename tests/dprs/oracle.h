// A second opinion on paths: brute force over all choices, with a cost function that shares nothing
// with src/dprs. And two strategies that are not good enough, to show that the problems are hard.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "dprs/dprs.h"

namespace softneuro::dprs::oracle {

// Walks the layers in order as a machine would run them, keeping a list of what exists in which
// format; whatever is missing is adapted from the format that the producer made. Infinite:
// impossible.
double cost_by_hand(const Problem& problem, const std::vector<int>& choice);
std::size_t memory_by_hand(const Problem& problem, const std::vector<int>& choice);

// Every choice with its cost (infinite ones too), in no useful order. `shared`: adapts are kept for
// the next consumer; else each consumer pays for its own.
using Visit = std::function<void(const std::vector<int>& choice, double cost)>;
void for_all_choices(const Problem& problem, bool shared, const Visit& visit);
double choices(const Problem& problem);  // how many there are

// The costs of all possible choices, ascending; at most `most` of them.
std::vector<double> ranking(const Problem& problem, std::size_t most);

// Layer by layer, the candidate that is cheapest with the adapts that it needs at that moment.
std::vector<int> greedy(const Problem& problem);

// The best choice if each consumer paid for its own adapt; empty: there is none.
std::vector<int> best_per_edge(const Problem& problem);

}  // namespace softneuro::dprs::oracle
