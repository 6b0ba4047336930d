#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace chainbase::inspect {

/// The secret by which the web page knows who may look.
class access_token {
public:
    /// 128 random bits. Throws io_error when the kernel gives none.
    [[nodiscard]] static access_token random();
    /// The first line of a file: 22 to 256 letters, digits, '-' and '_'. Throws access_error when
    /// others than its owner may read or write the file or it is somebody else's, usage_error for
    /// what is no token, io_error.
    [[nodiscard]] static access_token read(const std::filesystem::path& file);

    /// Takes the same time for every text of the same length.
    [[nodiscard]] bool is(std::string_view text) const noexcept;
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    explicit access_token(std::string text) : text_(std::move(text)) {}

    std::string text_;
};

} // namespace chainbase::inspect
