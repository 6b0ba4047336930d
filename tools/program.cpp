#include <pool_allocator/base/error.hpp>
#include <tools/interruption.hpp>
#include <tools/manual.hpp>
#include <tools/program.hpp>

#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iterator>
#include <list>
#include <map>

namespace chainbase {

namespace {

/// CLI11 takes a word in brackets apart, so such a word ends with this while it is parsed.
constexpr char end_of_brackets = '\x1f';

std::string hide_brackets(std::string word) {
    if (word.starts_with('[') && word.ends_with(']')) word += end_of_brackets;
    return word;
}
std::string show_brackets(std::string word) {
    if (word.ends_with(end_of_brackets)) word.pop_back();
    return word;
}

/// For an argument only its choices: its name says the rest.
std::string shown_value(const command_option& from) {
    if (!from.choices().empty()) {
        std::string all;
        for (const std::string& one : from.choices())
            all += (all.empty() ? "{" : ",") + one;
        return all + "}";
    }
    if (from.is_positional()) return {};
    return from.has_optional_value() && !from.value_name().starts_with('[')
               ? "[" + from.value_name() + "]"
               : from.value_name();
}

CLI::Option* add_to(CLI::App& app, command_option& from) {
    if (from.is_flag()) {
        const auto times_given = [&from](std::int64_t times) {
            from.set(option_words(static_cast<std::size_t>(times)));
        };
        return app.add_flag_function(from.names(), times_given, from.description());
    }
    const auto set = [&from](const CLI::results_t& words) {
        option_words shown;
        std::ranges::transform(words, std::back_inserter(shown), show_brackets);
        from.set(shown);
        return true;
    };
    CLI::Option* option = app.add_option(from.names(), set, from.description());
    option->type_name(shown_value(from));
    if (!from.default_text().empty()) option->default_str(from.default_text());
    if (from.is_list()) option->expected(CLI::detail::expected_max_vector_size);
    if (from.is_list() && from.takes_one_value_each_time()) option->allow_extra_args(false);
    if (from.has_optional_value()) option->expected(0, 1);
    if (from.delimiter() != 0) option->delimiter(from.delimiter());
    if (from.is_required()) option->required();
    for (const command_option::word_check& problem_of : from.checks())
        option->check(CLI::Validator(
            [problem_of](std::string& word) { return problem_of(show_brackets(word)); }, ""));
    return option;
}

/// The parser of a command line: a command and, as far as the command line names them, the verbs
/// below it.
class parser {
public:
    parser(const program_description& described, const std::vector<std::string>& words)
        : program_(described.name, described.description),
          app_(described.description, described.name) {
        program_.add_verbs(described.verbs);
        add_verbs(app_, program_, words, 0);
    }

    CLI::App& app() { return app_; }
    /// Runs the verb that was named.
    exit_code run() const { return called_ ? called_->run() : exit_code::done; }

private:
    /// Declares only the verb that the command line begins with: declaring all would take longer
    /// than a short verb runs.
    void add_verbs(CLI::App& app, const command& of, const std::vector<std::string>& words,
                   std::size_t at) {
        if (of.verbs().empty()) return;
        app.require_subcommand(1);
        const verb_entry* named = nullptr;
        for (const verb_entry& one : of.verbs())
            if (at < words.size() && words[at] == one.name) named = &one;
        for (const verb_entry& one : of.verbs())
            if (!named || named == &one) add_verb(app, one, words, at + 1);
    }

    void add_verb(CLI::App& app, const verb_entry& from, const std::vector<std::string>& words,
                  std::size_t at) {
        command& verb = commands_.emplace_back(from.name, from.description);
        from.declare(verb);
        CLI::App& below = *app.add_subcommand(verb.name(), verb.description());
        std::map<const command_option*, CLI::Option*> made;
        for (const auto& option : verb.options())
            made[option.get()] = add_to(below, *option);
        for (const auto& option : verb.options()) {
            for (const command_option* other : option->needed())
                made[option.get()]->needs(made.at(other));
            for (const command_option* other : option->excluded())
                made[option.get()]->excludes(made.at(other));
        }
        add_verbs(below, verb, words, at);
        if (verb.verbs().empty()) below.callback([this, &verb] { called_ = &verb; });
    }

    command program_;
    CLI::App app_;
    std::list<command> commands_;
    const command* called_ = nullptr;
};

exit_code run(const program_description& described, int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 2 && words.front() == "--write-manual") {
        write_manual(described, words.back());
        return exit_code::done;
    }
    parser reads(described, words);
    const std::string version = std::string(described.name) + " " CHAINBASE_VERSION;
    reads.app().set_version_flag("-V,--version", version, "Print the version and exit");
    try {
        std::vector<std::string> last_first;
        std::ranges::transform(words.rbegin(), words.rend(), std::back_inserter(last_first),
                               hide_brackets);
        reads.app().parse(std::move(last_first));
    } catch (const CLI::ParseError& problem) {
        return reads.app().exit(problem) == 0 ? exit_code::done : exit_code::wrong_call;
    }
    return reads.run();
}

exit_code run_or_tell(const program_description& described, int argc, char** argv) {
    try {
        return run(described, argc, argv);
    } catch (const usage_error& problem) {
        spdlog::error(problem.what());
        return exit_code::wrong_call;
    } catch (const interrupted_error& how) {
        spdlog::warn(how.what());
        return exit_code::interrupted;
    } catch (const std::exception& problem) {
        spdlog::error(problem.what());
        return exit_code::failed;
    }
}

} // namespace

int run_program(const program_description& program, int argc, char** argv) {
    std::signal(SIGXFSZ, SIG_IGN); // exceeding a file size limit is then an error, like a full disk
    spdlog::set_default_logger(spdlog::stderr_color_mt(program.name));
    return static_cast<int>(run_or_tell(program, argc, argv));
}

} // namespace chainbase
