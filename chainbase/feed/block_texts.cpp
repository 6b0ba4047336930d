#include <chainbase/feed/block_texts.hpp>

#include <algorithm>

namespace chainbase::feed {

std::optional<std::span<const std::byte>> block_texts::content(buffer_handle handle,
                                                               log_time time) {
    if (handle.bits == 0) return std::span<const std::byte>();
    if (!handle.in_segment() || handle.length() == 0) return std::nullopt;
    const auto found = found_.find({handle.bits, time});
    if (found != found_.end()) return found->second;
    missing_.emplace_back(handle.bits, time);
    return std::span<const std::byte>();
}

bool block_texts::fetch() {
    if (missing_.empty()) return false;
    std::ranges::sort(missing_);
    missing_.erase(std::ranges::unique(missing_).begin(), missing_.end());
    struct text {
        live_files::piece bytes;
        log_time time;
    };
    std::vector<text> texts;
    std::vector<live_files::piece> pieces;
    const std::byte* const base = files_.addresses().base(); // nothing is there
    const address_space::range addresses{reinterpret_cast<std::uintptr_t>(base), 0,
                                         files_.header().window_bytes};
    for (const key& one : missing_) {
        const buffer_handle handle{one.first};
        std::vector<std::byte>& bytes = found_[one];
        bytes.resize(handle.length());
        const auto offset =
            static_cast<std::uint64_t>(size_classes::locate(addresses, handle) - base);
        texts.push_back({{offset, bytes}, one.second});
    }
    missing_.clear();
    std::ranges::sort(texts, {}, [](const text& one) { return one.bytes.offset; });
    for (const text& one : texts)
        pieces.push_back(one.bytes);
    auto copy = [&] { files_.copy(pieces); };
    images_.with_images([](void* with) { (*static_cast<decltype(copy)*>(with))(); }, &copy);
    for (const text& one : texts)
        images_.put_back(one.bytes.offset, one.bytes.into, one.time);
    return true;
}

} // namespace chainbase::feed
