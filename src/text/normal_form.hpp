// Unicode normal forms (Unicode Standard Annex 15), in time linear in the text but for runs of combining marks, which
// are sorted.
#pragma once

#include <string>
#include <string_view>

namespace owlet {

enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// Text in a normal form. `text` must be valid UTF-8.
std::string to_normal_form(std::string_view text, NormalForm form);

}  // namespace owlet
