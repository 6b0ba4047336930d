#include <chainbase/lock/process_lock.hpp>
#include <chainbase/segment/segment_parts.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/flat_tables.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

/// The part of class segment that has the windows of types.
namespace chainbase {

namespace fs = std::filesystem;
using detail::first_type_window;

namespace {

/// A barrier for memory that nothing refers to yet.
class unlogged_barrier final : public write_barrier {
public:
    explicit unlogged_barrier(const address_space& range) : write_barrier(range) {
        enter_operation();
        set_fresh(nullptr, SIZE_MAX);
    }
    ~unlogged_barrier() override { leave_operation(); }

private:
    void extend(std::size_t) override {}
};

/// Its files are called after a type.
void require_file_name(const std::string& type) {
    const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.' || c == ' ';
    };
    if (!type.empty() && type.front() != '.' && type.size() <= 200 &&
        std::all_of(type.begin(), type.end(), is_plain))
        return;
    throw usage_error("add_type(\"" + type +
                      "\"): files are called after a type; name it with 1 to "
                      "200 letters, digits and . _ -, the first one not a dot");
}

} // namespace

/// The state's random identity, which only those come to know who may read its files.
hash_seed segment::own_seed() const noexcept {
    hash_seed seed;
    static_assert(sizeof seed.words == sizeof header().identity);
    std::memcpy(seed.words, header().identity.data(), sizeof seed.words);
    return seed;
}

std::unique_ptr<type_windows> segment::map_type(const catalogue::entry& entry,
                                                window::mode how) const {
    const std::uint64_t end = std::uint64_t{entry.first_window} + 2 + entry.schema.tables;
    if (entry.first_window < first_type_window || end > addresses_->windows())
        throw damaged_error(catalogue::file_in(folder()).string() + ": type " + entry.schema.name +
                            ": first_window " + std::to_string(entry.first_window) +
                            " is not among the " + std::to_string(addresses_->windows()) +
                            " windows; restore the file from a copy, or replay into a new folder");
    auto type = std::make_unique<type_windows>();
    type->name = entry.schema.name;
    type->created = how == window::mode::create;
    std::uint32_t index = entry.first_window;
    const auto map = [&](const std::string& suffix, const window::geometry& shape) {
        const window::place place{addresses_.get(), index++};
        const fs::path file = folder() / (entry.schema.name + suffix);
        if (how == window::mode::create)
            return std::make_unique<window>(window::create(place, file, shape));
        return std::make_unique<window>(window::open(place, file, shape, how));
    };
    type->objects =
        map(".objects", {window_kind::objects, entry.schema.node_bytes, window_header::page_bytes});
    type->ids = map(".ids", id_table::geometry);
    for (std::uint32_t t = 0; t < entry.schema.tables; ++t) {
        type->tables.push_back(map(fmt::format(".{}.hash", t), hash_table::geometry));
        hash_seed seed = own_seed();
        seed.words[0] ^= index; // else one table's order would fill the other from its beginning on
        if (type->created) hash_table::keep_seed(*type->tables.back(), *addresses_, seed);
    }
    return type;
}

/// What changes while it looks is looked at the next time.
void segment::refresh() {
    if (writable()) return;
    const std::uint64_t types = turns_ ? turns_->types() : 0;
    const std::uint64_t lengths = turns_ ? turns_->lengths() : 0;
    if (!turns_ || types != seen_.types) {
        const catalogue now = catalogue::read(folder());
        for (std::size_t t = types_.size(); t < now.entries().size(); ++t)
            types_.push_back(map_type(now.entries()[t], window::mode::read_only));
        catalogue_ = now;
    }
    each_window([](window& file) { file.refresh(); });
    seen_.types = types;
    seen_.lengths = lengths;
}

std::uint32_t segment::next_free_window() const noexcept {
    std::uint32_t next = first_type_window;
    for (const catalogue::entry& entry : catalogue_.entries())
        next = std::max(next, entry.first_window + 2 + entry.schema.tables);
    return next;
}

type_windows& segment::open_type(const type_schema& schema) {
    require_here();
    if (!catalogue_.find(schema.name) && is_outdated()) refresh();
    if (const catalogue::entry* known = catalogue_.find(schema.name)) {
        const std::string difference = schema.difference(known->schema);
        if (!difference.empty())
            throw schema_error(state_.string() + ": type " + schema.name +
                               " was stored with another layout: " + difference +
                               "; use the program that wrote it, or replay into a new folder");
        const auto at = known - catalogue_.entries().data();
        return *types_[static_cast<std::size_t>(at)];
    }
    if (!writable())
        throw usage_error(state_.string() + ": has no type " + schema.name +
                          ", and is open read-only");
    require_file_name(schema.name);
    const catalogue::entry added{schema, next_free_window()};
    if (added.first_window + 2 + schema.tables > addresses_->windows())
        throw limit_error(state_.string() + ": all " + std::to_string(addresses_->windows()) +
                          " windows are taken, type " + schema.name +
                          " needs more; create the state with more windows");
    catalogue_.add(added);
    try {
        types_.push_back(map_type(added, window::mode::create));
    } catch (...) {
        catalogue_.remove_last(); // both have it, or neither
        throw;
    }
    return *types_.back();
}

void segment::initialise_unlogged(void (*build)(void*), void* with) {
    const unlogged_barrier barrier(*addresses_);
    build(with);
}

void segment::publish_type(type_windows& type) {
    if (!type.created) return;
    std::string text = catalogue_.text();
    catalogue before = catalogue_;
    before.remove_last();
    try {
        catalogue_.write(folder());
    } catch (const std::exception&) {
        try { // the name may be the new list's, though storage refused it, and the type will go
            before.write(folder());
        } catch (const std::exception&) { // the caller is told of the first failure
        }
        throw;
    }
    if (checkpoints_) checkpoints_->catalogue = std::move(text);
    type.created = false;
    turns_->added_type();
}

void segment::withdraw_type(const type_windows& type) noexcept {
    if (!type.created) return;
    catalogue_.remove_last();
    types_.pop_back();
}

} // namespace chainbase
