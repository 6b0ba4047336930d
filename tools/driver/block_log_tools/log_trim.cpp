#include <tools/driver/block_log_tools/log_trim.hpp>
#include <tools/driver/block_log_tools/looked_at_log.hpp>
#include <tools/driver/block_log_tools/no_block_in.hpp>

namespace chainbase::driver {

made_logs trim_log(const std::filesystem::path& path, const std::filesystem::path& to,
                   const block_range& range, log_progress& shown) {
    const block_log_reader log = look_at_log(path, shown);
    unfinished_log made(to, log.chain());
    copy_blocks(log.whole_records(range.first), range, made,
                [&](std::uint64_t position) { shown.advance(position, log.bytes()); });
    if (made.count() == 0) throw no_block_in(log, range);
    const std::uint64_t first = made.first_number().value();
    const std::uint64_t last = made.head_number().value();
    const std::uint64_t blocks = made.count();
    return {log.chain(), {{to, first, last, blocks, made.finish()}}};
}

} // namespace chainbase::driver
