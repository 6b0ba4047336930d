#include <tools/inspect/top/lock_watch.hpp>

namespace chainbase::inspect {

namespace {

using doing = lock_report::doing;

std::chrono::nanoseconds duration_of(double seconds) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds));
}

} // namespace

void lock_watch::add(const lock_report& found) noexcept {
    ++looks_;
    ++now_.looks;
    const lock_report::of_writer& writer = found.writer;
    if (writer.is_alive && writer.what != doing::idle) {
        const bool is_inside = writer.what == doing::inside;
        (is_inside ? now_.writing : now_.writer_waiting) += 1;
        (is_inside ? write_turns : writer_waits).record(duration_of(writer.seconds));
    }
    bool is_reading = false;
    bool is_waiting = false;
    for (const lock_report::of_reader& reader : found.readers) {
        if (!reader.is_alive || reader.what == doing::idle) continue;
        const bool is_inside = reader.what == doing::inside;
        (is_inside ? is_reading : is_waiting) = true;
        (is_inside ? read_turns : reader_waits).record(duration_of(reader.seconds));
    }
    now_.reading += is_reading ? 1 : 0;
    now_.readers_waiting += is_waiting ? 1 : 0;
}

void lock_watch::end_interval() noexcept {
    last_ = now_;
    now_ = {};
}

} // namespace chainbase::inspect
