#pragma once

#include <tools/driver/live/arrivals.hpp>
#include <tools/driver/live/workload.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>

namespace chainbase::driver::live {

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
