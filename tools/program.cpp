#include <pool_allocator/base/error.hpp>
#include <tools/interruption.hpp>
#include <tools/manual.hpp>
#include <tools/program.hpp>
#include <tools/progress.hpp>

#include <CLI/CLI.hpp>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <list>
#include <map>
#include <numeric>
#include <utility>

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

/// How many letters must be inserted, removed or replaced to make one word the other (Levenshtein's
/// distance).
std::size_t distance(std::string_view one, std::string_view other) {
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < one.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < other.size(); ++j) {
            const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

/// How a message on an unknown word goes on: with the nearest name, if one is near, and where all
/// are listed.
std::string or_rather(const std::string& word, const std::vector<std::string>& names,
                      const std::string& path) {
    const std::string* best = nullptr;
    std::size_t least = (word.size() + 1) / 2;
    for (const std::string& name : names) {
        const bool begins = word.size() >= 3 && name.starts_with(word);
        const std::size_t far = begins ? 1 : distance(word, name);
        if (far >= least) continue;
        best = &name;
        least = far;
    }
    const std::string all = "`" + path + " --help` lists all";
    return best ? "; did you mean " + *best + "? (" + all + ")" : "; " + all;
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
        : name_(described.name), program_(described.name, described.description),
          app_(described.description, described.name) {
        program_.add_verbs(described.verbs);
        app_.footer(exit_codes_text());
        add_verbs(app_, program_, words, 0);
    }

    CLI::App& app() { return app_; }
    /// Runs the verb that was named.
    exit_code run() const { return called_ ? called_->run() : exit_code::done; }

    /// Throws usage_error for the first word that is no verb where one is required.
    void require_verb(const std::vector<std::string>& words) const {
        const command& of = named_.empty() ? program_ : *named_.back();
        if (of.verbs().empty()) return;
        if (words.size() == named_.size())
            throw usage_error("a verb is missing; `" + path() + " --help` lists all");
        const std::string& word = words[named_.size()];
        if (word.starts_with('-')) return require_verb_first(of, words);
        std::vector<std::string> names;
        for (const verb_entry& one : of.verbs())
            names.emplace_back(one.name);
        throw usage_error("\"" + word + "\" is no verb of " + path() +
                          or_rather(word, names, path()));
    }
    /// An option where a verb is expected may be one of a verb that follows.
    void require_verb_first(const command& of, const std::vector<std::string>& words) const {
        const std::string& option = words[named_.size()];
        if (app_.get_option_no_throw(option)) return; // of the program itself
        const auto is_verb = [&](const std::string& word) {
            return std::ranges::any_of(of.verbs(),
                                       [&](const auto& one) { return word == one.name; });
        };
        const auto verb = std::ranges::find_if(words.begin() + named_.size(), words.end(), is_verb);
        if (verb != words.end())
            throw usage_error("the options of a verb come after it: " + path() + " " + *verb +
                              " ... " + option);
    }
    /// What was wrong with a call that the parser refused, and what to do.
    std::string in_words(const CLI::ParseError& problem,
                         const std::vector<std::string>& words) const {
        const std::string help = "; `" + path() + " --help` shows how to call it";
        std::vector<std::string> names{"--help"};
        if (!named_.empty())
            for (const auto& option : named_.back()->options())
                for (const std::string& name : CLI::detail::split(option->names(), ','))
                    names.push_back(name);
        for (const std::string& word : words) {
            const std::string name = word.substr(0, word.find('='));
            if (name.starts_with("--") && std::ranges::find(names, name) == names.end())
                return "\"" + name + "\" is no option of " + path() +
                       or_rather(name, names, path());
        }
        return path() + ": " + problem.what() + help;
    }

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
            if (!named || named == &one) add_verb(app, one, words, at + 1, named != nullptr);
    }

    void add_verb(CLI::App& app, const verb_entry& from, const std::vector<std::string>& words,
                  std::size_t at, bool is_named) {
        command& verb = commands_.emplace_back(from.name, from.description);
        declare(from, verb);
        if (is_named) named_.push_back(&verb);
        CLI::App& below = *app.add_subcommand(verb.name(), verb.description());
        if (verb.verbs().empty()) below.footer("Example:\n  " + name_ + " " + from.example);
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

    /// The words that call what was named: "chainbase-driver block-log verify".
    std::string path() const {
        std::string path = name_;
        for (const command* one : named_)
            path += " " + one->name();
        return path;
    }

    std::string name_;
    command program_;
    CLI::App app_;
    std::list<command> commands_;
    std::vector<const command*> named_; ///< a verb, a verb of that one, ...
    const command* called_ = nullptr;
};

/// Whether the only word names a folder, and no verb.
bool is_folder_alone(const program_description& described, const std::string& word) {
    const auto is_it = [&](const verb_entry& one) { return word == one.name; };
    std::error_code unknown;
    return std::ranges::none_of(described.verbs, is_it) &&
           std::filesystem::is_directory(word, unknown);
}

exit_code run(const program_description& described, int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 2 && words.front() == "--write-manual") {
        write_manual(described, words.back());
        return exit_code::done;
    }
    if (described.without_verb && words.empty()) return described.without_verb(".");
    if (described.without_verb && words.size() == 1 && is_folder_alone(described, words.front()))
        return described.without_verb(words.front());
    parser reads(described, words);
    const std::string version = std::string(described.name) + " " CHAINBASE_VERSION;
    reads.app().set_version_flag("-V,--version", version, "Print the version and exit");
    try {
        std::vector<std::string> last_first;
        std::ranges::transform(words.rbegin(), words.rend(), std::back_inserter(last_first),
                               hide_brackets);
        reads.require_verb(words);
        reads.app().parse(std::move(last_first));
    } catch (const CLI::Success& asked) { // for help, or the version
        reads.app().exit(asked);
        return exit_code::done;
    } catch (const CLI::ParseError& problem) {
        throw usage_error(reads.in_words(problem, words));
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

namespace {

/// The log on stderr: above the line of a progress. In colours on a terminal, unless NO_COLOR
/// (https://no-color.org) is set.
class stderr_log : public spdlog::sinks::ansicolor_stderr_sink_mt {
public:
    stderr_log() : ansicolor_stderr_sink(mode()) {}
    void log(const spdlog::details::log_msg& message) override {
        progress::clear_line();
        ansicolor_stderr_sink::log(message);
    }

private:
    static spdlog::color_mode mode() {
        const char* const plain = std::getenv("NO_COLOR");
        return plain != nullptr && *plain != '\0' ? spdlog::color_mode::never
                                                  : spdlog::color_mode::automatic;
    }
};

} // namespace

int run_program(const program_description& program, int argc, char** argv) {
    std::signal(SIGXFSZ, SIG_IGN); // exceeding a file size limit is then an error, like a full disk
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>(program.name, std::make_shared<stderr_log>()));
    return static_cast<int>(run_or_tell(program, argc, argv));
}

} // namespace chainbase
