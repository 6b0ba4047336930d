#include <chainbase/database.hpp>
#include <chainbase/locks/process_lock.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/offline/check/mapped_state.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/disk_pages.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace chainbase::inspect {

namespace fs = std::filesystem;

/// The mapped windows of a state, and its turns.
class row_source::mapped {
public:
    struct type {
        const type_schema* schema;
        const window* objects;
        const window* ids;
        std::vector<const window*> tables;
        std::vector<const window*> btrees;
    };

    virtual ~mapped() = default;
    virtual void take_turn(const std::function<void()>& look) = 0;
    [[nodiscard]] virtual std::vector<type> types() const = 0;
    [[nodiscard]] virtual const rows::buffer_source& buffers() const = 0;
    [[nodiscard]] virtual rows::segment_buffers::files buffer_files() const = 0;
    [[nodiscard]] virtual std::int64_t revision() const = 0;
    [[nodiscard]] virtual std::uint64_t changes() const = 0;
    [[nodiscard]] virtual bool is_rolled_back() const noexcept = 0;
};

namespace {

std::vector<const window*> addresses_of(const std::vector<std::unique_ptr<window>>& windows) {
    std::vector<const window*> all;
    for (const auto& one : windows)
        all.push_back(one.get());
    return all;
}

} // namespace

/// A state that is closed, or open in a writer.
class row_source::shared final : public mapped {
public:
    explicit shared(const fs::path& state)
        : state_(state, reading()), memory_(state_.memory()), buffers_(files_of(memory_)) {}

    void take_turn(const std::function<void()>& look) override {
        rest();
        const auto begin = clock::now();
        state_.with_read_lock(look);
        const std::scoped_lock hold(pacing_);
        end_ = clock::now();
        last_ = std::min<clock::duration>(end_ - begin, slice);
    }
    [[nodiscard]] std::vector<type> types() const override {
        std::vector<type> all;
        for (std::size_t t = 0; t < memory_.windows().size(); ++t) {
            const type_windows& one = *memory_.windows()[t];
            all.push_back({&memory_.types().entries()[t].schema, one.objects.get(), one.ids.get(),
                           addresses_of(one.tables), addresses_of(one.btrees)});
        }
        return all;
    }
    [[nodiscard]] const rows::buffer_source& buffers() const override { return buffers_; }
    [[nodiscard]] rows::segment_buffers::files buffer_files() const override {
        return files_of(memory_);
    }
    [[nodiscard]] std::int64_t revision() const override { return state_.revision(); }
    [[nodiscard]] std::uint64_t changes() const override { return memory_.words().sequence; }
    [[nodiscard]] bool is_rolled_back() const noexcept override { return false; }

private:
    using clock = std::chrono::steady_clock;

    /// Pauses after a turn beside a working writer: long enough that all readers' turns together
    /// take about a twentieth of its time.
    void rest() {
        constexpr int share = 20;
        std::unique_lock hold(pacing_);
        const clock::time_point end = end_;
        const clock::duration last = last_;
        hold.unlock();
        if (last == clock::duration()) return;
        const lock_report now = lock_report::read(state_.state());
        if (!now.writer.is_alive || now.writer.what == lock_report::doing::idle) return;
        const auto readers = std::count_if(now.readers.begin(), now.readers.end(),
                                           [](const auto& one) { return one.is_alive; });
        std::this_thread::sleep_until(end + last * share * std::max<std::ptrdiff_t>(1, readers));
    }
    static open_options reading() {
        open_options how;
        how.mode = open_mode::read_only;
        how.wait_for_writer = std::chrono::milliseconds(0);
        return how;
    }
    static rows::segment_buffers::files files_of(const segment& memory) {
        rows::segment_buffers::files files{};
        auto next = files.begin();
        memory.buffers().each_window([&](const window& file) { *next++ = &file; });
        return files;
    }

    database state_;
    const segment& memory_;
    rows::segment_buffers buffers_;
    std::mutex pacing_;
    clock::time_point end_;   ///< of the last turn
    clock::duration last_{0}; ///< duration of the last turn
};

/// A state whose writer died.
class row_source::left_behind final : public mapped {
public:
    explicit left_behind(const fs::path& state)
        : state_(state, found_), buffers_(files_of(state_)) {
        if (is_lost()) return;
        if (!state_.is_mapped() || !state_.is_complete() || !state_.log().is_known)
            throw damaged_error(state.string() + ": what its writer left cannot be rolled back; "
                                                 "run chainbase-inspect check");
    }

    /// The next opening restores a checkpoint: nothing can be read before.
    [[nodiscard]] bool is_lost() const noexcept { return chainbase::is_lost(state_.condition()); }
    void take_turn(const std::function<void()>& look) override { look(); }
    [[nodiscard]] std::vector<type> types() const override {
        std::vector<type> all;
        for (const check::mapped_state::type& one : state_.types())
            all.push_back({one.schema, one.objects.get(), one.ids.get(), addresses_of(one.tables),
                           addresses_of(one.btrees)});
        return all;
    }
    [[nodiscard]] const rows::buffer_source& buffers() const override { return buffers_; }
    [[nodiscard]] rows::segment_buffers::files buffer_files() const override {
        return files_of(state_);
    }
    [[nodiscard]] std::int64_t revision() const override { return state_.log().revision; }
    [[nodiscard]] std::uint64_t changes() const override { return 0; }
    [[nodiscard]] bool is_rolled_back() const noexcept override { return true; }

private:
    static rows::segment_buffers::files files_of(const check::mapped_state& state) {
        rows::segment_buffers::files files{};
        for (std::size_t number = 0; number < files.size(); ++number)
            files[number] = state.buffers(number);
        return files;
    }

    check::part_report found_;
    check::mapped_state state_;
    rows::segment_buffers buffers_;
};

row_source::row_source(fs::path state) : state_(std::move(state)), named_(state_.string()) {
    try {
        auto open = std::make_unique<shared>(named_.folder());
        open->take_turn([] {});
        mapped_ = std::move(open);
    } catch (const unclean_error&) {
        auto left = std::make_unique<left_behind>(named_.folder());
        if (left->is_lost()) throw;
        mapped_ = std::move(left);
    }
}

row_source::~row_source() = default;

void row_source::take_turn(const std::function<void()>& look) {
    mapped_->take_turn(look);
}

/// The catalogue moves when a type is added.
const type_schema* row_source::kept(const type_schema& schema) {
    const std::lock_guard alone(schemas_mutex_);
    const auto known = std::find_if(schemas_.begin(), schemas_.end(), [&](const type_schema& one) {
        return one.name == schema.name;
    });
    if (known != schemas_.end()) return &*known;
    return &schemas_.emplace_back(schema);
}

std::vector<const type_schema*> row_source::types() {
    std::vector<const type_schema*> all;
    for (const mapped::type& one : mapped_->types())
        all.push_back(kept(*one.schema));
    return all;
}

bool row_source::has(const std::string& type) const {
    const std::vector<mapped::type> all = mapped_->types();
    return std::ranges::any_of(all,
                               [&](const mapped::type& one) { return one.schema->name == type; });
}

rows::type_rows row_source::of(const std::string& type) {
    std::string known;
    for (mapped::type& one : mapped_->types()) {
        if (one.schema->name == type)
            return rows::type_rows({kept(*one.schema), one.objects, one.ids, std::move(one.tables),
                                    std::move(one.btrees), &mapped_->buffers()});
        known += (known.empty() ? "" : ", ") + one.schema->name;
    }
    throw usage_error(state_.string() + " has no type \"" + type + "\"; it has " +
                      (known.empty() ? "none" : known));
}

std::int64_t row_source::current_revision() {
    std::int64_t revision = 0;
    take_turn([&] { revision = mapped_->revision(); });
    return revision;
}

void row_source::read_all(bool and_keys) const {
    const auto read = [](const window* file) {
        if (file) disk_pages::read_all(file->base());
    };
    std::ranges::for_each(mapped_->buffer_files(), read);
    for (const mapped::type& one : mapped_->types()) {
        read(one.objects);
        read(one.ids);
        if (!and_keys) continue;
        std::ranges::for_each(one.tables, read);
        std::ranges::for_each(one.btrees, read);
    }
}

std::int64_t row_source::revision() const {
    return mapped_->revision();
}

std::uint64_t row_source::changes() const {
    return mapped_->changes();
}

bool row_source::is_rolled_back() const noexcept {
    return mapped_->is_rolled_back();
}

} // namespace chainbase::inspect
