// Normalizers, splitters, model options, decoders and post-processors against the `tokenizers` package; the file comes
// from tools/golden/tokenizer_pipelines.py. OWLET_PIPELINES names another file of the same form.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/json.hpp"
#include "text/tokenizer.hpp"
#include "text/tokenizer_files.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(OWLET_SOURCE_DIR) / "tests/golden/text";

using Ids = std::vector<int32_t>;

// The document of a setting: own/tokenizer.json with the setting's sections, on the setting's model.
Json document_of(const Json& setting, const Json& golden) {
  Json document = read_json(kGolden / "own/tokenizer.json");
  if (setting["model"] == "chars") {
    document["model"] = golden["chars"];
    document["added_tokens"] = Json::array();
  }
  for (const auto& [name, section] : setting["sections"].items()) {
    if (name == "model") {
      for (const auto& [key, value] : section.items()) document["model"][key] = value;
    } else {
      document[name] = section;
    }
  }
  if (!document["model"]["vocab"].contains(kEndOfText)) document["added_tokens"] = Json::array();
  return document;
}

Ids framed(const Tokenizer& tokenizer, const Ids& ids) {
  Ids all = tokenizer.frame().before;
  all.insert(all.end(), ids.begin(), ids.end());
  all.insert(all.end(), tokenizer.frame().after.begin(), tokenizer.frame().after.end());
  return all;
}

bool is_case(const Tokenizer& tokenizer, const std::string& text, const Json& expected) {
  const Ids ids = tokenizer.encode(text);
  EXPECT_EQ(ids, expected["ids"].get<Ids>()) << Json(text).dump();
  EXPECT_EQ(framed(tokenizer, ids), expected.value("framed", ids)) << Json(text).dump();
  const Ids expected_ids = expected["ids"].get<Ids>();
  const std::string decoded = tokenizer.decode(expected_ids, false);
  const bool is_decoded = !expected.contains("decoded") || decoded == expected["decoded"].get<std::string>();
  EXPECT_TRUE(is_decoded) << Json(text).dump() << " is decoded to "
                          << Json(decoded).dump(-1, ' ', false, Json::error_handler_t::replace);
  return is_decoded && ids == expected_ids;
}

TEST(TokenizerPipelines, EqualTheTokenizersPackage) {  // cases A2, A9, A12, A14
  const char* other = std::getenv("OWLET_PIPELINES");
  const Json golden = read_json(other != nullptr ? fs::path(other) : kGolden / "pipelines.json");
  std::map<std::string, Json> plain;  // the cases of each model's first setting, which others need not repeat
  for (const Json& setting : golden["settings"]) {
    SCOPED_TRACE(setting["name"].get<std::string>());
    const auto model = setting["model"].get<std::string>();
    std::vector<Json> cases = plain.contains(model) ? plain[model].get<std::vector<Json>>() : std::vector<Json>();
    for (const Json& one : setting["cases"]) {
      const auto index = one["text"].get<size_t>();
      if (index >= cases.size()) cases.resize(index + 1);
      cases[index] = one;
    }
    plain.try_emplace(model, cases);
    const Tokenizer tokenizer(parse_tokenizer_json(document_of(setting, golden).dump(), "golden"));
    const Tokenizer saved(parse_tokenizer_json(format_tokenizer_json(tokenizer.definition()), "saved"));
    EXPECT_EQ(saved.fingerprint(), tokenizer.fingerprint());
    for (size_t i = 0; i < cases.size(); ++i) {
      if (!is_case(tokenizer, golden["texts"][i].get<std::string>(), cases[i])) break;  // one of each setting is enough
    }
  }
}

}  // namespace
}  // namespace owlet
