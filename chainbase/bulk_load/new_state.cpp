#include <chainbase/bulk_load/new_state.hpp>
#include <pool_allocator/error.hpp>

namespace chainbase::bulk_load {

namespace {

open_options options_of(const new_state::limits& of) {
    open_options how;
    how.window_bytes = of.window_bytes;
    how.windows = of.windows;
    how.readers_group = of.readers_group;
    how.promise = durability::process;
    how.advise = false;
    return how;
}

} // namespace

new_state::new_state(const std::filesystem::path& folder, const limits& of)
    : memory_(folder, options_of(of)) {
    if (memory_.opened().how != opening::way::created)
        throw usage_error(folder.string() + ": holds a state already; choose another folder");
    static_cast<void>(memory_.begin_writing()); // until it is closed
}

object_loader new_state::add_type(const type_schema& schema) {
    return object_loader(memory_, schema);
}

void new_state::close(revision_number revision) {
    memory_.buffers().trim();
    memory_.log()->set_revision(revision);
    memory_.close();
}

} // namespace chainbase::bulk_load
