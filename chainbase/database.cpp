#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>

#include <algorithm>
#include <string>

namespace chainbase {

database::~database() = default;

void database::throw_unregistered() {
    throw usage_error("the type of this call was not registered; call add_type for it first");
}

void database::throw_read_only() const {
    throw usage_error(segment_.state().string() + " is open read-only; it has no undo log");
}

void database::require_session(const char* call) const {
    undo_log::require_no_operation();
    if (!log().has_session())
        throw usage_error(std::string(call) + ": there is no session at revision " +
                          std::to_string(log().revision()));
}

void database::undo() {
    require_session("undo");
    log().undo();
}

void database::squash() {
    require_session("squash");
    log().squash();
}

void database::undo_all() {
    undo_log::require_no_operation();
    while (log().has_session())
        log().undo();
}

void database::compact() {
    if (log().has_session())
        throw usage_error("compact: " + std::to_string(log().sessions()) +
                          " sessions can still be undone; commit or undo them first");
    for (const auto& index : indexes_)
        if (index) index->compact();
    segment_.buffers().trim();
    log().trim();
}

} // namespace chainbase
