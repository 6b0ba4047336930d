#include <chainbase/trace/quiet_thread.hpp>
#include <tools/inspect/rows/ordered_chunks.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase::inspect {

namespace {

using archive::byte_buffer;

class pipeline {
public:
    pipeline(std::size_t count, std::size_t ahead,
             const std::function<byte_buffer(std::size_t)>& make)
        : count_(count), ahead_(ahead), make_(make) {}
    ~pipeline() {
        stop();
        for (std::thread& one : threads_)
            one.join();
    }
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    void start_thread() {
        threads_.push_back(trace::quiet_thread("digest", [this] { work(); }));
    }

    /// The next piece.
    byte_buffer next() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return failure_ || made_.contains(taken_); });
        if (failure_) std::rethrow_exception(failure_);
        auto node = made_.extract(taken_);
        ++taken_;
        lock.unlock();
        changed_.notify_all();
        return std::move(node.mapped());
    }

private:
    void work() noexcept {
        try {
            while (const auto number = claim()) {
                byte_buffer piece = make_(*number);
                const std::lock_guard lock(mutex_);
                made_.emplace(*number, std::move(piece));
                changed_.notify_all();
            }
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
            is_stopped_ = true;
            changed_.notify_all();
        }
    }
    std::optional<std::size_t> claim() {
        std::unique_lock lock(mutex_);
        changed_.wait(
            lock, [&] { return is_stopped_ || claimed_ == count_ || claimed_ < taken_ + ahead_; });
        if (is_stopped_ || claimed_ == count_) return std::nullopt;
        return claimed_++;
    }
    void stop() {
        const std::lock_guard lock(mutex_);
        is_stopped_ = true;
        changed_.notify_all();
    }

    const std::size_t count_;
    const std::size_t ahead_;
    const std::function<byte_buffer(std::size_t)>& make_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::size_t, byte_buffer> made_;
    std::size_t claimed_ = 0;
    std::size_t taken_ = 0;
    bool is_stopped_ = false;
    std::exception_ptr failure_;
    std::vector<std::thread> threads_;
};

} // namespace

void in_order(std::size_t count, unsigned threads,
              const std::function<byte_buffer(std::size_t)>& make,
              const std::function<void(archive::bytes_view)>& take) {
    if (count == 0) return;
    constexpr std::size_t ahead_each = 4;
    const std::size_t useful = std::clamp<std::size_t>(threads, 1, count);
    pipeline all(count, ahead_each * useful, make);
    for (std::size_t i = 0; i < useful; ++i)
        all.start_thread();
    for (std::size_t piece = 0; piece < count; ++piece)
        take(all.next());
}

} // namespace chainbase::inspect
