#include <chainbase/check/report.hpp>

#include <charconv>
#include <string_view>

namespace chainbase::check {

finding located(const std::filesystem::path& folder, std::string file, std::string said) {
    finding one{std::move(file), {}, std::move(said)};
    const std::string begin = (folder / "").string();
    if (!one.what.starts_with(begin)) return one;
    const std::size_t end = one.what.find(": ", begin.size());
    if (end == std::string::npos) return one;
    one.file = one.what.substr(begin.size(), end - begin.size());
    one.what.erase(0, end + 2);
    constexpr std::string_view word = "offset ";
    const std::size_t colon = one.what.find(": ");
    if (!one.what.starts_with(word) || colon == std::string::npos) return one;
    std::uint64_t offset = 0;
    const char* const last = one.what.data() + colon;
    if (std::from_chars(one.what.data() + word.size(), last, offset).ptr != last) return one;
    one.offset = offset;
    one.what.erase(0, colon + 2);
    return one;
}

} // namespace chainbase::check
