#pragma once

#include <tools/block_log/block.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/live/pending_list.hpp>
#include <tools/interruption.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace chainbase::driver::live {

/// What the harness sends: blocks that set a chain up, then transactions, encoded and decoded ahead
/// of the measurement, so that sending one costs next to nothing.
///
/// prepare() and setting up are for one thread; take() for one thread, not while one prepares.
class workload {
public:
    virtual ~workload() = default;
    workload(const workload&) = delete;
    workload& operator=(const workload&) = delete;

    [[nodiscard]] const std::string& chain() const noexcept { return chain_; }
    /// The next block that sets the chain up, made for the number and time it will have; nothing
    /// behind the last.
    [[nodiscard]] virtual std::optional<block> set_up(std::uint64_t number, std::int64_t time) = 0;

    /// Makes at least `count` transactions ready, unless a signal comes. They will be applied
    /// before the time `until`. Throws usage_error when they are too many to be kept.
    void prepare(std::size_t count, std::int64_t until, const catch_interruption& signals);
    /// Consecutive ones of those that are ready: at most `most`, and at least one. Throws
    /// usage_error when none is ready.
    [[nodiscard]] parcel take(std::uint32_t most);

protected:
    /// `repeats`: the same transaction may be sent again and again, so that a million are enough.
    workload(std::string chain, bool repeats)
        : chain_(std::move(chain)), decode_(decoder_of(chain_)), repeats_(repeats) {}

private:
    /// One that can be applied at any time before `until`, in any block.
    virtual transaction make(std::int64_t until) = 0;

    std::string chain_;
    block_decoder decode_;
    bool repeats_;
    std::vector<std::shared_ptr<const decoded_block>> ready_;
    std::size_t block_ = 0; ///< of ready_, where the next ones are taken from
    std::uint32_t transaction_ = 0;
};

/// Random payments between accounts, each of which begins with money enough.
[[nodiscard]] std::unique_ptr<workload> make_payments_workload(std::uint32_t accounts,
                                                               std::uint64_t seed);

/// What a social chain's users do, in the shares that README.md states: custom operations, votes on
/// posts that were there before, comments, transfers, claims, new accounts.
[[nodiscard]] std::unique_ptr<workload> make_social_workload(std::uint32_t accounts,
                                                             std::uint64_t seed);

/// Sends transactions at a fixed rate from a thread of its own, whatever becomes of them: how long
/// one takes counts from when it was due, also if sending it was late (no coordinated omission).
///
/// Wakes up once a millisecond and sends what is due since, as parcels: a transaction costs it a
/// few bytes of a parcel.
class load_generator {
public:
    /// Sends from `begin` to `end`; counts what it offers in `offered`, refused ones too.
    load_generator(workload& from, arrivals& to, double rate, clock::time_point begin,
                   clock::time_point end, std::atomic<std::uint64_t>& offered);
    ~load_generator();
    load_generator(const load_generator&) = delete;
    load_generator& operator=(const load_generator&) = delete;

    /// Ends early, or waits for the end of a thread that has come to it. Throws what went wrong.
    void stop();

private:
    void send();
    void send_due(std::uint64_t due, std::uint64_t& sent);

    workload& from_;
    arrivals& to_;
    double rate_;
    clock::time_point begin_;
    clock::time_point end_;
    std::atomic<std::uint64_t>& offered_;
    std::atomic<bool> stopping_{false};
    std::exception_ptr failure_;
    std::thread thread_;
};

} // namespace chainbase::driver::live
