#include <tools/manual.hpp>
#include <tools/verb_tree.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace chainbase {

namespace {

/// Text as roff prints it, on one line.
std::string roff(const std::string& text) {
    std::string safe;
    for (const char c : text) {
        if (c == '\\')
            safe += "\\e";
        else if (c == '-')
            safe += "\\-";
        else
            safe += c == '\n' ? ' ' : c;
    }
    const bool is_request = safe.starts_with('.') || safe.starts_with('\'');
    return is_request ? "\\&" + safe : safe;
}

std::string upper(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
    return fmt::format("{}", fmt::join(words, between));
}

std::string call_of(const std::string& program, const described_verb& verb) {
    std::string text = "\\fB" + roff(program);
    for (const std::string& word : verb.path)
        text += " " + roff(word);
    text += "\\fR";
    if (!verb.verbs.empty()) text += " \\fIVERB\\fR";
    for (const described_verb::option& one : verb.positionals)
        text += one.is_required ? " \\fI" + roff(one.value) + "\\fR"
                                : " [\\fI" + roff(one.value) + "\\fR]";
    return text + (verb.options.empty() ? "" : " [\\fIOPTION\\fR]...");
}

std::string entry(const std::string& term, const std::string& text) {
    return ".TP\n" + term + "\n" + (text.empty() ? "\\&" : roff(text)) + "\n";
}

std::string options_text(const described_verb& verb) {
    std::string text;
    for (const described_verb::option& one : verb.positionals)
        text += entry("\\fI" + roff(one.value) + "\\fR", one.description);
    for (const described_verb::option& one : verb.options)
        text += entry("\\fB" + roff(joined(one.names, ", ")) + "\\fR" +
                          (one.value.empty() ? "" : " \\fI" + roff(one.value) + "\\fR"),
                      one.description);
    return text;
}

std::string verbs_text(const std::string& program, const described_verb& all) {
    std::string text = ".SH OPTIONS\n" + options_text(all) + ".SH VERBS\n";
    all.each([&](const described_verb& verb) {
        if (verb.path.empty()) return;
        text += ".SS " + roff(joined(verb.path, " ")) + "\n" + call_of(program, verb) + "\n.PP\n" +
                roff(verb.description) + "\n" + options_text(verb);
    });
    return text;
}

} // namespace

std::string man_page_of(const CLI::App& program, const manual_notes& notes) {
    const described_verb all = described_verb::of(program);
    const std::string name = program.get_name();
    std::string text =
        fmt::format(".TH {} 1 {} \"{}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n"
                    ".SH DESCRIPTION\n{}.\n",
                    roff(upper(name)), notes.date, notes.version, roff(name), roff(all.description),
                    call_of(name, all), roff(all.description));
    text += verbs_text(name, all) + ".SH EXIT STATUS\n";
    for (const auto& [code, meaning] : notes.exit_codes)
        text += entry(std::to_string(code), meaning);
    text += ".SH EXAMPLES\n";
    for (const auto& [command, purpose] : notes.examples)
        text += entry("\\fB" + roff(command) + "\\fR", purpose);
    return text;
}

} // namespace chainbase
