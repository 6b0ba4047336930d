#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/database.hpp>
#include <chainbase/segment/segment.hpp>
#include <pool_allocator/base/files.hpp>
#include <tools/bench/crash_engine.hpp>
#include <tools/bench/engines/stored_account.hpp>
#include <tools/bench/measurements.hpp>

#include <boost/describe.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::bench {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t blocks_per_checkpoint =
    10; // half a minute of a chain with a block every 3 s

struct head_block {
    chainbase::id<head_block> id;
    std::uint32_t spare = 0;
    std::uint64_t number = 0;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(head_block, (), (id, spare, number))

/// Puts the checkpoints on a disk while the segment and the state's folder are in memory.
class disk_elsewhere final : public disk {
public:
    disk_elsewhere(fs::path from, fs::path to) : from_(std::move(from)), to_(std::move(to)) {}

    std::unique_ptr<disk_file> open(const fs::path& file, mode how) override {
        return on_.open(moved(file), how);
    }
    bool exists(const fs::path& file) override { return on_.exists(moved(file)); }
    std::vector<std::string> names_in(const fs::path& folder) override {
        return on_.names_in(moved(folder));
    }
    void rename(const fs::path& from, const fs::path& to) override {
        on_.rename(moved(from), moved(to));
    }
    void remove(const fs::path& file) override { on_.remove(moved(file)); }
    void make_folder(const fs::path& folder) override { on_.make_folder(moved(folder)); }
    void sync_folder(const fs::path& folder) override { on_.sync_folder(moved(folder)); }
    void sync_file_system(const fs::path& folder) override { on_.sync_file_system(moved(folder)); }

    [[nodiscard]] const fs::path& to() const noexcept { return to_; }

private:
    [[nodiscard]] fs::path moved(const fs::path& file) const {
        return (to_ / file.lexically_relative(from_)).lexically_normal();
    }

    disk& on_ = disk::of_system();
    fs::path from_;
    fs::path to_;
};

class chainbase_accounts final : public crash_engine {
public:
    chainbase_accounts(const crash_places& at, durability level, std::uint64_t every,
                       bool after_each)
        : disk_(at.memory / "state", at.disk), durability_(level), after_each_(after_each),
          db_(at.memory / "state", options(level, every, disk_)) {
        db_.add_type<hashed_account>("account");
        db_.add_type<head_block>("head");
    }

    void fill(const crash_plan& plan) override {
        for (std::uint32_t i = 0; i < plan.accounts(); ++i)
            db_.create<hashed_account>([&](hashed_account& one) {
                one.name = crash_plan::name_of(i);
                one.balance = crash_plan::money_each;
            });
        db_.create<head_block>([](head_block&) {});
        if (durability_ != durability::process) db_.make_checkpoint();
    }
    void apply(std::uint64_t number, const crash_plan::block& payments) override {
        session block = db_.start_session();
        pay(payments, as_usual);
        db_.modify(head(), [&](head_block& one) { one.number = number; });
        block.push();
        db_.commit(db_.revision());
        if (durability_ == durability::commit) db_.wait_until_durable();
        if (after_each_) db_.make_checkpoint();
    }
    void apply_half(std::uint64_t, const crash_plan::block& payments,
                    const std::function<void()>& stop) override {
        const session block = db_.start_session();
        pay(std::span(payments).first(payments.size() / 2), as_usual);
        stop();
    }
    std::uint64_t last_block() override { return head().number; }
    std::int64_t money() override {
        std::int64_t sum = 0;
        for (const hashed_account& one : db_.objects<hashed_account>())
            sum += one.balance;
        return sum;
    }
    void settle() override { (void)db_.sync_before_checkpoints({}); }
    void close() override { db_.close(); }
    void measure_own(const crash_plan& plan, const crash_sink& sink) override {
        if (durability_ != durability::checkpoint || after_each_) return;
        measure_checkpoint(plan, sink);
        // Uses its own state, without checkpoints in between.
        const crash_places apart{disk_.to() / "apart",
                                 std::filesystem::path(db_.state()).parent_path() / "apart"};
        chainbase_accounts other(apart, durability::process, 0, false);
        other.fill(plan);
        other.measure_barrier("barrier_cold", plan, plan.accounts(), sink);
        other.measure_barrier("barrier_hot", plan, std::min(plan.accounts(), 4 * plan.payments()),
                              sink);
        other.db_.close();
        fs::remove_all(apart.memory);
    }

private:
    static constexpr auto as_usual = [](hashed_account&) {};

    static open_options options(durability level, std::uint64_t every, disk& on) {
        open_options all;
        all.durability = level;
        all.checkpoints = {std::chrono::milliseconds(0), every};
        all.checkpoint_disk = &on;
        all.advise = false;
        return all;
    }
    [[nodiscard]] const head_block& head() const { return db_.get(chainbase::id<head_block>(0)); }

    /// As a chain's rules do: finds both accounts by name and changes them in place.
    template <typename Before>
    void pay(std::span<const crash_plan::payment> payments, Before&& before) {
        for (const crash_plan::payment& one : payments) {
            add(one.from, -1, before);
            add(one.to, 1, before);
        }
    }
    template <typename Before>
    void add(std::uint32_t account, std::int64_t amount, Before&& before) {
        const auto& found = db_.get<hashed_account, named>(crash_plan::name_of(account));
        db_.modify(found, [&](hashed_account& one) {
            before(one);
            one.balance += amount;
        });
    }

    template <typename Before>
    [[nodiscard]] double nanoseconds_of(const std::vector<crash_plan::block>& blocks,
                                        Before&& before) {
        return nanoseconds([&] {
            for (const crash_plan::block& one : blocks) {
                session made = db_.start_session();
                pay(one, before);
                made.push();
                db_.commit(db_.revision());
            }
        });
    }
    /// The same payments, recording every object's before-image once more: the added time is the
    /// cost of recording.
    void measure_barrier(std::string_view row, const crash_plan& plan, std::uint32_t accounts,
                         const crash_sink& sink) {
        const auto recorded_again = [](const hashed_account& one) {
            write_barrier& barrier = write_barrier::active();
            barrier.reserve(write_barrier::record_bytes(sizeof one));
            barrier.record(&one, sizeof one);
        };
        constexpr std::uint64_t first = 1'000'000; // these blocks are not applied yet
        std::vector<double> added;
        for (std::uint64_t turn = 0; turn < 9; ++turn) {
            std::vector<crash_plan::block> blocks;
            for (std::uint64_t i = 0; i < 24; ++i)
                blocks.push_back(plan.among(accounts, first + turn * 24 + i));
            (void)nanoseconds_of(blocks,
                                 recorded_again); // warms caches and makes the log long
            double once = nanoseconds_of(blocks, as_usual);
            double twice = nanoseconds_of(blocks, recorded_again);
            once += nanoseconds_of(blocks, as_usual);
            twice += nanoseconds_of(blocks, recorded_again);
            added.push_back(twice / once - 1);
        }
        std::ranges::nth_element(added, added.begin() + 4);
        sink(row, metric::ratio, std::max(added[4], 0.0001)); // less is noise
    }
    /// A checkpoint of many changed pages, without a concurrent writer.
    void measure_checkpoint(const crash_plan& plan, const crash_sink& sink) {
        db_.make_checkpoint();
        session changes = db_.start_session();
        for (std::uint64_t i = 0; i < 40; ++i)
            pay(plan.block_of(2'000'000 + i), as_usual);
        changes.push();
        db_.commit(db_.revision());
        const auto dirty = static_cast<double>(changed_pages() * page_tracker::page_bytes);
        const checkpoint::outcome done = db_.make_checkpoint();
        const double hundreds = dirty / (100 << 20);
        sink("checkpoint_pause_per_100_mib", metric::ns, done.pause_seconds * 1e9 / hundreds);
        sink("checkpoint_per_100_mib", metric::ns, done.seconds * 1e9 / hundreds);
        sink("checkpoint_bytes_to_dirty", metric::ratio, static_cast<double>(done.bytes) / dirty);
    }
    [[nodiscard]] std::uint64_t changed_pages() {
        std::uint64_t sum = 0;
        const segment& memory = db_.memory();
        const auto count = [&](const window& file) {
            const std::uint64_t each = file.limit() / page_tracker::page_bytes;
            sum += memory.addresses().pages().count_changed(
                file.index() * each, file.bytes() / page_tracker::page_bytes);
        };
        for (const auto& type : memory.windows())
            type->each(count);
        return sum;
    }

    disk_elsewhere disk_;
    durability durability_;
    bool after_each_;
    database db_;
};

} // namespace

std::unique_ptr<crash_engine> open_chainbase(const crash_places& at) {
    return std::make_unique<chainbase_accounts>(at, durability::checkpoint, blocks_per_checkpoint,
                                                false);
}

std::unique_ptr<crash_engine> open_chainbase_process(const crash_places& at) {
    return std::make_unique<chainbase_accounts>(at, durability::process, 0, false);
}

std::unique_ptr<crash_engine> open_chainbase_commit(const crash_places& at) {
    return std::make_unique<chainbase_accounts>(at, durability::commit, blocks_per_checkpoint,
                                                false);
}

std::unique_ptr<crash_engine> open_chainbase_synced(const crash_places& at) {
    return std::make_unique<chainbase_accounts>(at, durability::checkpoint, 0, true);
}

void lose_chainbase_memory(const crash_places& at) {
    fs::remove_all(at.memory / "state" / "segment");
}

} // namespace chainbase::bench
