#include <pool_allocator/base/decimal.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/command_line.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <system_error>

namespace chainbase {

namespace {

/// Reads the whole word as a number of type T.
template <typename T>
bool reads(std::string_view word, T& value) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size();
}

std::string quoted(const std::string& word) {
    return "\"" + word + "\"";
}

bool has_name(const std::string& names, std::string_view name) {
    std::string_view left = names;
    while (!left.empty()) {
        const std::size_t comma = left.find(',');
        if (left.substr(0, comma) == name) return true;
        left.remove_prefix(comma == std::string_view::npos ? left.size() : comma + 1);
    }
    return false;
}

/// Why the path is not the file or folder that was asked for.
std::string why_not(const std::string& path, bool is_folder) {
    const char* wanted = is_folder ? "a folder" : "a file";
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0) return path + ": there is no such " + (wanted + 2);
    return S_ISDIR(found.st_mode) == is_folder ? "" : path + " is not " + wanted;
}

} // namespace

std::uint64_t unsigned_of(const std::string& word, std::uint64_t most) {
    std::uint64_t value = 0;
    if (!is_digits(word) || !reads(word, value) || value > most)
        throw usage_error(quoted(word) + " is not a whole number from 0 to " +
                          std::to_string(most));
    return value;
}

std::int64_t signed_of(const std::string& word, std::int64_t least, std::int64_t most) {
    std::int64_t value = 0;
    if (!reads(word, value) || value < least || value > most)
        throw usage_error(quoted(word) + " is not a whole number from " + std::to_string(least) +
                          " to " + std::to_string(most));
    return value;
}

double real_of(const std::string& word) {
    double value = 0;
    if (word.find_first_not_of("+-0123456789.eE") != std::string::npos || !reads(word, value))
        throw usage_error(quoted(word) + " is not a number");
    return value;
}

std::uint64_t byte_size_of(const std::string& word) {
    static constexpr std::string_view prefixes = "kmgtpe";
    const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
    std::uint64_t value = 0;
    std::string unit = word.substr(digits);
    std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::size_t power = unit.empty() ? 0 : prefixes.find(unit.front()) + 1;
    const bool is_unit =
        unit.empty() || unit == "b" ||
        (power != 0 && (unit.size() == 1 || unit.substr(1) == "b" || unit.substr(1) == "ib"));
    const unsigned shift = unit == "b" ? 0 : static_cast<unsigned>(power) * 10;
    if (!is_unit || !reads(std::string_view(word).substr(0, digits), value) ||
        value > UINT64_MAX >> shift)
        throw usage_error(quoted(word) + " is not a number of bytes, such as 4096 or 64GiB");
    return value << shift;
}

std::string text_of(double value) {
    std::array<char, 32> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), end};
}

command_option& command_option::required() {
    is_required_ = true;
    return *this;
}

command_option& command_option::value_name(std::string name) {
    value_name_ = std::move(name);
    return *this;
}

command_option& command_option::shows_default() {
    return default_text(current_);
}

command_option& command_option::default_text(std::string text) {
    default_ = std::move(text);
    return *this;
}

command_option& command_option::whole_number(std::uint64_t least, std::uint64_t most) {
    return check([=](const std::string& word) -> std::string {
        std::uint64_t value = 0;
        if (is_digits(word) && reads(word, value) && value >= least && value <= most) return {};
        return quoted(word) + " is not a whole number from " + std::to_string(least) + " to " +
               std::to_string(most);
    });
}

command_option& command_option::real_number(double least, double most) {
    return check([=](const std::string& word) -> std::string {
        const double value = real_of(word);
        if (value >= least && value <= most) return {};
        return quoted(word) + " is not a number from " + text_of(least) + " to " + text_of(most);
    });
}

command_option& command_option::one_of(std::vector<std::string> choices) {
    choices_ = std::move(choices);
    std::string all;
    for (const std::string& one : choices_)
        all += (all.empty() ? "" : ", ") + one;
    return check([known = choices_, all](const std::string& word) -> std::string {
        if (std::ranges::find(known, word) != known.end()) return {};
        return quoted(word) + " is not one of " + all;
    });
}

command_option& command_option::existing_folder() {
    if (value_name_ == "TEXT") value_name_ = "FOLDER";
    return check([](const std::string& word) { return why_not(word, true); });
}

command_option& command_option::existing_file() {
    if (value_name_ == "TEXT") value_name_ = "FILE";
    return check([](const std::string& word) { return why_not(word, false); });
}

command_option& command_option::check(word_check problem_of) {
    checks_.push_back(std::move(problem_of));
    return *this;
}

command_option& command_option::delimiter(char between) {
    delimiter_ = between;
    return *this;
}

command_option& command_option::optional_value(std::string unsaid) {
    has_optional_value_ = true;
    default_ = std::move(unsaid);
    return *this;
}

command_option& command_option::one_value_each_time() {
    one_each_time_ = true;
    return *this;
}

command_option& command_option::needs(const command_option& other) {
    needed_.push_back(&other);
    return *this;
}

command_option& command_option::excludes(const command_option& other) {
    excluded_.push_back(&other);
    return *this;
}

void command_option::set(const option_words& words) {
    given_ = true;
    set_(words);
}

command_option& command::add(std::string names, std::string description,
                             command_option::setter set) {
    options_.push_back(std::make_unique<command_option>(std::move(names), std::move(description)));
    options_.back()->set_ = std::move(set);
    return *options_.back();
}

command_option& command::add_flag(std::string names, bool& to, std::string description) {
    command_option& made =
        add(std::move(names), std::move(description), [&to](const option_words&) { to = true; });
    made.is_flag_ = true;
    return made;
}

command_option& command::add_flag(std::string names, int& times, std::string description) {
    command_option& made =
        add(std::move(names), std::move(description),
            [&times](const option_words& words) { times = static_cast<int>(words.size()); });
    made.is_flag_ = true;
    return made;
}

void command::at_most_one(
    std::initializer_list<std::reference_wrapper<command_option>> alternatives) {
    for (command_option& one : alternatives)
        for (command_option& other : alternatives)
            if (&one != &other) one.excludes(other);
}

const command_option& command::option(std::string_view name) const {
    for (const auto& one : options_)
        if (has_name(one->names(), name)) return *one;
    throw error("the command " + name_ + " declares no option " + std::string(name));
}

} // namespace chainbase
