#include <chainbase/object/key_reader.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/offline/bulk_load/key_loaders.hpp>
#include <chainbase/offline/bulk_load/new_state.hpp>
#include <chainbase/segment/index_base.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/flat_tables.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstring>
#include <future>
#include <system_error>
#include <utility>

namespace chainbase::bulk_load {

namespace {

constexpr std::uint32_t batch_objects = 1024; ///< bounds the log that making them takes
constexpr std::size_t container_words = 8;

} // namespace

rows::segment_buffers::files buffers_of(segment& of) {
    rows::segment_buffers::files files{};
    auto next = files.begin();
    of.buffers().each_window([&](const window& file) { *next++ = &file; });
    return files;
}

object_loader::object_loader(segment& to, const type_schema& schema)
    : to_(to), schema_(schema), layout_(rows::type_layout::of(schema_)), described_(schema_),
      windows_(to.open_type(schema)), buffers_(buffers_of(to)) {
    if (!windows_.created)
        throw usage_error("type " + schema_.name + " exists already; load into an empty state");
    make_node(0);
}

std::byte* object_loader::node(slot_number slot) const noexcept {
    return windows_.objects->base() + window_header::page_bytes +
           std::size_t{slot} * schema_.node_bytes;
}

std::uint32_t object_loader::id(slot_number slot) const noexcept {
    return rows::copy_at<std::uint32_t>(value(slot));
}

void object_loader::make_node(slot_number slot) {
    if (slot >= pool::max_slots)
        throw limit_error(fmt::format("{}: at most {} objects", schema_.name, pool::max_slots));
    windows_.objects->grow_to(window_header::page_bytes +
                              (std::size_t{slot} + 1) * schema_.node_bytes);
}

void object_loader::next_batch() {
    if (in_batch_++ % batch_objects != 0) return;
    if (batch_) batch_->complete();
    batch_.reset();
    batch_.emplace(*to_.log(), 0);
}

void object_loader::enter_id(std::uint32_t id, slot_number slot) {
    if (id == UINT32_MAX)
        throw usage_error(schema_.name + ": 2^32 - 1 is not an id; the highest is 2^32 - 2");
    id_table ids(*windows_.ids);
    ids.reserve(id);
    if (ids.at(id) != 0)
        throw usage_error(fmt::format("{}: there are two objects of id {}", schema_.name, id));
    to_.log()->reserve(write_barrier::record_bytes(sizeof slot));
    ids.set_new(id, slot);
    end_id_ = std::max(end_id_, id + 1);
}

/// A copy of the buffer that holds such elements, and of those that these have.
buffer_handle object_loader::copy_of(buffer_handle theirs, const buffer_layout& elements,
                                     const rows::buffer_source& from) {
    if (theirs.bits == 0) return {};
    const auto content = from.content(theirs);
    if (!content) throw damaged_error("it refers to no buffer");
    if (elements.is_flat()) return to_.buffers().allocate(*content);
    std::vector<std::byte> all(content->begin(), content->end());
    keep_buffers(all, elements, from);
    return to_.buffers().allocate(all);
}

void object_loader::keep_buffers(std::span<std::byte> values, const buffer_layout& of,
                                 const rows::buffer_source& from) {
    of.each_handle(values.size(), [&](std::size_t at, const buffer_layout& elements) {
        const buffer_handle theirs{rows::copy_at<std::uint64_t>(values.data() + at)};
        const buffer_handle ours = copy_of(theirs, elements, from);
        std::memcpy(values.data() + at, &ours, sizeof ours);
    });
}

void object_loader::add(const std::byte* value, const rows::buffer_source& from) {
    next_batch();
    make_node(end_);
    std::byte* const place = node(end_) + schema_.value_offset;
    std::memcpy(place, value, schema_.value_bytes);
    enter_id(rows::copy_at<std::uint32_t>(value), end_);
    try {
        keep_buffers({place, schema_.value_bytes}, described_.of_object(), from);
    } catch (const damaged_error& problem) {
        throw damaged_error(fmt::format("{} {}: {}", schema_.name,
                                        rows::copy_at<std::uint32_t>(value), problem.what()));
    }
    ++end_;
}

void object_loader::add_all(const rows::type_rows& from,
                            const std::function<void(std::uint32_t id)>& tell) {
    constexpr std::uint32_t often = 1024;
    const rows::slot_reader& slots = from.slots();
    for (std::uint32_t id = 0; id < slots.next_id(); ++id) {
        if (tell && id % often == 0) tell(id);
        if (const slot_number slot = slots.slot_of(id)) add(slots.value(slot), from.buffers());
    }
}

/// What object_index has there: the prefix, the words of the tables, and the container of
/// Boost.MultiIndex, which is two offset pointers, to the pool and to the node in slot 0, and at
/// its end the number of objects.
void object_loader::write_root(std::uint32_t next_id) {
    std::byte* const root = windows_.objects->root();
    const chainbase::detail::root_prefix prefix{{0, end_, end_}, next_id};
    std::memcpy(root, &prefix, sizeof prefix);
    if (layout_.trees.empty()) return;
    const auto store = [&](std::size_t at, std::uint64_t value) {
        std::memcpy(root + at, &value, sizeof value);
    };
    const std::size_t at = layout_.container_at;
    store(at, std::uint64_t{0} - at);
    store(at + container_words,
          window_header::page_bytes - sizeof(window_header) - at - container_words);
    store(schema_.root_bytes - container_words, objects());
}

slot_number object_loader::slot_of(std::uint32_t id, const char* key) const {
    const id_table ids(*windows_.ids);
    const slot_number slot = id < end_id_ ? ids.at(id) : 0;
    if (slot == 0)
        throw damaged_error(
            fmt::format("{}: {} has object {}, which does not exist", schema_.name, key, id));
    return slot;
}

namespace {

/// An object with leading bits of its key, by which most pairs are put in order without a look at
/// the objects.
struct to_sort {
    std::uint64_t bits;
    slot_number slot;
};

/// In two threads, where that is worth one and there is one to be had.
template <typename Less>
void sort_in_halves(std::vector<to_sort>& all, const Less& is_less) {
    constexpr std::size_t worth_a_thread = 10'000;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::future<void> second;
    if (all.size() >= worth_a_thread) try {
            second = std::async(std::launch::async, [&] { std::sort(middle, all.end(), is_less); });
        } catch (const std::system_error&) { // sorted here
        }
    if (!second.valid()) return std::sort(all.begin(), all.end(), is_less);
    std::sort(all.begin(), middle, is_less);
    second.get();
    std::inplace_merge(all.begin(), middle, all.end(), is_less);
}

} // namespace

std::vector<slot_number> object_loader::sorted(const type_schema::key& of, bool is_unique) const {
    if (objects() == 0) return {}; // also of a key that only the program knows
    const rows::key_reader key(schema_, of, buffers_);
    if (!key.why_no_order().empty())
        throw usage_error(fmt::format("{}.{} cannot be put in order: {}, which only the program "
                                      "that knows the type understands",
                                      schema_.name, of.name, key.why_no_order()));
    std::vector<to_sort> all;
    all.reserve(objects());
    for (slot_number slot = 1; slot < end_; ++slot)
        all.push_back({key.leading_bits(value(slot)), slot});
    // Nothing where bits differ, or the order is unknown.
    const auto compare = [&](const to_sort& a, const to_sort& b) {
        return a.bits == b.bits ? key.compare(value(a.slot), value(b.slot)) : std::nullopt;
    };
    sort_in_halves(all, [&](const to_sort& a, const to_sort& b) {
        if (a.bits != b.bits) return a.bits < b.bits;
        const auto found = compare(a, b);
        return found && *found != 0 ? *found < 0 : id(a.slot) < id(b.slot);
    });
    const auto same =
        std::adjacent_find(all.begin(), all.end(), [&](const to_sort& a, const to_sort& b) {
            const auto found = compare(a, b);
            return is_unique && found && *found == 0;
        });
    if (same != all.end())
        throw duplicate_key_error(fmt::format("{}.{}: objects {} and {} have the same key",
                                              schema_.name, of.name, id(same->slot),
                                              id((same + 1)->slot)));
    std::vector<slot_number> order;
    order.reserve(all.size());
    for (const to_sort& one : all)
        order.push_back(one.slot);
    return order;
}

std::vector<slot_number> object_loader::ordered(const type_schema::key& of,
                                                const std::vector<std::uint32_t>& ids) const {
    std::vector<slot_number> order;
    std::vector<bool> is_there(end_, false);
    order.reserve(ids.size());
    for (const std::uint32_t one : ids) {
        const slot_number slot = slot_of(one, of.name.c_str());
        if (!is_there[slot]) order.push_back(slot);
        is_there[slot] = true;
    }
    if (order.size() != ids.size() || order.size() != objects())
        throw damaged_error(fmt::format("{}.{} has {} objects, {} different ones, but the type "
                                        "has {}",
                                        schema_.name, of.name, ids.size(), order.size(),
                                        objects()));
    return order;
}

std::vector<slot_number> object_loader::order_of(const type_schema::key& key, bool is_unique,
                                                 const key_orders& orders) const {
    const auto known = orders.trees.find(key.name);
    return known == orders.trees.end() ? sorted(key, is_unique) : ordered(key, known->second);
}

/// Entries that come in order fill the leaves.
void object_loader::load_btrees(const key_orders& orders, const std::function<void()>& tell) {
    for (std::size_t number = 0; number < layout_.btrees.size(); ++number) {
        if (tell) tell();
        const rows::type_layout::flat_tree& one = layout_.btrees[number];
        window& file = *windows_.btrees[number];
        operation make(*to_.log(), write_barrier::first_use_bytes(window::root_capacity));
        btree::initialise(file, one.bits);
        make.complete();
        const rows::key_reader key(schema_, *one.key, buffers_);
        const rows::slot_bits bits(key, one.bits, one.is_unique,
                                   [this](slot_number slot) { return value(slot); });
        btree tree(file, bits, one.bits, to_.log());
        const std::vector<slot_number> order = order_of(*one.key, one.is_unique, orders);
        for (std::size_t done = 0; done < order.size();) {
            if (tell) tell();
            operation batch(*to_.log(), 0);
            const std::size_t end = std::min<std::size_t>(order.size(), done + batch_objects);
            for (; done < end; ++done)
                if (tree.insert(bits.key_of(order[done]), order[done]) != 0)
                    throw damaged_error(fmt::format("{}.{}: object {} has the key of another one",
                                                    schema_.name, one.key->name, id(order[done])));
            batch.complete();
        }
        tree.trim();
    }
}

void object_loader::load_tables(const key_orders& orders, const std::function<void()>& tell) {
    const table_loader::objects of{schema_, node(0), end_};
    for (std::size_t number = 0; number < layout_.tables.size(); ++number) {
        if (tell) tell();
        const rows::type_layout::table& one = layout_.tables[number];
        table_loader table(of, one, *windows_.tables[number], *to_.log());
        const auto known = orders.tables.find(one.key->name);
        if (known == orders.tables.end()) {
            table.load(rows::key_reader(schema_, *one.key, buffers_));
            continue;
        }
        std::vector<table_loader::entry> entries;
        entries.reserve(known->second.entries.size());
        for (const key_orders::entry& entry : known->second.entries)
            entries.push_back(
                {slot_of(entry.id, one.key->name.c_str()), entry.hash, entry.has_key_of_previous});
        table.load(entries, known->second.seed);
    }
}

/// A file that grows gets more than it needs at once, and ids that are gone need no memory.
void object_loader::fit_files(std::uint32_t next_id) {
    if (next_id != 0) id_table(*windows_.ids).reserve(next_id - 1);
    id_table(*windows_.ids).trim(next_id);
    windows_.objects->shrink_to(window_header::page_bytes + std::size_t{end_} * schema_.node_bytes);
}

void object_loader::finish(std::uint32_t next_id, const key_orders& orders,
                           const std::function<void()>& tell) {
    if (batch_) batch_->complete();
    batch_.reset();
    next_id = std::max(next_id, end_id_);
    write_root(next_id);
    for (const rows::type_layout::tree& one : layout_.trees) {
        if (tell) tell();
        tree_loader(node(0), schema_.node_bytes, one.links_at, one.is_ranked)
            .link(order_of(*one.key, one.is_unique, orders));
    }
    load_tables(orders, tell);
    load_btrees(orders, tell);
    fit_files(next_id);
    to_.publish_type(windows_);
}

namespace {

open_options options_of(const new_state::limits& of) {
    open_options how;
    how.window_bytes = of.window_bytes;
    how.windows = of.windows;
    how.readers_group = of.readers_group;
    how.durability = of.durability;
    how.checkpoints.interval = std::chrono::milliseconds(0); // only when it is closed
    how.memory_folder = of.memory_folder;
    how.expected_bytes = of.expected_bytes;
    how.advise = false;
    return how;
}

} // namespace

new_state::new_state(const std::filesystem::path& folder, const limits& of, content begins_with)
    : memory_(folder, options_of(of)), has_checkpoint_(begins_with == content::checkpoint) {
    using way = opening::way;
    if (memory_.opened().how != (has_checkpoint_ ? way::restored : way::created))
        throw usage_error(folder.string() +
                          (has_checkpoint_
                               ? ": its segment is there, so its checkpoint is not restored"
                               : ": holds a state already; choose another folder"));
    static_cast<void>(memory_.begin_writing()); // until it is closed
}

object_loader new_state::add_type(const type_schema& schema) {
    return object_loader(memory_, schema);
}

/// Objects and keys were stored past the page tracker, by which a checkpoint is made. Where there
/// is one already, only pages that differ are written.
void new_state::announce_pages() {
    page_tracker& pages = memory_.addresses().pages();
    memory_.each_window([&](const window& file) {
        if (!has_checkpoint_) return pages.replaced(file.base(), file.bytes());
        constexpr std::uint64_t page_bytes = page_tracker::page_bytes;
        pages.mark_maybe_changed(std::uint64_t{file.index()} * (file.limit() / page_bytes),
                                 file.bytes() / page_bytes);
    });
}

void new_state::keep() {
    announce_pages();
    static_cast<void>(memory_.make_checkpoint());
    has_checkpoint_ = true;
}

void new_state::close(revision_number revision) {
    memory_.buffers().trim();
    memory_.log()->set_revision(revision);
    announce_pages();
    memory_.close();
}

} // namespace chainbase::bulk_load
