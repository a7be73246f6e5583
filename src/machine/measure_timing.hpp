// Timing that the measurements of this folder share.
#pragma once

#include <functional>
#include <vector>

namespace owlet {

/// The middle value, or the mean of the two middle ones; `values` must not be empty.
double median(std::vector<double> values);

double seconds_of(const std::function<void()>& work);

/// Runs `work` again and again for `seconds`, at least twice (the first time warms up); returns the shortest run.
double shortest_run_seconds(double seconds, const std::function<void()>& work);

}  // namespace owlet
