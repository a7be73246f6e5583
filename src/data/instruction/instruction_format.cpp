#include "data/instruction/instruction_format.hpp"

#include <string>

#include "base/error.hpp"

namespace owlet {

std::span<const InstructionFormat* const> instruction_formats() {
  static const InstructionFormat* const formats[] = {
      &messages_format(), &sharegpt_format(), &preference_format(),        &turns_format(),
      &dolly_format(),    &alpaca_format(),   &prompt_completion_format(), &story_request_format(),
  };
  return formats;
}

const InstructionFormat& find_instruction_format(std::string_view name) {
  std::string names;
  for (const InstructionFormat* format : instruction_formats()) {
    if (format->name == name) return *format;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format->name);
  }
  fail(ErrorKind::invalid_argument, "there is no instruction format '{}'; there are: {}", name, names);
}

const InstructionFormat* recognise_instruction_format(const Json& row) {
  if (!row.is_object()) return nullptr;
  for (const InstructionFormat* format : instruction_formats()) {
    if (format->recognises(row)) return format;
  }
  return nullptr;
}

}  // namespace owlet
