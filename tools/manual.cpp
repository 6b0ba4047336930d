#include <pool_allocator/base/error.hpp>
#include <tools/manual.hpp>
#include <tools/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <list>

namespace chainbase {

namespace {

/// Every exit code of every program (exit_code.hpp).
constexpr std::pair<exit_code, const char*> exit_codes[] = {
    {exit_code::done, "Done."},
    {exit_code::failed, "The work failed; stderr says why and what to do."},
    {exit_code::wrong_call, "The call is wrong, or names things that do not fit together."},
    {exit_code::interrupted, "Interrupted by a signal; the same call goes on."},
    {exit_code::damaged, "The checked state or file is not sound; the report says why."},
    {exit_code::different, "The compared states or files differ; the report says where."},
    {exit_code::moved, "The state changed each time that it was read; call again."},
};

struct described_option {
    std::vector<std::string> names; ///< "-v", "--verbose"; none of an argument
    /// placeholder of its value, or the argument's name: "DIR"; empty for a flag
    std::string value;
    std::string description;
    std::vector<std::string> choices;
    bool is_required = false;
};

/// A verb of a program, or the program itself, with its options and verbs.
struct described_verb {
    std::vector<std::string> path; ///< "block-log", "verify"; empty: the program
    std::string description;
    std::string example; ///< without the program's name; empty if it has verbs of its own
    std::vector<described_option> positionals;
    std::vector<described_option> options;
    std::vector<described_verb> verbs; ///< its subcommands

    [[nodiscard]] std::string name() const { return path.empty() ? "" : path.back(); }

    /// Calls visit(verb) for it and all verbs below it.
    template <typename Visitor>
    void each(Visitor&& visit) const {
        visit(*this);
        for (const described_verb& one : verbs)
            one.each(visit);
    }
};

std::string value_of(const command_option& from) {
    if (from.is_flag()) return {};
    if (!from.choices().empty()) return fmt::format("{}", fmt::join(from.choices(), "|"));
    const std::string& name = from.value_name();
    return from.has_optional_value() && !name.starts_with('[') ? "[" + name + "]" : name;
}

described_option described(const command_option& from) {
    described_option one{
        {}, value_of(from), from.description(), from.choices(), from.is_required()};
    if (from.is_positional()) {
        one.value = from.names();
        return one;
    }
    std::string_view left = from.names();
    while (!left.empty()) {
        one.names.emplace_back(left.substr(0, left.find(',')));
        left.remove_prefix(std::min(left.size(), one.names.back().size() + 1));
    }
    if (!from.default_text().empty() && !from.has_optional_value())
        one.description += " [" + from.default_text() + "]";
    return one;
}

described_verb described(const verb_entry& from, const std::vector<std::string>& above) {
    command declared(from.name, from.description);
    declare(from, declared);
    described_verb verb;
    verb.path = above;
    verb.path.emplace_back(from.name);
    verb.description = from.description;
    if (declared.verbs().empty()) verb.example = from.example;
    for (const auto& option : declared.options())
        (option->is_positional() ? verb.positionals : verb.options).push_back(described(*option));
    verb.options.push_back({{"-h", "--help"}, {}, "Print this help", {}, false});
    for (const verb_entry& below : declared.verbs())
        verb.verbs.push_back(described(below, verb.path));
    return verb;
}

described_verb described(const program_description& program) {
    described_verb all;
    all.description = program.description;
    all.options = {{{"-h", "--help"}, {}, "Print the verbs", {}, false},
                   {{"-V", "--version"}, {}, "Print the version and exit", {}, false}};
    for (const verb_entry& one : program.verbs)
        all.verbs.push_back(described(one, {}));
    return all;
}

// --- the manual page ---

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
    for (const described_option& one : verb.positionals)
        text += one.is_required ? " \\fI" + roff(one.value) + "\\fR"
                                : " [\\fI" + roff(one.value) + "\\fR]";
    return text + (verb.options.empty() ? "" : " [\\fIOPTION\\fR]...");
}

std::string entry(const std::string& term, const std::string& text) {
    return ".TP\n" + term + "\n" + (text.empty() ? "\\&" : roff(text)) + "\n";
}

std::string options_text(const described_verb& verb) {
    std::string text;
    for (const described_option& one : verb.positionals)
        text += entry("\\fI" + roff(one.value) + "\\fR", one.description);
    for (const described_option& one : verb.options)
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

// --- completions ---

/// Within single quotes of a shell: bash and zsh end them for one, fish escapes it.
std::string quoted(const std::string& text, const char* quote = "'\\''") {
    std::string safe;
    for (const char c : text)
        safe += c == '\'' ? quote : std::string(1, c == '\n' ? ' ' : c);
    return "'" + safe + "'";
}

/// " block-log verify": the words of the verb as the scripts collect them.
std::string called(const described_verb& verb) {
    std::string text;
    for (const std::string& word : verb.path)
        text += " " + word;
    return text;
}

std::string function_name(std::string program) {
    std::ranges::replace(program, '-', '_');
    return "_" + program;
}

/// A case pattern that matches any verb.
std::string every_call(const described_verb& all) {
    std::string text;
    all.each([&](const described_verb& verb) {
        if (!verb.path.empty()) text.append(text.empty() ? "" : " | ").append(quoted(called(verb)));
    });
    return text;
}

std::string option_names(const described_verb& verb) {
    std::string names;
    for (const described_option& one : verb.options)
        for (const std::string& name : one.names)
            names += (names.empty() ? "" : " ") + name;
    return names;
}

std::string verb_names(const described_verb& verb) {
    std::string names;
    for (const described_verb& one : verb.verbs)
        names += (names.empty() ? "" : " ") + one.name();
    return names;
}

/// 'name:description' of zsh, where a colon in a name would end it.
std::string zsh_pair(std::string name, const std::string& description) {
    for (std::size_t at = 0; (at = name.find(':', at)) != std::string::npos; at += 2)
        name.insert(at, 1, '\\');
    return quoted(name + ":" + description);
}

std::string zsh_lists(const described_verb& verb) {
    std::string verbs;
    std::string options;
    for (const described_verb& one : verb.verbs)
        verbs.append(" ").append(zsh_pair(one.name(), one.description));
    for (const described_option& one : verb.options)
        for (const std::string& name : one.names)
            options.append(" ").append(zsh_pair(name, one.description));
    return fmt::format("  ({}) verbs=({} ) options=({} ) ;;\n", quoted(called(verb)), verbs,
                       options);
}

std::string fish_quoted(std::string text) {
    for (std::size_t at = 0; (at = text.find('\\', at)) != std::string::npos; at += 2)
        text.insert(at, 1, '\\');
    return quoted(text, "\\'");
}

/// True when all words of the verb were given and none of its subcommands.
std::string fish_condition(const described_verb& verb) {
    std::string text;
    for (const std::string& word : verb.path)
        text += (text.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
    if (verb.verbs.empty()) return text;
    return text + (text.empty() ? "" : "; and ") + "not __fish_seen_subcommand_from " +
           verb_names(verb);
}

std::string fish_lines(const std::string& program, const described_verb& verb) {
    const std::string begin =
        fmt::format("complete -c {} -n {}", program, fish_quoted(fish_condition(verb)));
    std::string text;
    for (const described_verb& one : verb.verbs)
        text += fmt::format("{} -f -a {} -d {}\n", begin, one.name(), fish_quoted(one.description));
    for (const described_option& one : verb.options) {
        text += begin;
        for (const std::string& name : one.names)
            text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        text +=
            fmt::format("{} -d {}\n", one.value.empty() ? "" : " -r", fish_quoted(one.description));
    }
    return text;
}

} // namespace

void declare(const verb_entry& from, command& verb) {
    from.declare(verb);
    if (!verb.verbs().empty()) return;
    verb.add_flag("-q,--quiet", progress::is_quiet, "Show no progress on stderr");
}

std::string exit_codes_text() {
    std::string text = "Exit codes:";
    for (const auto& [code, meaning] : exit_codes)
        text += fmt::format("\n  {}  {}", static_cast<int>(code), meaning);
    return text;
}

std::string man_page_of(const program_description& program) {
    const described_verb all = described(program);
    const std::string name = program.name;
    std::string text = fmt::format(".TH {} 1 \"\" \"chainbase " CHAINBASE_VERSION
                                   "\" \"User Commands\"\n.SH NAME\n{} "
                                   "\\- {}\n.SH SYNOPSIS\n{}\n.SH DESCRIPTION\n{}.\n",
                                   roff(upper(name)), roff(name), roff(all.description),
                                   call_of(name, all), roff(all.description));
    text += verbs_text(name, all) + ".SH EXIT STATUS\n";
    for (const auto& [code, meaning] : exit_codes)
        text += entry(std::to_string(static_cast<int>(code)), meaning);
    text += ".SH ENVIRONMENT\n" +
            entry("NO_COLOR", "If it is set and not empty, nothing is in colours.") +
            entry("CHAINBASE_PROGRESS_SECONDS",
                  "Seconds between two lines of progress where stderr is no terminal; 10.") +
            ".SH EXAMPLES\n";
    all.each([&](const described_verb& verb) {
        if (!verb.example.empty())
            text +=
                entry("\\fB" + roff(name + " " + verb.example) + "\\fR", verb.description + ".");
    });
    return text;
}

std::string bash_completion_of(const program_description& program) {
    const described_verb all = described(program);
    std::string cases;
    all.each([&](const described_verb& verb) {
        cases += fmt::format("    {}) verbs={} options={} ;;\n", quoted(called(verb)),
                             quoted(verb_names(verb)), quoted(option_names(verb)));
    });
    const std::string function = function_name(program.name);
    return fmt::format("{0}() {{\n"
                       "  local word=${{COMP_WORDS[COMP_CWORD]}} called= verbs= options= at\n"
                       "  for ((at = 1; at < COMP_CWORD; ++at)); do\n"
                       "    case \"$called ${{COMP_WORDS[at]}}\" in\n"
                       "    {1}) called+=\" ${{COMP_WORDS[at]}}\" ;;\n"
                       "    esac\n"
                       "  done\n"
                       "  case \"$called\" in\n{2}  esac\n"
                       "  [[ $word == -* ]] && verbs=$options\n"
                       "  COMPREPLY=($(compgen -W \"$verbs\" -- \"$word\"))\n"
                       "}}\n"
                       "complete -o default -F {0} {3}\n",
                       function, every_call(all), cases, program.name);
}

std::string zsh_completion_of(const program_description& program) {
    const described_verb all = described(program);
    std::string cases;
    all.each([&](const described_verb& verb) { cases += zsh_lists(verb); });
    return fmt::format("#compdef {}\n"
                       "local -a verbs options\n"
                       "local called= at\n"
                       "for ((at = 2; at < CURRENT; ++at)); do\n"
                       "  case \"$called ${{words[at]}}\" in\n"
                       "  ({}) called+=\" ${{words[at]}}\" ;;\n"
                       "  esac\n"
                       "done\n"
                       "case \"$called\" in\n{}esac\n"
                       "if [[ ${{words[CURRENT]}} == -* ]]; then\n"
                       "  _describe -o option options\n"
                       "elif (( $#verbs )); then\n"
                       "  _describe verb verbs\n"
                       "else\n"
                       "  _files\n"
                       "fi\n",
                       program.name, every_call(all), cases);
}

std::string fish_completion_of(const program_description& program) {
    std::string text;
    described(program).each(
        [&](const described_verb& verb) { text += fish_lines(program.name, verb); });
    return text;
}

void write_manual(const program_description& program, const std::string& folder) {
    const std::string name = program.name;
    const auto write = [&](const std::string& file, const std::string& text) {
        std::ofstream to(folder + "/" + file, std::ios::binary);
        to << text;
        if (!to.flush())
            throw io_error("cannot write " + folder + "/" + file + "; check the folder");
    };
    write(name + ".1", man_page_of(program));
    write(name + ".bash", bash_completion_of(program));
    write("_" + name, zsh_completion_of(program));
    write(name + ".fish", fish_completion_of(program));
}

} // namespace chainbase
