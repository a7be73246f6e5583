// The `pattern` of tokenizer.json: {"String": "…"} or {"Regex": "…"}.
#pragma once

#include "text/json_section.hpp"
#include "text/regex.hpp"

namespace owlet {

/// Throws Error corrupt_file, or unsupported for expressions that this program lacks, naming the field.
Regex parse_pattern(const JsonSection& section, const std::string& key);

}  // namespace owlet
