#pragma once

namespace chainbase::bench {

/// While one of these lives, the first SIGINT or SIGTERM is noted and the second ends the process
/// as usual; so an interrupted run can remove its files, which may take most of the memory.
class catch_interruption {
public:
    catch_interruption();
    ~catch_interruption();
    catch_interruption(const catch_interruption&) = delete;
    catch_interruption& operator=(const catch_interruption&) = delete;
};

/// Throws: chainbase::error after a noted signal.
void throw_if_interrupted();

} // namespace chainbase::bench
