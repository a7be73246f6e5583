// The backend that commands run on.
#pragma once

#include <memory>

#include "cli/command.hpp"
#include "ops/backend.hpp"

namespace owlet {

/// The CPU backend with the program's threads.
std::unique_ptr<Backend> make_backend(const Program& program);

}  // namespace owlet
