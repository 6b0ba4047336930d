#include <chainbase/offline/check/report.hpp>
#include <chainbase/offline/check/slot_checks.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <chainbase/segment/index_base.hpp>
#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace chainbase::check {

namespace {

using chainbase::detail::root_prefix;

constexpr std::size_t id_bytes = sizeof(slot_number);

slot_number entry_of(const window& ids, std::uint32_t id) noexcept {
    return copy_at<slot_number>(ids.base() + window_header::page_bytes + id * id_bytes);
}

} // namespace

type_check::type_check(const mapped_state::type& type, buffer_check& buffers, part_report& to,
                       const progress& tell)
    : type_(type), buffers_(buffers) {
    const stopwatch timed(to);
    try {
        layout_ = rows::type_layout::of(schema());
        references_ = std::make_unique<rows::described_buffers>(schema());
    } catch (const damaged_error& e) {
        to.add({"segment/catalogue.json", {}, e.what()});
        return;
    }
    if (!type_.objects || !type_.ids) {
        to.not_checked.emplace_back("the files of its objects and ids could not both be opened");
        return;
    }
    const std::size_t structures =
        3 + layout_.trees.size() + layout_.tables.size() + layout_.btrees.size();
    std::size_t checked = 0;
    const auto done = [&] { tell(++checked, structures); };
    if (!check_objects(to.enter("objects"))) return;
    done();
    check_ids(to.enter("ids"));
    done();
    check_keys(to, done);
    check_references(to.enter("references"));
    done();
    to.count("objects", objects_->live());
    to.count("whole", objects_->whole());
}

bool type_check::check_objects(part_report& to) {
    const stopwatch timed(to);
    pool_facts facts = check_pool(*type_.objects, true, to);
    if (!facts.is_whole) return false;
    objects_.emplace(*type_.objects, schema(), std::move(facts));
    if (!layout_.trees.empty()) check_container(to);
    mark_altered_damaged();
    return true;
}

/// Marks the objects whose nodes have bytes that changed since closing.
void type_check::mark_altered_damaged() {
    const std::uint64_t first = objects_->offset_of(0);
    for (const altered_bytes& bytes : type_.altered) {
        if (bytes.last < first) continue;
        const std::uint64_t begin = std::max(bytes.first, first) - first;
        for (std::uint64_t slot = begin / schema().node_bytes;
             slot <= (bytes.last - first) / schema().node_bytes && slot < objects_->end(); ++slot)
            objects_->mark_damaged(static_cast<slot_number>(slot));
    }
}

/// The container object of Boost.MultiIndex: two offset pointers, to the pool and to the header
/// node in slot 0, and at its end how many nodes there are.
void type_check::check_container(part_report& to) {
    const window& file = *type_.objects;
    const auto expect = [&](std::size_t at, std::uint64_t wanted, const char* name) {
        const auto found = copy_at<std::uint64_t>(file.root() + at);
        if (found != wanted)
            to.add(file, root_offset + at,
                   fmt::format("the container's {} is {:#x}, not {:#x}", name, found, wanted));
    };
    const std::size_t at = layout_.container_at;
    expect(at, std::uint64_t{0} - at, "link to its pool");
    expect(at + 8, window_header::page_bytes - root_offset - at - 8, "link to its header");
    const std::uint64_t live = objects_->facts().live;
    if (objects_->facts().is_sound) expect(schema().root_bytes - 8, live - 1, "number of nodes");
}

std::optional<slot_number> type_check::find(std::uint32_t id) const noexcept {
    if (id >= known_ids_) return std::nullopt;
    const slot_number slot = entry_of(*type_.ids, id);
    if (slot == 0 || !objects_->is_live(slot) || objects_->id(slot) != id) return std::nullopt;
    return slot;
}

void type_check::check_id(std::uint32_t id, std::vector<bool>& by_id, part_report& to) {
    const slot_number slot = entry_of(*type_.ids, id);
    if (slot == 0) return;
    const auto wrong = [&](const std::string& why) {
        finding found{part_report::file_of(*type_.ids),
                      window_header::page_bytes + std::uint64_t{id} * id_bytes,
                      fmt::format("object {}: its entry leads to slot {}, {}", id, slot, why)};
        found.slot = slot;
        found.object = id;
        to.add(std::move(found));
    };
    if (slot >= objects_->end()) return wrong(fmt::format("of {}", objects_->end()));
    if (objects_->is_free(slot)) return wrong("which is free");
    if (objects_->id(slot) != id)
        return wrong(fmt::format("which holds object {}", objects_->id(slot)));
    by_id[slot] = true;
}

void type_check::check_ids(part_report& to) {
    const stopwatch timed(to);
    next_id_ = copy_at<root_prefix>(type_.objects->root()).next_id;
    const std::uint64_t entries = (readable(*type_.ids) - window_header::page_bytes) / id_bytes;
    if (next_id_ > entries)
        to.add(*type_.objects, root_offset + offsetof(root_prefix, next_id),
               fmt::format("{} ids were given, but the table has {}", next_id_, entries));
    known_ids_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(next_id_, entries));
    std::vector<bool> by_id(objects_->end(), false);
    for (std::uint32_t id = 0; id < known_ids_; ++id)
        check_id(id, by_id, to);
    const auto found = std::count(by_id.begin(), by_id.end(), true);
    to.count("given", next_id_);
    to.count("objects", static_cast<std::uint64_t>(found));
    objects_->set_live(by_id);
    for (slot_number slot = 1; slot < objects_->end(); ++slot)
        if (objects_->is_live(slot) && !by_id[slot])
            objects_->add(to, slot, schema().value_offset,
                          objects_->text_of(slot) + ": is not free, and no id leads to it");
}

void type_check::check_keys(part_report& to, const std::function<void()>& done) {
    const auto check = [&](const type_schema::key& of, auto&& look) {
        part_report& part = to.enter(of.name);
        part.key = of.name;
        const stopwatch timed(part);
        try {
            look(rows::key_reader(schema(), of, buffers_), part);
        } catch (const damaged_error& e) {
            part.add({"segment/catalogue.json", {}, e.what()});
        }
        done();
    };
    for (const rows::type_layout::tree& tree : layout_.trees)
        check(*tree.key, [&](const rows::key_reader& key, part_report& part) {
            check_tree(*objects_, tree, key, part);
        });
    for (std::size_t t = 0; t < layout_.tables.size(); ++t)
        check(*layout_.tables[t].key, [&](const rows::key_reader& key, part_report& part) {
            if (const window* file = type_.tables[t].get())
                check_table(*objects_, *file, layout_.tables[t], key, part);
            else
                part.not_checked.emplace_back("its file could not be opened");
        });
    for (std::size_t t = 0; t < layout_.btrees.size(); ++t)
        check(*layout_.btrees[t].key, [&](const rows::key_reader& key, part_report& part) {
            if (window* const file = type_.btrees[t].get())
                check_btree(*objects_, *file, layout_.btrees[t], key, part);
            else
                part.not_checked.emplace_back("its file could not be opened");
        });
}

void type_check::check_references(part_report& to) {
    const stopwatch timed(to);
    std::uint64_t count = 0;
    const buffer_layout& of = references_->of_object();
    for (slot_number slot = 1; slot < objects_->end(); ++slot) {
        if (!objects_->is_live(slot)) continue;
        const std::span<const std::byte> value(objects_->value(slot), schema().value_bytes);
        for (const buffer_layout::place& one : of.places) {
            const std::string wrong = refer(value.data() + one.offset, *one.elements, count);
            if (!wrong.empty())
                objects_->add(to, slot, schema().value_offset + one.offset,
                              objects_->text_of(slot) + ": " + wrong);
        }
    }
    to.count("buffers", count);
}

/// Enters the buffer whose handle lies there, and those that its elements refer to; returns what is
/// wrong with the first that is not sound.
std::string type_check::refer(const std::byte* place, const buffer_layout& elements,
                              std::uint64_t& count) {
    const buffer_handle handle{copy_at<std::uint64_t>(place)};
    std::string wrong = buffers_.refer(handle);
    count += handle.bits != 0;
    if (!wrong.empty()) return wrong;
    if (elements.bytes != 0 && handle.length() % elements.bytes != 0)
        return fmt::format("{} bytes are not a whole number of elements of {} bytes",
                           handle.length(), elements.bytes);
    if (elements.is_flat()) return {};
    const auto content = buffers_.content(handle);
    if (!content) return {}; // its missing file is reported already
    elements.each_handle(content->size(), [&](std::size_t at, const buffer_layout& inner) {
        std::string first = refer(content->data() + at, inner, count);
        if (wrong.empty()) wrong = std::move(first);
    });
    return wrong;
}

state_check::state_check(std::filesystem::path state, const checkpoint::progress& tell)
    : mapped_(std::move(state), report_), buffers_(mapped_) {
    const stopwatch timed(report_);
    report_.name = mapped_.state().string();
    mapped_.read_all();
    if (mapped_.is_mapped()) check_types(tell);
    if (is_lost(mapped_.condition())) check_what_is_restored();
}

void state_check::check_types(const checkpoint::progress& tell) {
    const auto bytes_of = [](const mapped_state::type& type) {
        return type.objects ? readable(*type.objects) : 0;
    };
    std::uint64_t all = 0, before = 0;
    for (const mapped_state::type& type : mapped_.types())
        all += bytes_of(type);
    for (const mapped_state::type& type : mapped_.types()) {
        part_report part;
        part.name = part.type = type.schema->name;
        const std::uint64_t own = bytes_of(type);
        types_.emplace_back(type, buffers_, part, [&](std::size_t done, std::size_t structures) {
            if (tell) tell(before + own * done / structures, all);
        });
        before += own;
        report_.parts.push_back(std::move(part));
    }
    const bool knows_all = mapped_.is_complete() &&
                           std::all_of(types_.begin(), types_.end(), [](const type_check& type) {
                               return type.objects() != nullptr;
                           });
    const auto place = report_.parts.end() - static_cast<std::ptrdiff_t>(types_.size());
    report_.parts.insert(place, buffers_.finish(knows_all));
}

void state_check::check_what_is_restored() {
    const std::string choices = "; put a copy of the state's folder in its place, or move it away "
                                "and replay the block log into a new one";
    part_report part;
    part.name = "checkpoint";
    if (has_checkpoint(disk::of_system(), state() / "checkpoint")) {
        checkpoints_ = check_checkpoints(disk::of_system(), state());
        part = checkpoints_->report;
        if (!checkpoints_->restorable() && part.found != 0)
            part.add(
                {"checkpoint",
                 {},
                 mapped_.why_lost() + ", and no checkpoint is whole, so opening fails" + choices});
    } else {
        part.add({"checkpoint",
                  {},
                  mapped_.why_lost() +
                      ", and there is no checkpoint, so opening refuses the state" + choices});
    }
    report_.parts.push_back(std::move(part));
}

std::vector<survivors> state_check::survived() const {
    std::vector<survivors> all;
    for (const type_check& type : types_) {
        survivors one{type.schema().name};
        if (const object_slots* objects = type.objects())
            one = {one.type, objects->live(), objects->whole(), true};
        all.push_back(std::move(one));
    }
    return all;
}

finding located(const std::filesystem::path& folder, std::string file, std::string said) {
    finding one{std::move(file), {}, std::move(said)};
    const std::string begin = (folder / "").string();
    if (!one.what.starts_with(begin)) return one;
    const std::size_t end = one.what.find(": ", begin.size());
    if (end == std::string::npos) return one;
    one.file = one.what.substr(begin.size(), end - begin.size());
    one.what.erase(0, end + 2);
    constexpr std::string_view word = "offset ";
    const std::size_t colon = one.what.find(": ");
    if (!one.what.starts_with(word) || colon == std::string::npos) return one;
    std::uint64_t offset = 0;
    const char* const last = one.what.data() + colon;
    if (std::from_chars(one.what.data() + word.size(), last, offset).ptr != last) return one;
    one.offset = offset;
    one.what.erase(0, colon + 2);
    return one;
}

} // namespace chainbase::check
