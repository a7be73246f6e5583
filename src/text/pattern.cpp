#include "text/pattern.hpp"

namespace owlet {

Regex parse_pattern(const JsonSection& section, const std::string& key) {
  const JsonSection pattern = section.section(key);
  try {
    if (!pattern["Regex"].is_null()) return Regex(pattern.text("Regex"));
    return Regex::of_text(pattern.text("String"));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    throw Error(ErrorKind::unsupported, fmt::format("{}: {}: {}", section.source(), section.path_of(key), error.what()),
                error.hint());
  }
}

}  // namespace owlet
