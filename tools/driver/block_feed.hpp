#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/chains/chains.hpp>

#include <boost/describe/class.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace chainbase::driver {

/// Reads, checks, unpacks and decodes the blocks of a log in other threads and delivers them to the
/// applying thread in the log's order.
///
///     record i, i + 1, ...  ->  thread  --.
///                               thread  --+->  waiting chunks, at most `ahead`  ->  next()
///                               thread  --'         (and at most max_waiting_memory)
///
/// When next() would have to wait, it prepares an unbegun chunk itself: on few processors, where
/// decoding takes longer than applying, both threads are busy.
///
/// Invariants: (1) a chunk is one record of the log, and chunks come in the log's order; (2) next()
/// throws for damage after everything before it was delivered; (3) memory is bounded whichever side
/// is slow: by the size of the decoded blocks plus one record for each thread.
///
/// next() and give_back() belong to one thread. The threads end with the object.
class block_feed {
public:
    struct options {
        std::uint64_t from = 0;               ///< the first block
        std::optional<std::uint64_t> stop_at; ///< the last block; nothing behind its record is read
        unsigned threads = 1;                 ///< threads that prepare blocks; at least 1
        unsigned ahead = 16;                  ///< chunks that may wait; at least `threads`
    };

    struct chunk {
        std::vector<std::shared_ptr<const decoded_block>> blocks;
        std::uint64_t position = 0; ///< bytes of the log up to the chunk's end
        std::uint64_t bytes = 0;    ///< unpacked size of the blocks
        std::uint64_t memory = 0;   ///< decoded size of the blocks
    };

    block_feed(const block_log_reader& log, block_decoder decode, const options& how);
    ~block_feed();
    block_feed(const block_feed&) = delete;
    block_feed& operator=(const block_feed&) = delete;

    /// Waits for the next chunk and returns it; nothing behind the last. Throws damaged_error with
    /// file, block and byte, io_error; repeated calls throw again.
    [[nodiscard]] std::optional<chunk> next();

    /// Waits at most that long for the next chunk. Returns whether next() need not wait.
    [[nodiscard]] bool await(std::chrono::milliseconds patience);

    /// Lets the threads that made a chunk free it: this saves time in the applying thread, and
    /// memory is freed by the thread that allocated it.
    void give_back(chunk used);

    /// Time next() and await() waited for chunks, time they prepared chunks themselves, and the
    /// summed time the threads waited for space.
    struct waiting {
        std::chrono::nanoseconds for_blocks{0};
        std::chrono::nanoseconds helping{0};
        std::chrono::nanoseconds for_room{0};
        BOOST_DESCRIBE_CLASS(waiting, (), (for_blocks, helping, for_room), (), ())
    };
    [[nodiscard]] waiting waited() const;

private:
    /// A slot for the chunk of one record.
    struct place {
        bool filled = false;
        chunk content;
        std::exception_ptr damage;
    };

    using lock = std::unique_lock<std::mutex>;

    void work();
    void prepare_next(lock& held);
    void help(lock& held);
    void end_threads();
    [[nodiscard]] bool may_begin() const;
    [[nodiscard]] bool has_next() const;
    [[nodiscard]] place prepare(std::size_t record) const;
    void fill(std::size_t record, chunk& content) const;

    static constexpr std::uint64_t max_waiting_memory = std::uint64_t{256} << 20;

    block_log_reader log_;
    block_decoder decode_;
    options how_;
    std::size_t end_record_;

    mutable std::mutex mutex_;
    std::condition_variable filled_; ///< for next()
    std::condition_variable room_;   ///< for the threads
    std::vector<place> places_;      ///< record r uses slot r modulo their number
    std::size_t begun_;              ///< records begun by a thread
    std::size_t delivered_;          ///< records returned by next()
    std::uint64_t waiting_memory_ = 0;
    std::vector<chunk> used_;
    waiting waited_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

} // namespace chainbase::driver
