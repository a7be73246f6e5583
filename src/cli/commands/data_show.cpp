// owlet data show: documents of a data folder, or rows and documents of a file.
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/random.hpp"
#include "cli/command.hpp"
#include "cli/commands/data_verbs.hpp"
#include "data/dataset.hpp"
#include "data/sources/input_files.hpp"
#include "data/sources/open_documents.hpp"
#include "data/sources/open_records.hpp"
#include "data/token_sequence.hpp"
#include "text/tokenizer.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxTokensShown = 100000;

struct ShowArguments {
  std::string path;
  std::optional<uint64_t> document;
  std::string tokens;
  bool is_random = false;
  bool shows_pieces = false;
  uint64_t seed = 0;
  uint64_t count = 0;  ///< 0: 1 where one document is chosen, else 3
  bool is_validation = false;
  DocumentOptions documents;
};

uint64_t parse_number(std::string_view text, std::string_view whole) {
  uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  check(!text.empty() && result.ec == std::errc() && result.ptr == text.data() + text.size(),
        ErrorKind::invalid_argument, "'{}' is no range of tokens, expected BEGIN:END", whole);
  return value;
}

/// Tokens of one side of a data folder as people read them.
class TokenView {
 public:
  TokenView(const ShowArguments& arguments, Program& program)
      : arguments_(arguments),
        console_(program.console),
        dataset_(load_dataset(arguments.path)),
        tokenizer_(load_tokenizer(dataset_.tokenizer_path().string())),
        tokens_(arguments.is_validation ? *dataset_.validation() : *dataset_.train()) {}

  OrderedJson show() {
    OrderedJson shown = OrderedJson::array();
    if (!arguments_.tokens.empty()) {
      const size_t colon = arguments_.tokens.find(':');
      check(colon != std::string::npos, ErrorKind::invalid_argument, "'{}' is no range of tokens, expected BEGIN:END",
            arguments_.tokens);
      const std::string_view range = arguments_.tokens;
      show_tokens(parse_number(range.substr(0, colon), range), parse_number(range.substr(colon + 1), range),
                  std::nullopt, shown);
      return shown;
    }
    const uint64_t num_documents = tokens_.num_documents();
    check(num_documents > 0, ErrorKind::invalid_argument, "'{}' has no documents for {}", arguments_.path, side());
    if (!arguments_.is_random) {
      const uint64_t first = arguments_.document.value_or(0);
      check(first < num_documents, ErrorKind::invalid_argument, "document {} is asked, there are {} for {} (from 0)",
            first, num_documents, side());
      for (uint64_t i = first; i < std::min(first + arguments_.count, num_documents); ++i) show_document(i, shown);
      return shown;
    }
    for (uint64_t i = 0; i < arguments_.count; ++i) {
      show_document(random_u64(arguments_.seed, stream_id("data show"), i) % num_documents, shown);
    }
    return shown;
  }

 private:
  std::string_view side() const { return arguments_.is_validation ? "validation" : "train"; }

  void show_document(uint64_t index, OrderedJson& shown) {
    uint64_t begin = 0, left = index;
    for (const ShardReader& shard : tokens_.shards()) {
      if (left < shard.header().num_documents) {
        show_tokens(begin + shard.document_start(left), begin + shard.document_start(left + 1), index, shown);
        return;
      }
      left -= shard.header().num_documents;
      begin += shard.header().num_tokens;
    }
  }

  void show_tokens(uint64_t begin, uint64_t end, std::optional<uint64_t> document, OrderedJson& shown) {
    check(begin <= end && end <= tokens_.num_tokens(), ErrorKind::invalid_argument,
          "tokens {} to {} are asked, there are {} for {}", begin, end, tokens_.num_tokens(), side());
    const uint64_t count = std::min(end - begin, kMaxTokensShown);
    std::vector<int32_t> ids(count);
    tokens_.copy_tokens(begin, count, ids.data());
    OrderedJson entry;
    entry["split"] = side();
    if (document) entry["document"] = *document;
    entry["begin"] = begin;
    entry["end"] = end;
    entry["text"] = tokenizer_.decode(ids, false);
    entry["ids"] = ids;
    const std::vector<uint8_t> trained = trained_of(begin, count);
    if (!trained.empty()) entry["trained"] = trained;
    const std::string what = document ? fmt::format("document {} of {}", *document, tokens_.num_documents())
                                      : fmt::format("tokens of {}", tokens_.num_tokens());
    console_.result(console_.bold(fmt::format("{} {}: tokens {} to {} ({})", side(), what, begin, end, end - begin)));
    console_.result(printable(text_of(ids, trained)));
    if (count < end - begin) console_.result(fmt::format("… and {} tokens more", end - begin - count));
    console_.result("");
    shown.push_back(std::move(entry));
  }

  /// Which tokens are trained, where that differs from all.
  std::vector<uint8_t> trained_of(uint64_t begin, uint64_t count) const {
    if (tokens_.shards().empty() || !tokens_.shards()[0].header().has_loss_mask()) return {};
    std::vector<uint8_t> trained(count);
    tokens_.copy_loss_mask(begin, count, trained.data());
    return trained;
  }

  /// The text with special tokens written out, bars between tokens where asked, and «» around what is trained.
  std::string text_of(std::span<const int32_t> ids, std::span<const uint8_t> trained) const {
    if (!arguments_.shows_pieces && trained.empty()) return tokenizer_.decode(ids, false);
    std::string text;
    bool is_open = false;
    for (size_t i = 0; i < ids.size(); ++i) {
      const bool opens = !trained.empty() && trained[i] != 0;
      if (is_open && !opens) text += "»";
      if (arguments_.shows_pieces && i > 0) text += "|";
      if (opens && !is_open) text += "«";
      is_open = opens;
      text += tokenizer_.decode(ids.subspan(i, 1), false);
    }
    return text + (is_open ? "»" : "");
  }

  const ShowArguments& arguments_;
  Console& console_;
  Dataset dataset_;
  Tokenizer tokenizer_;
  const TokenSequence& tokens_;
};

/// Rows of a file of rows, documents of a text file, as one sequence of JSON values.
class SourceView {
 public:
  explicit SourceView(const ShowArguments& arguments) {
    if (input_kind(arguments.path) == InputKind::rows) {
      records_ = open_records({arguments.path}, record_options_for(arguments.documents));
    } else {
      documents_ = open_documents({arguments.path}, arguments.documents);
    }
  }

  bool next(Json& value) {
    if (records_) return records_->next(value);
    std::string text;
    if (!documents_->next(text)) return false;
    value = Json{{"text", std::move(text)}};
    return true;
  }
  std::string place() const {
    return records_ ? records_->place() : fmt::format("document {}", documents_->num_documents() - 1);
  }
  bool has_rows() const { return records_ != nullptr; }

 private:
  std::unique_ptr<RecordSource> records_;
  std::unique_ptr<DocumentSource> documents_;
};

struct ShownValue {
  uint64_t index = 0;
  std::string place;
  Json value;
};

/// The values asked for: some in a row, or as many random ones, each as likely as any other (reservoir sampling,
/// Vitter 1985, algorithm R).
std::vector<ShownValue> choose_values(const ShowArguments& arguments, SourceView& source) {
  std::vector<ShownValue> chosen;
  const uint64_t first = arguments.document.value_or(0);
  uint64_t index = 0;
  for (Json value; source.next(value); ++index) {
    if (!arguments.is_random) {
      if (index >= first) chosen.push_back({index, source.place(), std::move(value)});
      if (chosen.size() == arguments.count) return chosen;
      continue;
    }
    const uint64_t slot =
        index < arguments.count ? index : random_u64(arguments.seed, stream_id("data show"), index) % (index + 1);
    if (slot >= arguments.count) continue;
    if (slot >= chosen.size()) chosen.resize(slot + 1);
    chosen[slot] = {index, source.place(), std::move(value)};
  }
  check(!chosen.empty(), ErrorKind::invalid_argument, "document {} is asked, '{}' has {} (from 0)", first,
        arguments.path, index);
  return chosen;
}

OrderedJson show_source(const ShowArguments& arguments, Program& program) {
  check(arguments.tokens.empty(), ErrorKind::invalid_argument, "--tokens is for data folders, '{}' is a file",
        arguments.path);
  SourceView source(arguments);
  OrderedJson shown = OrderedJson::array();
  for (const ShownValue& entry : choose_values(arguments, source)) {
    program.console.result(program.console.bold(entry.place));
    const Json& value = entry.value;
    program.console.result(printable(source.has_rows() ? dump_json(value, 2) : value.at("text").get<std::string>()));
    program.console.result("");
    OrderedJson json{{"document", entry.index}, {"place", entry.place}};
    json["value"] = OrderedJson::parse(dump_json(value));
    shown.push_back(std::move(json));
  }
  return shown;
}

int run_show(ShowArguments arguments, Program& program) {
  if (arguments.count == 0) arguments.count = arguments.document || arguments.is_random ? 1 : 3;
  std::error_code ignored;
  const bool is_folder = fs::is_directory(arguments.path, ignored);
  const OrderedJson shown = is_folder ? TokenView(arguments, program).show() : show_source(arguments, program);
  program.console.json_result({{"path", arguments.path}, {"documents", shown}});
  return 0;
}

}  // namespace

void add_data_show(CLI::App& parent, Program& program) {
  CLI::App* command = parent.add_subcommand("show", "Show documents of a data folder, or rows of a file");
  auto arguments = std::make_shared<ShowArguments>();
  command->add_option("path", arguments->path, "Data folder, or a file as `data prepare` takes it")
      ->required()
      ->type_name("DIR|FILE");
  CLI::Option* document = command->add_option("--document", arguments->document, "Begin with this document, from 0");
  CLI::Option* tokens =
      command->add_option("--tokens", arguments->tokens, "These tokens, whatever documents they belong to")
          ->type_name("BEGIN:END")
          ->excludes(document);
  command->add_flag("--random", arguments->is_random, "Any documents")->excludes(document)->excludes(tokens);
  command->add_option("--seed", arguments->seed, "Chooses the random ones")->capture_default_str();
  command->add_option("-n,--count", arguments->count, "How many (default: 1 with --document or --random, else 3)");
  command->add_flag("--validation", arguments->is_validation, "The validation side of a data folder");
  command->add_flag("--pieces", arguments->shows_pieces, "Bars between tokens");
  command->add_option("--separator", arguments->documents.separator, "Text between the documents of a text file")
      ->capture_default_str()
      ->type_name("TEXT");
  command->add_flag("--skip-bad", arguments->documents.skips_bad_records, "Pass over rows that cannot be read");
  add_common_options(*command, program,
                     "  owlet data show data --random -n 3 --seed 7\n"
                     "  owlet data show data --tokens 1000:1064 --pieces\n"
                     "  owlet data show train.parquet --document 12 --json");
  set_action(*command, program, [arguments, &program] { return run_show(*arguments, program); });
}

}  // namespace owlet
