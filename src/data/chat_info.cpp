#include "data/chat_info.hpp"

namespace owlet {

OrderedJson chat_info_to_json(const ChatInfo& info) {
  OrderedJson dropped = OrderedJson::array();
  for (const auto& [reason, rows] : info.dropped) {
    dropped.push_back({{"reason", reason}, {"count", rows.count}, {"first", rows.first_place}});
  }
  return {{"format", info.format},
          {"template", info.chat_template},
          {"rows", info.rows},
          {"unreadable", info.unreadable},
          {"dropped", std::move(dropped)},
          {"answers", info.answers},
          {"trained_tokens", info.trained_tokens},
          {"open_questions", info.open_questions},
          {"context", info.context},
          {"too_long", info.too_long},
          {"num_too_long", info.num_too_long},
          {"num_cut", info.num_cut},
          {"num_split", info.num_split}};
}

ChatInfo chat_info_from_json(const Json& json, const std::string& source) {
  ChatInfo info;
  info.format = json_get<std::string>(json, "format", source);
  info.chat_template = json_get<std::string>(json, "template", source);
  info.rows = json_get<uint64_t>(json, "rows", source);
  info.unreadable = json_get<uint64_t>(json, "unreadable", source);
  for (const Json& row : json_get<std::vector<Json>>(json, "dropped", source)) {
    info.dropped[json_get<std::string>(row, "reason", source)] = {json_get<uint64_t>(row, "count", source),
                                                                  json_get<std::string>(row, "first", source)};
  }
  info.answers = json_get<uint64_t>(json, "answers", source);
  info.trained_tokens = json_get<uint64_t>(json, "trained_tokens", source);
  info.open_questions = json_get<uint64_t>(json, "open_questions", source);
  info.context = json_get<uint64_t>(json, "context", source);
  info.too_long = json_get<std::string>(json, "too_long", source);
  info.num_too_long = json_get<uint64_t>(json, "num_too_long", source);
  info.num_cut = json_get<uint64_t>(json, "num_cut", source);
  info.num_split = json_get<uint64_t>(json, "num_split", source);
  return info;
}

}  // namespace owlet
