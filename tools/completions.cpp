#include <tools/manual.hpp>
#include <tools/verb_tree.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace chainbase {

namespace {

/// Within single quotes of a shell: bash and zsh end them for one, fish escapes it.
std::string quoted(const std::string& text, const char* quote = "'\\''") {
    std::string safe;
    for (const char c : text)
        safe += c == '\'' ? quote : std::string(1, c == '\n' ? ' ' : c);
    return "'" + safe + "'";
}

/// " block-log verify", as the scripts keep what was called.
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

/// The words of a case that match any verb.
std::string every_call(const described_verb& all) {
    std::string text;
    all.each([&](const described_verb& verb) {
        if (!verb.path.empty()) text += (text.empty() ? "" : " | ") + quoted(called(verb));
    });
    return text;
}

std::string option_names(const described_verb& verb) {
    std::string names;
    for (const described_verb::option& one : verb.options)
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
        verbs += " " + zsh_pair(one.name(), one.description);
    for (const described_verb::option& one : verb.options)
        for (const std::string& name : one.names)
            options += " " + zsh_pair(name, one.description);
    return fmt::format("  ({}) verbs=({} ) options=({} ) ;;\n", quoted(called(verb)), verbs,
                       options);
}

std::string fish_quoted(std::string text) {
    for (std::size_t at = 0; (at = text.find('\\', at)) != std::string::npos; at += 2)
        text.insert(at, 1, '\\');
    return quoted(text, "\\'");
}

/// That all words of the verb were given and none below it.
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
    for (const described_verb::option& one : verb.options) {
        text += begin;
        for (const std::string& name : one.names)
            text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        text +=
            fmt::format("{} -d {}\n", one.value.empty() ? "" : " -r", fish_quoted(one.description));
    }
    return text;
}

} // namespace

std::string bash_completion_of(const CLI::App& program) {
    const described_verb all = described_verb::of(program);
    std::string cases;
    all.each([&](const described_verb& verb) {
        cases += fmt::format("    {}) verbs={} options={} ;;\n", quoted(called(verb)),
                             quoted(verb_names(verb)), quoted(option_names(verb)));
    });
    const std::string function = function_name(program.get_name());
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
                       function, every_call(all), cases, program.get_name());
}

std::string zsh_completion_of(const CLI::App& program) {
    const described_verb all = described_verb::of(program);
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
                       program.get_name(), every_call(all), cases);
}

std::string fish_completion_of(const CLI::App& program) {
    std::string text;
    described_verb::of(program).each(
        [&](const described_verb& verb) { text += fish_lines(program.get_name(), verb); });
    return text;
}

} // namespace chainbase
