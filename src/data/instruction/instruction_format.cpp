#include "data/instruction/instruction_format.hpp"

#include <string>

#include "base/error.hpp"
#include "base/nearest_name.hpp"

namespace owlet {

std::span<const InstructionFormat* const> instruction_formats() {
  static const InstructionFormat* const formats[] = {
      &messages_format(), &sharegpt_format(), &preference_format(),        &turns_format(),
      &dolly_format(),    &alpaca_format(),   &prompt_completion_format(), &story_request_format(),
  };
  return formats;
}

const InstructionFormat& find_instruction_format(std::string_view name) {
  std::vector<std::string> names;
  for (const auto* format : instruction_formats()) {
    if (format->name == name) return *format;
    names.emplace_back(format->name);
  }
  const std::string nearest = nearest_name(name, names);
  throw Error(ErrorKind::invalid_argument,
              fmt::format("there is no instruction format '{}'; there are: {}", name, fmt::join(names, ", ")),
              nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
}

const InstructionFormat* recognise_instruction_format(const Json& row) {
  if (!row.is_object()) return nullptr;
  for (const InstructionFormat* format : instruction_formats()) {
    if (format->recognises(row)) return format;
  }
  return nullptr;
}

}  // namespace owlet
