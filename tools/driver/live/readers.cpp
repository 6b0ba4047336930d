#include <pool_allocator/base/error.hpp>
#include <tools/driver/live/readers.hpp>

#include <spdlog/spdlog.h>

#include <random>

namespace chainbase::driver::live {

namespace {

constexpr std::chrono::milliseconds age(100); ///< of answers, or four times what a renewal takes

} // namespace

readers::readers(chain_state& state, const options& how)
    : answer_(answerer_of(state.chain())), pool_(state.state(), {.most_age = age}), how_(how) {
    for (unsigned i = 0; i < how.threads; ++i) {
        reader& own = *readers_.emplace_back(std::make_unique<reader>());
        own.thread = std::thread([this, &own, i] {
            try {
                ask(own, i);
            } catch (...) {
                const std::lock_guard lock(own.mutex);
                own.failure = std::current_exception();
            }
        });
    }
}

readers::~readers() {
    stopping_ = true;
    for (const auto& one : readers_)
        if (one->thread.joinable()) one->thread.join();
}

void readers::ask(reader& own, unsigned number) {
    std::mt19937_64 random(number);
    const bool thinks = how_.questions_per_second > 0;
    const auto apart = thinks ? std::chrono::duration_cast<nanoseconds>(
                                    std::chrono::duration<double>(1 / how_.questions_per_second))
                              : nanoseconds(0);
    auto due = clock::now();
    while (!stopping_) {
        if (thinks)
            std::this_thread::sleep_until(due);
        else
            due = clock::now();
        const std::uint64_t question = random();
        try {
            pool_.read([&](const snapshot& from) { return answer_(from, question); });
        } catch (const too_old_error&) { // blocks are popped faster than it is answered
        } catch (const busy_error&) {
        } catch (const error& problem) { // such as no addresses: the node goes on
            spdlog::error("a reader ends: {}", problem.what());
            return;
        }
        const nanoseconds took = clock::now() - due;
        const std::lock_guard lock(own.mutex);
        own.seen.record(took);
        due += apart;
    }
}

latencies readers::take() {
    latencies all;
    for (const auto& one : readers_) {
        const std::lock_guard lock(one->mutex);
        all.add(std::exchange(one->seen, {}));
    }
    return all;
}

void readers::stop() {
    stopping_ = true;
    for (const auto& one : readers_)
        if (one->thread.joinable()) one->thread.join();
    require_fine();
}

void readers::require_fine() {
    for (const auto& one : readers_) {
        const std::lock_guard lock(one->mutex);
        if (one->failure) std::rethrow_exception(std::exchange(one->failure, nullptr));
    }
}

} // namespace chainbase::driver::live
