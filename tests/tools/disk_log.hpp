#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/block_log/block_log_writer.hpp>

#include <tests/support/simulated_disk.hpp>
#include <tests/tools/sample_blocks.hpp>

#include <filesystem>
#include <optional>
#include <vector>

namespace chainbase::test {

/// A block log on a disk that a test has in its hands, with what was appended and what is promised.
class disk_log {
public:
    static inline const std::filesystem::path path = "/logs/log";

    explicit disk_log(std::uint64_t seed) : all_(sample_blocks(400, seed)) {}

    [[nodiscard]] static block_log_options options_on(disk& on) { return {3, 0, &on}; }

    void create() {
        writer_.emplace(block_log_writer::create(path, sample_chain, options_on(disk)));
        is_made = true;
    }
    void open() { writer_.emplace(block_log_writer::open(path, sample_chain, options_on(disk))); }
    /// A record each.
    void append() {
        writer_->append(all_[appended]);
        ++appended;
        writer_->flush();
    }
    void flush() { writer_->flush(); }
    void sync() {
        writer_->sync();
        promised = appended;
    }
    void close() {
        writer_->close();
        promised = appended;
        writer_.reset();
    }
    void kill() {
        if (writer_) writer_->abandon();
        writer_.reset();
    }
    [[nodiscard]] bool is_open() const noexcept { return writer_.has_value(); }

    /// The blocks of the log on that disk.
    [[nodiscard]] static std::vector<block> read(disk& on) {
        opening_options how;
        how.on = &on;
        return read_all(block_log_reader(path, sample_chain, how).stream());
    }
    [[nodiscard]] std::vector<block> first(std::size_t count) const {
        return first_of(all_, count);
    }

    [[nodiscard]] const block& block_at(std::size_t place) const { return all_.at(place); }

    simulated_disk disk;
    std::size_t appended = 0; ///< blocks, of which one more may be under way
    std::size_t promised = 0; ///< blocks that a sync said are on the device
    bool is_made = false;     ///< it was said that there is a log

private:
    std::vector<block> all_;
    std::optional<block_log_writer> writer_;
};

} // namespace chainbase::test
