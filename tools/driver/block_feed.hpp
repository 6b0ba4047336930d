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

/// The blocks of a log on their way to the thread that applies them: read, checked, unpacked and
/// decoded by other threads, delivered in the log's order.
///
///     record i, i + 1, ...  ->  thread  --.
///                               thread  --+->  waiting chunks, at most `ahead`  ->  next()
///                               thread  --'         (and at most max_waiting_memory)
///
/// Who would have to wait for the next chunk prepares one that nobody has begun instead: where
/// decoding takes longer than applying, on few processors, both threads are busy.
///
/// Invariants: (1) a chunk is one record of the log, and chunks come in the log's order; (2) what
/// is damaged is thrown by next() after all that comes before it was delivered; (3) memory is
/// bounded, whoever is slow: by what the decoded blocks take, and one record more for each thread.
///
/// next() and give_back() are for one thread. Threads end with the object.
class block_feed {
public:
    struct options {
        std::uint64_t from = 0;               ///< the first block
        std::optional<std::uint64_t> stop_at; ///< the last; nothing behind its record is read
        unsigned threads = 1;                 ///< that prepare blocks; at least 1
        unsigned ahead = 16;                  ///< chunks that may wait; at least `threads`
    };

    struct chunk {
        std::vector<std::shared_ptr<const decoded_block>> blocks;
        std::uint64_t position = 0; ///< bytes of the log up to the last of them
        std::uint64_t bytes = 0;    ///< that the blocks take in the log, unpacked
        std::uint64_t memory = 0;   ///< that they take decoded
    };

    block_feed(const block_log_reader& log, block_decoder decode, const options& how);
    ~block_feed();
    block_feed(const block_feed&) = delete;
    block_feed& operator=(const block_feed&) = delete;

    /// The next chunk, waiting for it; nothing behind the last. Throws damaged_error with file,
    /// block and byte, io_error; and again when called again.
    [[nodiscard]] std::optional<chunk> next();

    /// Waits for the next chunk, at most that long. Returns whether next() need not wait.
    [[nodiscard]] bool await(std::chrono::milliseconds patience);

    /// Lets the threads that made it free what a chunk holds: who applies blocks has better things
    /// to do, and memory goes back to where it came from without crossing.
    void give_back(chunk used);

    /// How long next() and await() waited for chunks, how long they prepared some themselves, and
    /// how long the threads waited for room, all of them together.
    struct waiting {
        std::chrono::nanoseconds for_blocks{0};
        std::chrono::nanoseconds helping{0};
        std::chrono::nanoseconds for_room{0};
        BOOST_DESCRIBE_CLASS(waiting, (), (for_blocks, helping, for_room), (), ())
    };
    [[nodiscard]] waiting waited() const;

private:
    /// A place for the chunk of one record.
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
    std::vector<place> places_;      ///< of record r: r modulo their number
    std::size_t begun_;              ///< records that a thread has taken on
    std::size_t delivered_;          ///< records that next() has returned
    std::uint64_t waiting_memory_ = 0;
    std::vector<chunk> used_;
    waiting waited_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

} // namespace chainbase::driver
