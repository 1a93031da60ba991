#include "tessera/quant/message_printer.h"

namespace tessera {
namespace {

constexpr size_t kIndent = 4;
constexpr size_t kWrapAt = 120;
// More levels of braces than that on one line are hard to read.
constexpr int kFlatMessages = 2;

void AppendWords(const TextEntry& entry, size_t indent, std::string* out) {
  size_t line_start = out->size();
  out->append(indent, ' ');
  for (size_t i = 0; i < entry.words; ++i) {
    const std::string word = entry.word(i) + (i + 1 < entry.words ? "," : "");
    if (i > 0 && out->size() - line_start + 1 + word.size() > kWrapAt) {
      *out += '\n';
      line_start = out->size();
      out->append(indent, ' ');
    } else if (i > 0) {
      *out += ' ';
    }
    *out += word;
  }
  *out += '\n';
}

}  // namespace

bool AppendFlat(const TextEntry& entry, size_t most, int messages, std::string* out) {
  const size_t start = out->size();
  *out += entry.text;
  if (entry.brackets.empty()) return out->size() - start <= most;
  const bool is_message = entry.brackets == "{}";
  if (is_message && --messages < 0) return false;
  *out += entry.brackets[0];
  if (is_message) *out += ' ';
  for (size_t i = 0; i < entry.children.size() + entry.words; ++i) {
    if (i > 0) *out += ", ";
    const size_t used = out->size() - start;
    if (used > most) return false;
    if (entry.words > 0)
      *out += entry.word(i);
    else if (!AppendFlat(entry.children[i], most - used, messages, out))
      return false;
  }
  if (is_message && !entry.children.empty()) *out += ' ';
  *out += entry.brackets[1];
  return out->size() - start <= most;
}

void AppendEntry(const TextEntry& entry, size_t indent, std::string* out) {
  const size_t start = out->size();
  const bool is_root = indent == 0 && !entry.children.empty();
  // A comma may follow.
  if (!is_root && AppendFlat(entry, indent < kWrapAt ? kWrapAt - 1 - indent : 0, kFlatMessages, out)) return;
  out->resize(start);
  *out += entry.text;
  if (entry.brackets.empty()) return;
  *out += entry.brackets[0];
  *out += '\n';
  if (entry.words > 0) AppendWords(entry, indent + kIndent, out);
  for (size_t i = 0; i < entry.children.size(); ++i) {
    out->append(indent + kIndent, ' ');
    AppendEntry(entry.children[i], indent + kIndent, out);
    if (entry.brackets != "{}" && i + 1 < entry.children.size()) *out += ',';
    *out += '\n';
  }
  out->append(indent, ' ');
  *out += entry.brackets[1];
}

}  // namespace tessera
