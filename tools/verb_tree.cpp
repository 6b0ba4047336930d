#include <tools/verb_tree.hpp>

#include <utility>

namespace chainbase {

namespace {

described_verb::option described(const CLI::Option& from) {
    described_verb::option one;
    for (const std::string& name : from.get_lnames())
        one.names.push_back("--" + name);
    for (const std::string& name : from.get_snames())
        one.names.push_back("-" + name);
    one.description = from.get_description();
    one.is_required = from.get_required();
    if (one.names.empty())
        one.value = from.get_name(true);
    else if (from.get_type_size() != 0)
        one.value = from.get_type_name().empty() ? "VALUE" : from.get_type_name();
    return one;
}

/// A group of options is to CLI11 a subcommand without a name, with a --help of its own.
void add_options(const CLI::App& of, described_verb& to) {
    for (const CLI::Option* one : of.get_options({})) {
        if (of.get_name().empty() && one == of.get_help_ptr()) continue;
        described_verb::option added = described(*one);
        (added.names.empty() ? to.positionals : to.options).push_back(std::move(added));
    }
    for (const CLI::App* group : of.get_subcommands({}))
        if (group->get_name().empty()) add_options(*group, to);
}

described_verb described(const CLI::App& from, std::vector<std::string> path) {
    described_verb verb;
    verb.path = std::move(path);
    verb.description = from.get_description();
    add_options(from, verb);
    for (const CLI::App* below : from.get_subcommands({})) {
        if (below->get_name().empty()) continue;
        std::vector<std::string> further = verb.path;
        further.push_back(below->get_name());
        verb.verbs.push_back(described(*below, std::move(further)));
    }
    return verb;
}

} // namespace

described_verb described_verb::of(const CLI::App& app) {
    return described(app, {});
}

} // namespace chainbase
