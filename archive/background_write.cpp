#include <archive/background_write.hpp>
#include <archive/store.hpp>
#include <pool_allocator/base/background_thread.hpp>
#include <pool_allocator/trace/trace.hpp>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace chainbase::archive {

namespace {

const trace::site waiting("archive.wait");

} // namespace

class background_write::writer {
public:
    explicit writer(store& rows)
        : rows_(rows), thread_(background_thread("archive", [this] { work(); })) {}
    ~writer() {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;

    void start(write_batch batch) {
        {
            const std::lock_guard lock(mutex_);
            batch_ = std::move(batch);
            running_ = true;
        }
        changed_.notify_all();
    }
    [[nodiscard]] bool is_running() const {
        const std::lock_guard lock(mutex_);
        return running_;
    }
    /// Returns the exception that the write threw.
    [[nodiscard]] std::exception_ptr wait() {
        std::unique_lock lock(mutex_);
        if (running_) {
            const trace::span timed(waiting);
            const stopwatch watch;
            changed_.wait(lock, [&] { return !running_; });
            rows_.stats().waits.record(watch.elapsed());
        }
        return std::exchange(failure_, nullptr);
    }

private:
    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return running_ || ending_; });
            if (!running_) return;
            lock.unlock();
            std::exception_ptr failure;
            try {
                rows_.write(batch_);
            } catch (...) {
                failure = std::current_exception();
            }
            batch_ = {};
            lock.lock();
            failure_ = failure;
            running_ = false;
            changed_.notify_all();
        }
    }

    store& rows_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    write_batch batch_;
    std::exception_ptr failure_;
    bool running_ = false;
    bool ending_ = false;
    std::thread thread_; // last member: it uses the others
};

background_write::background_write(store& rows) noexcept : rows_(rows) {}

background_write::~background_write() {
    if (!origin_.is_here()) leak(std::move(writer_)); // its thread is not here
}

void background_write::start(write_batch batch) {
    if (!writer_) writer_ = std::make_unique<writer>(rows_);
    writer_->start(std::move(batch));
    started_ = true;
}

bool background_write::is_running() const {
    return writer_ && writer_->is_running();
}

void background_write::finish() {
    const std::exception_ptr failure = writer_ ? writer_->wait() : nullptr;
    started_ = false;
    if (failure) std::rethrow_exception(failure);
}

} // namespace chainbase::archive
