#pragma once

#include "train/web/http/http_server.h"

namespace dikkat::serve {

/// The facts that the chat page needs before its first request.
struct ChatPageConfig {
  bool takes_feedback = false;       // whether the page shows thumbs, which are sent to /feedback
  bool takes_conversations = true;   // whether the model has a template; otherwise the page continues texts
  bool can_switch_thinking = false;  // whether the template of conversations reads enable_thinking
};

/// Makes the response to GET /: the chat page, in one file that needs nothing else. Its headers permit only the page's own script and
/// styles, by their hashes, and requests only to this server. The page never reads the texts of models and servers as markup
/// (page/markdown.js).
HttpResponse chat_page(const ChatPageConfig& config);

}  // namespace dikkat::serve
