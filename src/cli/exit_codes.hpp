// The table from error kinds to exit codes.
#pragma once

#include "base/error.hpp"

namespace owlet {

/// 0 ok, 1 failure, 2 usage, 3 bad or missing input file, 4 does not fit this machine, 130 interrupted.
constexpr int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return 2;
    case ErrorKind::not_found:
    case ErrorKind::corrupt_file:
      return 3;
    case ErrorKind::out_of_memory:
      return 4;
    case ErrorKind::cancelled:
      return 130;
    case ErrorKind::unsupported:
    case ErrorKind::io:
    case ErrorKind::internal:
      return 1;
  }
  return 1;
}

inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;

}  // namespace owlet
