#pragma once

namespace chainbase::driver {

/// While one of these lives, SIGINT and SIGTERM are only noted: the work stops at the next place
/// where it may, and leaves everything closed. kill -9 is safe as well, only less polite.
class catch_interruption {
public:
    catch_interruption();
    ~catch_interruption();
    catch_interruption(const catch_interruption&) = delete;
    catch_interruption& operator=(const catch_interruption&) = delete;

    /// Whether a signal was noted.
    [[nodiscard]] bool noted() const noexcept;
};

} // namespace chainbase::driver
