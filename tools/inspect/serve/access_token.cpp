#include <pool_allocator/error.hpp>
#include <pool_allocator/file_descriptor.hpp>
#include <tools/inspect/serve/access_token.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace chainbase::inspect {

namespace {

constexpr std::size_t fewest_letters = 22; // 128 bits, of 64 letters
constexpr std::size_t most_letters = 256;

bool is_letter(char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') || letter == '-' || letter == '_';
}

[[noreturn]] void throw_unreadable(const std::filesystem::path& file) {
    throw io_error(file.string() + ": cannot be read: " + std::generic_category().message(errno) +
                   "; check the path that --token-file names");
}

void require_private(const std::filesystem::path& file, const struct stat& found) {
    if (!S_ISREG(found.st_mode))
        throw usage_error(file.string() + ": is no file; --token-file names one with a token");
    if (found.st_uid != ::geteuid() || (found.st_mode & 077) != 0)
        throw access_error(file.string() +
                           ": others can read or write the token, or it is another user's; make "
                           "it yours alone with chmod 600");
}

std::string first_line(const file_descriptor& from, const std::filesystem::path& file) {
    std::array<char, most_letters + 2> piece;
    const ssize_t got = ::read(from.number(), piece.data(), piece.size());
    if (got < 0) throw_unreadable(file);
    const std::string_view all(piece.data(), static_cast<std::size_t>(got));
    return std::string(all.substr(0, all.find_first_of("\r\n")));
}

} // namespace

access_token access_token::random() {
    std::array<unsigned char, 16> bytes;
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw io_error("the kernel gives no random bytes for a token: " +
                       std::generic_category().message(errno) + "; name one with --token-file");
    std::string text;
    for (const unsigned char byte : bytes)
        text += fmt::format("{:02x}", byte);
    return access_token(std::move(text));
}

access_token access_token::read(const std::filesystem::path& file) {
    const file_descriptor from(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat found{};
    if (from.number() < 0 || ::fstat(from.number(), &found) != 0) throw_unreadable(file);
    require_private(file, found);
    std::string text = first_line(from, file);
    if (text.size() < fewest_letters || text.size() > most_letters ||
        !std::all_of(text.begin(), text.end(), is_letter))
        throw usage_error(file.string() +
                          ": its first line is no token; write 22 to 256 letters, digits, '-' and "
                          "'_' there, such as `openssl rand -hex 16` makes");
    return access_token(std::move(text));
}

bool access_token::is(std::string_view text) const noexcept {
    if (text.size() != text_.size()) return false;
    volatile unsigned char different = 0;
    for (std::size_t i = 0; i < text_.size(); ++i)
        different = different | static_cast<unsigned char>(text[i] ^ text_[i]);
    return different == 0;
}

} // namespace chainbase::inspect
