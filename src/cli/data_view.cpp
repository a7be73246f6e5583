#include "cli/data_view.hpp"

#include "base/human.hpp"
#include "base/text_table.hpp"
#include "data/sources/input_files.hpp"

namespace owlet {

namespace {

double trained_share(const DatasetInfo& info) {
  return info.tokens == 0 ? 0 : static_cast<double>(info.chat->trained_tokens) / static_cast<double>(info.tokens);
}

void print_dropped(const ChatInfo& chat, Console& console) {
  for (const auto& [reason, rows] : chat.dropped) {
    console.result(fmt::format("  left out: {} x {} (first: {})", rows.count, reason, rows.first_place));
  }
  if (chat.unreadable > 0) console.result(fmt::format("  left out: {} rows that are no JSON object", chat.unreadable));
  if (chat.open_questions > 0) {
    console.result(fmt::format("  {} conversations end with a question: it is left out", chat.open_questions));
  }
  if (chat.num_cut > 0) {
    console.result(fmt::format("  {} conversations cut after {} tokens", chat.num_cut, chat.context));
  }
  if (chat.num_split > 0) {
    console.result(fmt::format("  {} conversations split to fit {} tokens", chat.num_split, chat.context));
  }
}

void print_chat(const DatasetInfo& info, Console& console) {
  const ChatInfo& chat = *info.chat;
  console.result(fmt::format("{} rows in the format {}, written with the chat template {}", chat.rows + chat.unreadable,
                             chat.format, chat.chat_template));
  if (chat.format == "preference") console.result("  the chosen answers are taken, the rejected ones left out");
  print_dropped(chat, console);
  console.result(
      fmt::format("{} answers; {} tokens are trained ({:.0f} %): the answers and their end; {:.2f} bytes per "
                  "token",
                  chat.answers, format_count(static_cast<double>(chat.trained_tokens)), trained_share(info) * 100,
                  info.bytes_per_token));
}

/// What became of everything that is not stored, or stored twice.
void print_accounts(const DatasetInfo& info, Console& console) {
  const DuplicateInfo& duplicates = info.duplicates;
  const uint64_t num_duplicates = duplicates.within_train + duplicates.within_validation + duplicates.across;
  std::string line = fmt::format("left out: {} empty, {} skipped", info.empty, info.skipped);
  if (duplicates.are_dropped) line += fmt::format(", {} equal to an earlier document", num_duplicates);
  console.result(line);
  for (const SkippedRecord& skipped : info.skipped_places) {
    console.result(fmt::format("  {}: {}", skipped.place, printable(skipped.reason)));
  }
  if (info.skipped > info.skipped_places.size() && !info.skipped_places.empty()) {
    console.result(fmt::format("  … and {} more", info.skipped - info.skipped_places.size()));
  }
  if (num_duplicates > 0 && !duplicates.are_dropped) {
    console.result(fmt::format("equal to an earlier document: {} in train, {} in validation, {} across",
                               duplicates.within_train, duplicates.within_validation, duplicates.across));
  }
  if (!info.passed_over.empty()) {
    console.result(fmt::format("files of other kinds, not read: {}", describe_passed_over(info.passed_over)));
  }
}

}  // namespace

OrderedJson data_statistics_json(const DatasetInfo& info) {
  OrderedJson percentiles = OrderedJson::object(), fits = OrderedJson::object();
  for (const auto& [percent, tokens] : info.length_percentiles) percentiles[std::to_string(percent)] = tokens;
  for (const auto& [context, share] : info.fits) fits[std::to_string(context)] = share;
  const auto side = [](const SplitInfo& split) {
    return OrderedJson{{"documents", split.documents}, {"tokens", split.tokens}, {"bytes", split.bytes}};
  };
  OrderedJson places = OrderedJson::array();
  for (const SkippedRecord& skipped : info.skipped_places) {
    places.push_back({{"place", skipped.place}, {"reason", skipped.reason}});
  }
  OrderedJson json = {{"documents", info.documents},
                      {"empty", info.empty},
                      {"skipped", info.skipped},
                      {"skipped_places", places},
                      {"duplicates",
                       {{"within_train", info.duplicates.within_train},
                        {"within_validation", info.duplicates.within_validation},
                        {"across", info.duplicates.across},
                        {"dropped", info.duplicates.are_dropped}}},
                      {"tokens", info.tokens},
                      {"bytes", info.bytes},
                      {"bytes_per_token", info.bytes_per_token},
                      {"vocab_size", info.vocab_size},
                      {"length_percentiles", percentiles},
                      {"fits", fits},
                      {"split", info.split},
                      {"train", side(info.train)},
                      {"validation", side(info.validation)}};
  if (info.chat) {
    json["chat"] = chat_info_to_json(*info.chat);
    json["trained_share"] = trained_share(info);
  }
  return json;
}

void print_data_statistics(const DatasetInfo& info, Console& console) {
  TextTable table;
  const char* unit = info.chat ? "conversations" : "documents";
  table.add_column("");
  for (const char* header : {unit, "tokens", "bytes"}) table.add_column(header, TextTable::Align::right);
  const auto add = [&](const std::string& name, uint64_t documents, uint64_t tokens, uint64_t bytes) {
    table.add_row({name, std::to_string(documents), format_count(static_cast<double>(tokens)), format_bytes(bytes)});
  };
  add("train", info.train.documents, info.train.tokens, info.train.bytes);
  add("validation", info.validation.documents, info.validation.tokens, info.validation.bytes);
  add("together", info.documents, info.tokens, info.bytes);
  std::string text = table.to_string();
  if (!text.empty()) text.pop_back();
  console.result(text);
  if (info.chat) {
    print_chat(info, console);
  } else {
    console.result(fmt::format("{:.2f} bytes per token; split by {}", info.bytes_per_token, info.split));
    print_accounts(info, console);
  }
  std::string lengths = fmt::format("length of {} in tokens:", unit);
  for (const auto& [percent, tokens] : info.length_percentiles) {
    lengths += percent == 100 ? fmt::format("  longest {}", tokens) : fmt::format("  {} % up to {}", percent, tokens);
  }
  console.result(lengths);
  std::string fits = "share that fits a context of:";
  for (const auto& [context, share] : info.fits) fits += fmt::format("  {}: {:.0f} %", context, share * 100);
  console.result(fits);
}

}  // namespace owlet
