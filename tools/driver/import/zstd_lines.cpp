#include <pool_allocator/error.hpp>
#include <tools/driver/import/zstd_lines.hpp>

#include <zstd.h>

namespace chainbase {
namespace {

constexpr std::size_t longest_line = 1 << 20;

} // namespace

void zstd_lines::context_deleter::operator()(ZSTD_DCtx_s* context) const noexcept {
    ZSTD_freeDCtx(context);
}

zstd_lines::zstd_lines(const std::filesystem::path& path)
    : source_(file::open_read(path)), context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
}

std::optional<std::string_view> zstd_lines::next() {
    std::size_t searched = 0; // of the text behind text_used_
    do {
        const std::size_t end = text_.find('\n', text_used_ + searched);
        if (end != std::string::npos) {
            const std::string_view result = take(end - text_used_);
            ++text_used_;
            return result;
        }
        searched = text_.size() - text_used_;
        if (searched > longest_line)
            throw format_error(path().string() + ": line " + std::to_string(line_ + 1) +
                               " is longer than 1 MiB");
    } while (unpack_more());
    if (text_used_ == text_.size()) return {};
    return take(text_.size() - text_used_);
}

std::string_view zstd_lines::take(std::size_t size) {
    const std::string_view result = std::string_view(text_).substr(text_used_, size);
    text_used_ += size;
    ++line_;
    return result;
}

/// Drops the text that is used up and appends some more; false at the end.
bool zstd_lines::unpack_more() {
    if (input_used_ == input_.size() && !output_waits_ && !fill_input()) return false;
    text_.erase(0, text_used_);
    text_used_ = 0;
    const std::size_t kept = text_.size();
    text_.resize(kept + ZSTD_DStreamOutSize());
    ZSTD_inBuffer in{input_.data(), input_.size(), input_used_};
    ZSTD_outBuffer out{text_.data() + kept, text_.size() - kept, 0};
    const std::size_t hint = ZSTD_decompressStream(context_.get(), &out, &in);
    text_.resize(kept + out.pos);
    if (ZSTD_isError(hint) != 0)
        throw damaged_error(path().string() + ": near byte " +
                            std::to_string(file_position_ - input_.size() + in.pos) +
                            ", after line " + std::to_string(line_) +
                            ": zstd: " + ZSTD_getErrorName(hint));
    input_used_ = in.pos;
    frame_is_open_ = hint != 0;
    output_waits_ = frame_is_open_ && out.pos == out.size;
    return true;
}

bool zstd_lines::fill_input() {
    input_.resize(ZSTD_DStreamInSize());
    input_.resize(source_.read_at(file_position_, input_));
    input_used_ = 0;
    file_position_ += input_.size();
    if (input_.empty() && frame_is_open_)
        throw damaged_error(path().string() + ": is truncated at byte " +
                            std::to_string(file_position_) + ", after line " +
                            std::to_string(line_) + "; get the file again");
    return !input_.empty();
}

} // namespace chainbase
