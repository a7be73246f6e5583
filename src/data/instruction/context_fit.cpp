#include "data/instruction/context_fit.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"

namespace owlet {
namespace {

constexpr std::array<std::pair<std::string_view, TooLong>, 4> kPolicies = {
    {{"error", TooLong::error}, {"drop", TooLong::drop}, {"cut", TooLong::cut}, {"split", TooLong::split}}};

void cut(std::vector<ChatMessage> messages, RenderedChat chat, uint64_t context, ContextFit& fit) {
  size_t length = context;
  while (length > 0 && chat.is_trained[length - 1] == 0) --length;  // a question without its answer teaches nothing
  if (length == 0) return;
  chat.tokens.resize(length);
  chat.is_trained.resize(length);
  fit.was_cut = true;
  fit.stored.push_back({std::move(messages), std::move(chat)});
}

void split(const std::vector<ChatMessage>& messages, const ChatRenderer& renderer, const RenderedChat& whole,
           uint64_t context, ContextFit& fit) {
  const size_t first = messages[0].role == ChatRole::system ? 1 : 0;
  const std::vector<ChatMessage> system(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(first));
  const uint64_t start_tokens = renderer.render(system).tokens.size();
  std::vector<ChatMessage> part = system;
  uint64_t part_tokens = start_tokens;
  const auto store_part = [&] {
    if (part.size() > first) fit.stored.push_back({part, renderer.render(part)});
    part = system;
    part_tokens = start_tokens;
  };
  for (size_t question = first; question + 1 < messages.size(); question += 2) {
    const uint64_t begin = question == 0 ? start_tokens : whole.message_ends[question - 1];
    const uint64_t exchange_tokens = whole.message_ends[question + 1] - begin;
    if (start_tokens + exchange_tokens > context) {
      store_part();  // what follows does not continue what stands before
      fit.exchanges_dropped += 1;
      continue;
    }
    if (part_tokens + exchange_tokens > context) store_part();
    part.insert(part.end(), {messages[question], messages[question + 1]});
    part_tokens += exchange_tokens;
  }
  store_part();
  fit.was_split = !fit.stored.empty();
}

}  // namespace

TooLong too_long_from(std::string_view name) {
  for (const auto& [known, policy] : kPolicies) {
    if (name == known) return policy;
  }
  fail(ErrorKind::invalid_argument, "'{}' is no way to treat long conversations; there are error, drop, cut, split",
       name);
}

std::string_view to_string(TooLong policy) {
  for (const auto& [name, known] : kPolicies) {
    if (policy == known) return name;
  }
  return {};
}

ContextFit fit_to_context(std::vector<ChatMessage> messages, const ChatRenderer& renderer, uint64_t context,
                          TooLong policy) {
  ContextFit fit;
  RenderedChat chat = renderer.render(messages);
  fit.num_tokens = chat.tokens.size();
  fit.was_too_long = context > 0 && fit.num_tokens > context;
  if (!fit.was_too_long) {
    fit.stored.push_back({std::move(messages), std::move(chat)});
  } else if (policy == TooLong::cut) {
    cut(std::move(messages), std::move(chat), context, fit);
  } else if (policy == TooLong::split) {
    split(messages, renderer, chat, context, fit);
  }
  return fit;
}

}  // namespace owlet
