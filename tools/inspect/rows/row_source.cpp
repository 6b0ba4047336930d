#include <chainbase/database.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/offline/check/mapped_state.hpp>
#include <chainbase/snapshot/snapshot_segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/disk_pages.hpp>
#include <tools/inspect/rows/beside_writer.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <thread>
#include <utility>

namespace chainbase::inspect {

namespace fs = std::filesystem;

/// The mapped windows of a state.
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
    /// Whether the next turn needs another one.
    [[nodiscard]] virtual bool is_over() const { return false; }
    /// Calls `look`. Returns whether all that it read was of one moment.
    virtual bool read(const std::function<void()>& look) = 0;
    /// Whether give_back() is to be called, which no turn may be taken during.
    [[nodiscard]] virtual bool is_large() const { return false; }
    virtual void give_back() {}
    /// Whether a turn reads the newest block.
    [[nodiscard]] virtual bool is_newest() const { return true; }
    /// Moves on to the newest block, which no turn may be taken during. Returns whether it could.
    [[nodiscard]] virtual bool move_on() { return false; }
    [[nodiscard]] virtual std::vector<type> types() const = 0;
    /// One of them; nothing when there is none of that name.
    [[nodiscard]] virtual std::optional<type> type_called(const std::string& name) const = 0;
    [[nodiscard]] virtual const rows::buffer_source& buffers() const = 0;
    [[nodiscard]] virtual std::int64_t revision() const = 0;
    [[nodiscard]] virtual std::uint64_t changes() const = 0;
    [[nodiscard]] virtual bool is_rolled_back() const noexcept { return false; }
    /// The files that a read of all objects begins with; none if they are not read themselves.
    [[nodiscard]] virtual rows::segment_buffers::files files_to_read() const { return {}; }

protected:
    static std::vector<const window*>
    addresses_of(const std::vector<std::unique_ptr<window>>& windows) {
        std::vector<const window*> all;
        for (const auto& one : windows)
            all.push_back(one.get());
        return all;
    }
    static type type_of(const type_schema& schema, const auto& of) {
        return {&schema, of.objects.get(), of.ids.get(), addresses_of(of.tables),
                addresses_of(of.btrees)};
    }
    static std::vector<type> types_of(const mapped_segment& memory) {
        std::vector<type> all;
        for (std::size_t t = 0; t < memory.windows().size(); ++t)
            all.push_back(type_of(memory.types().entries()[t].schema, *memory.windows()[t]));
        return all;
    }
    static std::optional<type> type_called(const std::string& name, const mapped_segment& memory) {
        for (std::size_t t = 0; t < memory.windows().size(); ++t)
            if (memory.types().entries()[t].schema.name == name)
                return type_of(memory.types().entries()[t].schema, *memory.windows()[t]);
        return std::nullopt;
    }
    static rows::segment_buffers::files files_of(const mapped_segment& memory) {
        rows::segment_buffers::files files{};
        auto next = files.begin();
        memory.buffers().each_window([&](const window& file) { *next++ = &file; });
        return files;
    }
};

namespace {

bool has_writer(const fs::path& state) {
    return file_lock::is_held(state / "lock");
}

} // namespace

/// A closed state: a writer that opens it waits for the current turn at most. Or, for a second, in
/// turns with a writer of which there are no snapshots, which take a twentieth of its time.
class row_source::in_place final : public mapped {
public:
    in_place(const fs::path& state, bool is_beside_writer)
        : is_beside_writer_(is_beside_writer), state_(state, reading()), memory_(state_.memory()),
          buffers_(files_of(memory_)),
          lock_(::open((state / "lock").c_str(), O_RDONLY | O_CLOEXEC)) {
        state_.with_read_lock([] {}); // which refuses what a dead writer left
    }

    /// The file that was there is asked in every turn, that of a state made anew in its place,
    /// which has to be opened, once in a millisecond.
    [[nodiscard]] bool is_over() const override {
        if (is_beside_writer_ && !lasts_.is_over()) return false;
        if (file_lock::is_held(lock_)) return true;
        using std::chrono::steady_clock;
        const auto now = steady_clock::now().time_since_epoch().count();
        if (now < next_look_.load(std::memory_order_relaxed)) return false;
        constexpr steady_clock::duration between = std::chrono::milliseconds(1);
        next_look_ = now + between.count();
        return has_writer(state_.state());
    }
    bool read(const std::function<void()>& look) override {
        const auto begin = std::chrono::steady_clock::now();
        state_.with_read_lock(look);
        constexpr int share = 20;
        if (is_beside_writer_)
            std::this_thread::sleep_for(share * (std::chrono::steady_clock::now() - begin));
        return true;
    }
    [[nodiscard]] std::vector<type> types() const override { return types_of(memory_); }
    [[nodiscard]] std::optional<type> type_called(const std::string& name) const override {
        return mapped::type_called(name, memory_);
    }
    [[nodiscard]] const rows::buffer_source& buffers() const override { return buffers_; }
    [[nodiscard]] std::int64_t revision() const override { return state_.revision(); }
    [[nodiscard]] std::uint64_t changes() const override { return memory_.words().sequence; }
    [[nodiscard]] rows::segment_buffers::files files_to_read() const override {
        return files_of(memory_);
    }

private:
    static open_options reading() {
        open_options how;
        how.mode = open_mode::read_only;
        how.wait_for_writer = std::chrono::milliseconds(0);
        return how;
    }

    bool is_beside_writer_;
    patience lasts_;
    database state_;
    const segment& memory_;
    rows::segment_buffers buffers_;
    file_descriptor lock_; ///< of the writer
    mutable std::atomic<std::chrono::steady_clock::rep> next_look_{0};
};

/// The newest block of a state that is being written. What reads it bears damaged states, and so
/// the zeros of pages that are lost.
class row_source::as_of_block final : public mapped {
public:
    explicit as_of_block(const fs::path& state)
        : memory_(snapshot_segment::take(state, {}, snapshot_segment::lost_page::is_zeros)),
          buffers_(files_of(*memory_)) {}

    [[nodiscard]] bool is_over() const override {
        try {
            memory_->pages().require_usable();
            return false;
        } catch (...) { // also without memory
            return true;
        }
    }
    bool read(const std::function<void()>& look) override {
        snapshot_pages::install_handler(); // an interpreter may have one of its own, too
        try {
            look();
        } catch (...) {
            if (!is_over()) throw;
            return false;
        }
        return !memory_->pages().has_lost_page();
    }
    [[nodiscard]] bool is_large() const override {
        return memory_->pages().page_bytes() > most_bytes;
    }
    void give_back() override { memory_->pages().give_back(); }
    [[nodiscard]] bool is_newest() const override { return memory_->is_newest(); }
    [[nodiscard]] bool move_on() override {
        try {
            return !is_over() && memory_->renew(most_bytes);
        } catch (const error&) {
            return false;
        }
    }
    [[nodiscard]] std::vector<type> types() const override { return types_of(*memory_); }
    [[nodiscard]] std::optional<type> type_called(const std::string& name) const override {
        return mapped::type_called(name, *memory_);
    }
    [[nodiscard]] const rows::buffer_source& buffers() const override { return buffers_; }
    [[nodiscard]] std::int64_t revision() const override { return memory_->block().revision; }
    [[nodiscard]] std::uint64_t changes() const override { return 0; }

private:
    /// A node's machine has memory for this beside the node.
    static constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;

    std::unique_ptr<snapshot_segment> memory_;
    rows::segment_buffers buffers_;
};

/// A state whose writer died.
class row_source::left_behind final : public mapped {
public:
    explicit left_behind(const fs::path& state) : state_(state, found_), buffers_(files_to_read()) {
        if (is_lost()) return;
        if (!state_.is_mapped() || !state_.is_complete() || !state_.log().is_known)
            throw damaged_error(state.string() + ": what its writer left cannot be rolled back; "
                                                 "run chainbase-inspect check");
    }

    /// The next opening restores a checkpoint: nothing can be read before.
    [[nodiscard]] bool is_lost() const noexcept { return chainbase::is_lost(state_.condition()); }
    bool read(const std::function<void()>& look) override {
        look();
        return true;
    }
    [[nodiscard]] std::vector<type> types() const override {
        std::vector<type> all;
        for (const check::mapped_state::type& one : state_.types())
            all.push_back(type_of(*one.schema, one));
        return all;
    }
    [[nodiscard]] std::optional<type> type_called(const std::string& name) const override {
        for (const check::mapped_state::type& one : state_.types())
            if (one.schema->name == name) return type_of(*one.schema, one);
        return std::nullopt;
    }
    [[nodiscard]] const rows::buffer_source& buffers() const override { return buffers_; }
    [[nodiscard]] std::int64_t revision() const override { return state_.log().revision; }
    [[nodiscard]] std::uint64_t changes() const override { return 0; }
    [[nodiscard]] bool is_rolled_back() const noexcept override { return true; }
    [[nodiscard]] rows::segment_buffers::files files_to_read() const override {
        rows::segment_buffers::files files{};
        for (std::size_t number = 0; number < files.size(); ++number)
            files[number] = state_.buffers(number);
        return files;
    }

private:
    check::part_report found_;
    check::mapped_state state_;
    rows::segment_buffers buffers_;
};

/// What cursors and keys refer to: they outlive a snapshot.
class row_source::current_buffers final : public rows::buffer_source {
public:
    explicit current_buffers(const row_source& of) noexcept : of_(of) {}
    [[nodiscard]] std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const override {
        return of_.mapped_->buffers().content(handle);
    }

private:
    const row_source& of_;
};

row_source::row_source(fs::path state)
    : state_(std::move(state)), named_(state_.string()), mapped_(open(/*with_snapshots=*/true)),
      buffers_(std::make_unique<current_buffers>(*this)) {
    is_rolled_back_ = mapped_->is_rolled_back();
}

row_source::~row_source() = default;

/// A state that is opened or closed meanwhile is looked at again.
std::unique_ptr<row_source::mapped> row_source::open(bool with_snapshots) const {
    const fs::path& folder = named_.folder();
    for (const patience until;; patience::pause()) {
        const bool is_last = until.is_over();
        const bool is_written = has_writer(folder);
        try {
            if (is_written && with_snapshots && !is_last)
                return std::make_unique<as_of_block>(folder);
            return std::make_unique<in_place>(folder, is_written);
        } catch (const unclean_error&) {
            if (!has_writer(folder)) return left_in(folder);
            if (is_last) throw;
        } catch (const busy_error&) {
            if (is_last) throw;
        } catch (const replaced_error&) {
            if (is_last) throw;
        } catch (const error&) { // as of changes outside of blocks all the time, or `ulimit -f`
            if (!is_written || !std::exchange(with_snapshots, false)) throw;
        }
    }
}

std::unique_ptr<row_source::mapped> row_source::left_in(const fs::path& folder) {
    auto left = std::make_unique<left_behind>(folder);
    if (!left->is_lost()) return left;
    throw;
}

/// Opens the state again if that is necessary, when all others have ended their turns.
std::shared_lock<std::shared_mutex> row_source::begin_turn(bool with_snapshots) {
    const std::lock_guard next(begin_mutex_);
    if (mapped_->is_over()) {
        const std::unique_lock alone(turns_);
        mapped_ = open(with_snapshots);
        is_rolled_back_ = mapped_->is_rolled_back();
        ++openings_;
    } else if (mapped_->is_large()) {
        const std::unique_lock alone(turns_);
        mapped_->give_back();
    }
    return std::shared_lock(turns_);
}

void row_source::take_turn(const std::function<void()>& look) {
    constexpr unsigned most_snapshots = 20;
    for (unsigned tries = 1;; ++tries) {
        const auto turn = begin_turn(tries <= most_snapshots);
        if (mapped_->read(look)) return;
    }
}

void row_source::to_newest_block() {
    const std::lock_guard next(begin_mutex_);
    if (mapped_->is_newest()) return;
    const std::unique_lock alone(turns_);
    if (!mapped_->move_on()) mapped_ = open(/*with_snapshots=*/true);
    is_rolled_back_ = mapped_->is_rolled_back();
    ++openings_;
}

/// The catalogue moves when a type is added.
const type_schema* row_source::kept(const type_schema& schema) {
    const std::lock_guard alone(schemas_mutex_);
    const auto known = std::find(schemas_.begin(), schemas_.end(), schema);
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
    return mapped_->type_called(type).has_value();
}

rows::type_rows row_source::of(const std::string& type) {
    if (auto one = mapped_->type_called(type))
        return rows::type_rows({kept(*one->schema), one->objects, one->ids, std::move(one->tables),
                                std::move(one->btrees), buffers_.get()});
    std::string known;
    for (const mapped::type& one : mapped_->types())
        known += (known.empty() ? "" : ", ") + one.schema->name;
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
    const auto files = mapped_->files_to_read();
    std::ranges::for_each(files, read);
    if (std::ranges::count(files, nullptr) == std::ssize(files)) return;
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
    return mapped_->changes() + (openings_ << 40);
}

} // namespace chainbase::inspect
