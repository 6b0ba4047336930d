#include <tools/inspect/rows/row_scan.hpp>

#include <cstdint>

namespace chainbase::inspect {

namespace {

using clock = std::chrono::steady_clock;

/// Whether a turn is over; the clock is asked now and then.
class turn_end {
public:
    bool is_reached() {
        constexpr std::uint32_t between = 16;
        return ++asked_ % between == 0 && clock::now() - begin_ > row_source::slice;
    }

private:
    clock::time_point begin_ = clock::now();
    std::uint32_t asked_ = 0;
};

} // namespace

void scan(row_source& from, const std::string& type, rows::row_cursor& cursor,
          const std::function<bool(const rows::type_rows&, slot_number)>& look,
          const std::function<void()>& rest) {
    bool goes_on = true;
    while (goes_on) {
        from.take_turn([&] {
            turn_end end;
            const rows::type_rows of = from.of(type);
            bool is_wanted = true;
            const bool is_more = cursor.advance(of, [&](slot_number slot) {
                is_wanted = look(of, slot);
                return is_wanted && !end.is_reached();
            });
            goes_on = is_more && is_wanted;
        });
        if (rest) rest();
    }
}

} // namespace chainbase::inspect
