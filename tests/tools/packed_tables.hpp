#pragma once

#include <tools/block_log/block_log_reader.hpp>

#include <tests/tools/temporary_folder.hpp>
#include <zstd.h>

#include <string>
#include <string_view>
#include <vector>

namespace chainbase::test {

inline std::string packed(std::string_view text) {
    std::string result(ZSTD_compressBound(text.size()), '\0');
    result.resize(ZSTD_compress(result.data(), result.size(), text.data(), text.size(), 3));
    return result;
}

/// The same text in one frame, flushed behind the first `part` bytes.
inline std::string packed_in_parts(std::string_view text, std::size_t part) {
    std::string result(ZSTD_compressBound(text.size()) + 1000, '\0');
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_outBuffer out{result.data(), result.size(), 0};
    ZSTD_inBuffer first{text.data(), part, 0};
    ZSTD_inBuffer second{text.data() + part, text.size() - part, 0};
    while (ZSTD_compressStream2(context, &out, &first, ZSTD_e_flush) != 0) {
    }
    while (ZSTD_compressStream2(context, &out, &second, ZSTD_e_end) != 0) {
    }
    ZSTD_freeCCtx(context);
    result.resize(out.pos);
    return result;
}

inline void write_packed(const std::filesystem::path& path, std::string_view text) {
    write_file(path, packed(text));
}

inline std::vector<block> blocks_of(const std::filesystem::path& log) {
    std::vector<block> result;
    block_log_stream stream = block_log_reader(log).stream();
    while (auto next = stream.next())
        result.push_back(std::move(*next));
    return result;
}

/// What an exception of type E says; "nothing thrown" otherwise.
template <class E, class Action>
std::string message_of(Action action) {
    try {
        action();
    } catch (const E& thrown) {
        return thrown.what();
    }
    return "nothing thrown";
}

} // namespace chainbase::test
