#include "base/error.hpp"

namespace owlet {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return "invalid_argument";
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::corrupt_file:
      return "corrupt_file";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::out_of_memory:
      return "out_of_memory";
    case ErrorKind::io:
      return "io";
    case ErrorKind::cancelled:
      return "cancelled";
    case ErrorKind::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace owlet
