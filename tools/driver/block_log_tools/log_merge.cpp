#include <pool_allocator/error.hpp>
#include <tools/driver/block_log_tools/log_merge.hpp>
#include <tools/driver/block_log_tools/looked_at_log.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::driver {

namespace {

/// What is known of a log to merge. They are opened one after the other, since there may be more of
/// them than a process can have open.
struct part {
    std::filesystem::path path;
    std::string chain;
    std::uint64_t bytes = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t blocks = 0;

    explicit part(const block_log_reader& log)
        : path(log.path()), chain(log.chain()), bytes(log.bytes()),
          first(log.first_number().value_or(0)), last(log.head_number().value_or(0)),
          blocks(log.count()) {}

    friend bool operator==(const part&, const part&) = default;
};

void require_one_chain(const std::vector<part>& parts) {
    for (const part& one : parts)
        if (one.chain != parts.front().chain)
            throw usage_error(one.path.string() + ": holds blocks of " + one.chain + ", and " +
                              parts.front().path.string() + " those of " + parts.front().chain +
                              "; merge logs of one chain");
}

std::string in_words(const part& one) {
    return one.path.string() + " (blocks " + std::to_string(one.first) + " to " +
           std::to_string(one.last) + ")";
}

void require_may_follow(const part& before, const part& after, bool allow_gaps) {
    const std::string both = in_words(before) + " and " + in_words(after);
    if (after.first <= before.last)
        throw usage_error(both + " overlap from block " + std::to_string(after.first) + " to " +
                          std::to_string(std::min(before.last, after.last)) +
                          "; trim one of them first");
    if (allow_gaps || after.first == before.last + 1) return;
    throw usage_error("between " + both + " the blocks " + std::to_string(before.last + 1) +
                      " to " + std::to_string(after.first - 1) +
                      " are missing; add a log that holds them, or say --allow-gaps if the chain "
                      "has no such blocks");
}

/// The logs that hold blocks, in the order of these.
std::vector<part> parts_of(const merge_options& options, log_progress& shown) {
    std::vector<part> parts;
    for (const std::filesystem::path& one : options.from)
        parts.emplace_back(look_at_log(one, shown));
    if (!parts.empty()) require_one_chain(parts);
    std::erase_if(parts, [](const part& one) { return one.blocks == 0; });
    if (parts.empty())
        throw usage_error("none of the logs holds a block; there is nothing to make");
    std::ranges::stable_sort(parts, {}, &part::first);
    for (std::size_t i = 1; i < parts.size(); ++i)
        require_may_follow(parts[i - 1], parts[i], options.allow_gaps);
    return parts;
}

void require_unchanged(const part& before, const block_log_reader& now) {
    if (part(now) != before)
        throw error(before.path.string() + ": was changed while the logs were merged; call again");
}

} // namespace

made_logs merge_logs(const merge_options& options, log_progress& shown) {
    const std::vector<part> parts = parts_of(options, shown);
    std::uint64_t all = 0;
    for (const part& one : parts)
        all += one.bytes;
    unfinished_log made(options.to, parts.front().chain);
    std::uint64_t before = 0;
    for (const part& one : parts) {
        const block_log_reader log = look_at_log(one.path, shown);
        require_unchanged(one, log);
        copy_blocks(log.whole_records(), {}, made,
                    [&](std::uint64_t position) { shown.advance(before + position, all); });
        before += one.bytes;
    }
    made_log result{options.to, parts.front().first, parts.back().last, made.count(), 0};
    result.bytes = made.finish();
    return {parts.front().chain, {std::move(result)}};
}

} // namespace chainbase::driver
