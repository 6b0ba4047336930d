#include <archive/detail/background_write.hpp>
#include <archive/store.hpp>
#include <chainbase/trace/quiet_thread.hpp>
#include <pool_allocator/trace.hpp>

#include <utility>

namespace chainbase::archive {

namespace {

const trace::site waiting("archive.wait");

} // namespace

background_write::~background_write() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void background_write::start(write_batch batch) {
    if (!thread_.joinable()) thread_ = trace::quiet_thread("archive", [this] { work(); });
    {
        const std::lock_guard lock(mutex_);
        batch_ = std::move(batch);
        running_ = true;
    }
    started_ = true;
    changed_.notify_all();
}

bool background_write::is_running() const {
    const std::lock_guard lock(mutex_);
    return running_;
}

void background_write::finish() {
    std::unique_lock lock(mutex_);
    if (running_) {
        const trace::span timed(waiting);
        const stopwatch watch;
        changed_.wait(lock, [&] { return !running_; });
        rows_.stats().waits.record(watch.elapsed());
    }
    started_ = false;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void background_write::work() {
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

} // namespace chainbase::archive
