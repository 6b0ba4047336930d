#pragma once

#include <tools/exit_code.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// A program's command line as data: program.hpp parses by it, manual.hpp describes it. Needs no
/// parser header, so a verb's source compiles quickly.
namespace chainbase {

/// The words given for an option: one, or more if it takes several; for a flag an empty word for
/// each use.
using option_words = std::vector<std::string>;

/// @name How words become values
/// Each throws usage_error naming the expected form.
/// @{
[[nodiscard]] std::uint64_t unsigned_of(const std::string& word, std::uint64_t most);
[[nodiscard]] std::int64_t signed_of(const std::string& word, std::int64_t least,
                                     std::int64_t most);
[[nodiscard]] double real_of(const std::string& word);
/// "4096" or "64GiB": bytes; a unit of 1024 with or without the i.
[[nodiscard]] std::uint64_t byte_size_of(const std::string& word);
/// @}

/// "0.5", not "0.500000".
[[nodiscard]] std::string text_of(double value);

template <typename T>
inline constexpr bool is_list = false;
template <typename T>
inline constexpr bool is_list<std::vector<T>> = true;
template <typename T>
concept is_optional = requires(T& to) {
    to.emplace();
    to.has_value();
};

/// An option or an argument of a command. Each setter returns the option itself.
class command_option {
public:
    /// Takes the words; throws usage_error when they are wrong.
    using setter = std::function<void(const option_words&)>;
    /// Returns what is wrong with a word, or nothing.
    using word_check = std::function<std::string(const std::string&)>;

    command_option(std::string names, std::string description)
        : names_(std::move(names)), description_(std::move(description)) {}
    command_option(const command_option&) = delete;
    command_option& operator=(const command_option&) = delete;

    command_option& required();
    /// The placeholder of its value in help: "FILE".
    command_option& value_name(std::string name);
    /// Help shows the variable's value at the time of declaration.
    command_option& shows_default();
    command_option& default_text(std::string text);
    /// Decimal digits only, from `least` to `most`.
    command_option& whole_number(std::uint64_t least, std::uint64_t most = UINT64_MAX);
    command_option& real_number(double least, double most);
    command_option& one_of(std::vector<std::string> choices);
    command_option& existing_folder();
    command_option& existing_file();
    command_option& check(word_check problem_of);
    /// Several values in one word, separated by `between`.
    command_option& delimiter(char between);
    /// Its value may be omitted; it is `unsaid` then.
    command_option& optional_value(std::string unsaid = {});
    /// It takes several values, each after its own option name.
    command_option& one_value_each_time();
    command_option& needs(const command_option& other);
    command_option& excludes(const command_option& other);

    /// Whether the command line has it.
    [[nodiscard]] bool given() const noexcept { return given_; }

    /// @name For program.hpp and manual.hpp
    /// @{
    [[nodiscard]] const std::string& names() const noexcept { return names_; } ///< "-v,--verbose"
    [[nodiscard]] const std::string& description() const noexcept { return description_; }
    [[nodiscard]] bool is_positional() const noexcept { return names_.front() != '-'; }
    [[nodiscard]] bool is_flag() const noexcept { return is_flag_; }
    [[nodiscard]] bool is_required() const noexcept { return is_required_; }
    [[nodiscard]] bool is_list() const noexcept { return is_list_; }
    [[nodiscard]] bool has_optional_value() const noexcept { return has_optional_value_; }
    [[nodiscard]] bool takes_one_value_each_time() const noexcept { return one_each_time_; }
    [[nodiscard]] char delimiter() const noexcept { return delimiter_; }
    [[nodiscard]] const std::string& value_name() const noexcept { return value_name_; }
    [[nodiscard]] const std::string& default_text() const noexcept { return default_; }
    [[nodiscard]] const std::vector<std::string>& choices() const noexcept { return choices_; }
    [[nodiscard]] const std::vector<word_check>& checks() const noexcept { return checks_; }
    [[nodiscard]] const std::vector<const command_option*>& needed() const { return needed_; }
    [[nodiscard]] const std::vector<const command_option*>& excluded() const { return excluded_; }
    /// Notes that the option was given, and sets what it is bound to.
    void set(const option_words& words);
    /// @}

private:
    friend class command;

    std::string names_;
    std::string description_;
    std::string value_name_;
    std::string default_;
    std::string current_; ///< text of the variable at declaration
    std::vector<std::string> choices_;
    std::vector<word_check> checks_;
    std::vector<const command_option*> needed_;
    std::vector<const command_option*> excluded_;
    setter set_;
    char delimiter_ = 0;
    bool is_flag_ = false;
    bool is_list_ = false;
    bool is_required_ = false;
    bool has_optional_value_ = false;
    bool one_each_time_ = false;
    bool given_ = false;
};

class command;

/// A verb of a program. Its declaration runs only when the verb is called, or all verbs are
/// described.
struct verb_entry {
    const char* name;
    const char* description;
    void (*declare)(command& verb);
    const char* example; ///< a call without the program's name; empty if it has verbs of its own
};

/// What may follow a verb or the program's name: options, arguments and an action, or further
/// verbs. Variables that options are bound to must live as long as the command: a verb keeps them
/// in a shared pointer that the function given to runs() holds.
class command {
public:
    command(std::string name, std::string description)
        : name_(std::move(name)), description_(std::move(description)) {}
    command(const command&) = delete;
    command& operator=(const command&) = delete;

    /// An option ("--limit", "-v,--verbose"), or an argument ("DIR"), whose words set `to`: a text,
    /// a path, a number, an optional of one, or a list of them, which takes several words.
    template <typename T>
    command_option& add_option(std::string names, T& to, std::string description);
    /// The same, with a function in place of a variable: set(value), which may throw usage_error.
    template <typename T, typename Setter>
    command_option& add_option_function(std::string names, Setter set, std::string description);
    command_option& add_flag(std::string names, bool& to, std::string description);
    /// The same for a flag that can be given several times.
    command_option& add_flag(std::string names, int& times, std::string description);
    /// At most one of these can be given.
    void at_most_one(std::initializer_list<std::reference_wrapper<command_option>> alternatives);
    /// The declared option with this name.
    [[nodiscard]] const command_option& option(std::string_view name) const;

    /// Sets the command's action.
    void runs(std::function<exit_code()> work) { work_ = std::move(work); }
    /// Gives the command verbs of its own; one of them must follow.
    void add_verbs(std::span<const verb_entry> verbs) { verbs_ = verbs; }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const std::string& description() const noexcept { return description_; }
    [[nodiscard]] std::span<const verb_entry> verbs() const noexcept { return verbs_; }
    [[nodiscard]] const std::vector<std::unique_ptr<command_option>>& options() const noexcept {
        return options_;
    }
    [[nodiscard]] exit_code run() const { return work_ ? work_() : exit_code::done; }

private:
    command_option& add(std::string names, std::string description, command_option::setter set);

    std::string name_;
    std::string description_;
    std::vector<std::unique_ptr<command_option>> options_;
    std::span<const verb_entry> verbs_;
    std::function<exit_code()> work_;
};

namespace detail {

/// The value of a word, for the types that options are bound to.
template <typename T>
T value_of_word(const std::string& word) {
    if constexpr (is_optional<T>)
        return value_of_word<typename T::value_type>(word);
    else if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(real_of(word));
    else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>)
        return static_cast<T>(unsigned_of(word, std::numeric_limits<T>::max()));
    else if constexpr (std::is_integral_v<T>)
        return static_cast<T>(
            signed_of(word, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    else
        return T(word);
}

template <typename T>
T value_of(const option_words& words) {
    if constexpr (is_list<T>) {
        T values;
        for (const std::string& word : words)
            values.push_back(value_of_word<typename T::value_type>(word));
        return values;
    } else
        return value_of_word<T>(words.front());
}

template <typename T>
std::string default_of(const T& value) {
    if constexpr (std::is_floating_point_v<T>)
        return text_of(value);
    else if constexpr (std::is_integral_v<T>)
        return std::to_string(value);
    else if constexpr (requires { value.string(); })
        return value.string();
    else if constexpr (requires { std::string(value); })
        return std::string(value);
    else if constexpr (is_list<T>) {
        std::string text;
        for (const auto& one : value) {
            if (!text.empty()) text += ',';
            text += default_of(one);
        }
        return text;
    } else
        return {};
}

template <typename T>
constexpr const char* value_name_of() {
    if constexpr (is_list<T>)
        return value_name_of<typename T::value_type>();
    else if constexpr (is_optional<T>)
        return value_name_of<typename T::value_type>();
    else
        return std::is_arithmetic_v<T> ? "NUMBER" : "TEXT";
}

} // namespace detail

template <typename T, typename Setter>
command_option& command::add_option_function(std::string names, Setter set,
                                             std::string description) {
    command_option& made =
        add(std::move(names), std::move(description),
            [set = std::move(set)](const option_words& words) { set(detail::value_of<T>(words)); });
    made.is_list_ = is_list<T>;
    made.value_name_ = detail::value_name_of<T>();
    return made;
}

template <typename T>
command_option& command::add_option(std::string names, T& to, std::string description) {
    command_option& made = add_option_function<T>(
        std::move(names), [&to](T value) { to = std::move(value); }, std::move(description));
    made.current_ = detail::default_of(to);
    return made;
}

} // namespace chainbase
