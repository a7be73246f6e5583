// Names that come from people or servers and become parts of paths and addresses. Everything that reaches the disk
// passes here first.
#pragma once

#include <string>
#include <string_view>

namespace owlet {

/// A repository name "org/name" (or "name"): letters, digits, - _ . , no "--" or "..", no part that begins or ends in
/// - or . , at most 96 characters. Throws Error invalid_argument saying what is wrong.
void check_repo_name(std::string_view repo);

/// True for a path that stays below the folder it is joined to: relative, parts parted by '/', none empty, "." or
/// "..", no control character or backslash, parts of at most 255 bytes.
bool is_safe_path(std::string_view path);
/// Throws Error corrupt_file unless is_safe_path; `origin` says who gave the name.
void check_file_path(std::string_view path, std::string_view origin);
/// Throws Error invalid_argument unless a revision (branch, tag, refs/…, commit) is a safe path.
void check_revision(std::string_view revision);

/// A full commit hash: 40 hexadecimal digits in lower case. Its content never changes.
bool is_commit(std::string_view revision);
/// One part of a path: letters, digits, - _ . , not beginning with a dot, at most 128 characters (entity tags, commit
/// names of servers).
bool is_plain_token(std::string_view text);

/// An ETag value without W/ and quotes.
std::string normalize_etag(std::string_view etag);

/// Whether `path` fits a pattern: `*` any run of characters ('/' included), `?` one character, everything else itself.
/// A pattern that ends in '/' fits everything below it. Linear in |path|·|pattern|.
bool matches_pattern(std::string_view path, std::string_view pattern);

}  // namespace owlet
