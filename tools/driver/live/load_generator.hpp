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

/// The transactions sent by the harness: blocks that set a chain up, then transactions, encoded and
/// decoded before the measurement, so that sending one costs almost nothing.
///
/// prepare() and set_up() are for one thread; take() for one thread, not during prepare().
class workload {
public:
    virtual ~workload() = default;
    workload(const workload&) = delete;
    workload& operator=(const workload&) = delete;

    [[nodiscard]] const std::string& chain() const noexcept { return chain_; }
    /// The next set-up block, for the given number and time; nothing behind the last.
    [[nodiscard]] virtual std::optional<block> set_up(std::uint64_t number, std::int64_t time) = 0;

    /// Prepares at least `count` transactions, unless a signal comes. They must be applied before
    /// the time `until`. Throws usage_error when they are too many to be kept.
    void prepare(std::size_t count, std::int64_t until, const catch_interruption& signals);
    /// Takes consecutive prepared transactions: at most `most`, at least one. Throws usage_error
    /// when none is ready.
    [[nodiscard]] parcel take(std::uint32_t most);

protected:
    /// `repeats`: transactions may be sent repeatedly, so a million are enough.
    workload(std::string chain, bool repeats)
        : chain_(std::move(chain)), decode_(decoder_of(chain_)), repeats_(repeats) {}

private:
    /// A transaction that is valid at any time before `until`, in any block.
    virtual transaction make(std::int64_t until) = 0;

    std::string chain_;
    block_decoder decode_;
    bool repeats_;
    std::vector<std::shared_ptr<const decoded_block>> ready_;
    std::size_t block_ = 0; ///< index in ready_ of the next ones
    std::uint32_t transaction_ = 0;
};

/// Random payments between accounts, each with enough initial money.
[[nodiscard]] std::unique_ptr<workload> make_payments_workload(std::uint32_t accounts,
                                                               std::uint64_t seed);

/// A social chain's operations in the shares stated in README.md: custom operations, votes on
/// existing posts, comments, transfers, claims, new accounts.
[[nodiscard]] std::unique_ptr<workload> make_social_workload(std::uint32_t accounts,
                                                             std::uint64_t seed);

/// Sends transactions at a fixed rate from its own thread, whatever their outcome: latency counts
/// from a transaction's due time, even when it was sent late (no coordinated omission).
///
/// Wakes up once a millisecond and sends the due transactions as parcels: one transaction costs a
/// few bytes of a parcel.
class load_generator {
public:
    /// Sends from `begin` to `end`; counts offered transactions in `offered`, including refused
    /// ones.
    load_generator(workload& from, arrivals& to, double rate, clock::time_point begin,
                   clock::time_point end, std::atomic<std::uint64_t>& offered);
    ~load_generator();
    load_generator(const load_generator&) = delete;
    load_generator& operator=(const load_generator&) = delete;

    /// Stops early, or joins a finished thread. Throws its error, if any.
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
