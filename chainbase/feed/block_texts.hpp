#pragma once

#include <chainbase/feed/live_files.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <pool_allocator/size_classes.hpp>
#include <undo/before_images.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace chainbase::feed {

/// The bytes of texts and vectors as of the begin or end of blocks. All that are asked for are read
/// together:
///
///     do  ask for what is needed, of any blocks, by at()
///     while (texts.fetch());                 what is found may refer to more
///
/// For one thread, while no other one reads the images.
class block_texts {
public:
    block_texts(const live_files& files, before_images& images) : files_(files), images_(images) {}
    block_texts(const block_texts&) = delete;
    block_texts& operator=(const block_texts&) = delete;

    class as_of final : public rows::buffer_source {
    public:
        /// Nothing, as of an empty text, until it was fetched.
        [[nodiscard]] std::optional<std::span<const std::byte>>
        content(buffer_handle handle) const override {
            return all_.content(handle, time_);
        }

    private:
        friend class block_texts;
        as_of(block_texts& all, log_time time) : all_(all), time_(time) {}

        block_texts& all_;
        log_time time_;
    };
    /// Valid as long as this object.
    [[nodiscard]] as_of at(log_time time) { return {*this, time}; }

    /// Returns false if nothing was missing. Throws as before_images::with_images.
    [[nodiscard]] bool fetch();

private:
    using key = std::pair<std::uint64_t, log_time>; ///< a handle, and when

    [[nodiscard]] std::optional<std::span<const std::byte>> content(buffer_handle handle,
                                                                    log_time time);

    const live_files& files_;
    before_images& images_;
    std::map<key, std::vector<std::byte>> found_;
    std::vector<key> missing_;
};

} // namespace chainbase::feed
