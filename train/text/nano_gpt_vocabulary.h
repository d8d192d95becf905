#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// Reads the vocabulary that nanoGPT's prepare.py writes next to train.bin: meta.pkl, a dict with the ids by symbol (stoi), the symbols by
/// id (itos) and vocab_size. nanoGPT writes symbols one after another with nothing between them. A symbol <|endoftext|> ends documents.
/// These functions throw InputError for ids that are not 0, 1, 2 ...
namespace dikkat {

/// Returns whether a file's bytes begin a pickle.
inline bool is_pickle(std::string_view bytes) { return bytes.starts_with('\x80'); }

/// Reads the bytes of a meta.pkl; nothing in it is run. Throws InputError for a pickle of anything else.
std::vector<std::string> symbols_in_pickle(std::string_view bytes);

/// Reads the object "stoi" of a meta.pkl that was written as JSON.
std::vector<std::string> symbols_in_stoi(const nlohmann::json& ids);

}  // namespace dikkat
