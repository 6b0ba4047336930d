#include <chainbase/database.hpp>
#include <chainbase/find_together.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/crash_engine.hpp>
#include <tools/bench/engines/stored_account.hpp>
#include <tools/bench/large_engine.hpp>

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace chainbase::bench {

namespace {

/// A block is a session, and is committed when it ends.
class chainbase_large final : public large_engine {
public:
    chainbase_large(const large_places& at, const open_options& how)
        : db_(at.folder / "state", how) {
        db_.add_type<hashed_account>("account");
        const std::filesystem::path home =
            std::filesystem::path(db_.segment_folder()).parent_path();
        if (home != std::filesystem::absolute(at.folder / "state")) elsewhere_ = home;
    }
    /// Its files are removed, so it writes nothing more.
    ~chainbase_large() override {
        block_.reset();
        db_.abandon();
        std::error_code ignored;
        if (!elsewhere_.empty()) std::filesystem::remove_all(elsewhere_, ignored);
    }

    void fill_large(std::uint32_t count) override {
        for (std::uint32_t i = 0; i < count; ++i)
            db_.create<hashed_account>([&](hashed_account& made) {
                made.name = crash_plan::name_of(i);
                made.balance = first_balance_of(made.name);
            });
    }
    void begin_block() override { block_.emplace(db_.start_session()); }
    void end_block() override {
        block_->push();
        block_.reset();
        db_.commit(db_.revision());
    }
    std::int64_t find_balance(const account_name& name) override { return get(name).balance; }
    void change_savings(const account_name& name) override {
        db_.modify(get(name), [](hashed_account& one) { ++one.savings; });
    }
    std::int64_t find_savings(const account_name& name) override { return get(name).savings; }
    bool prepares() const noexcept override { return true; }
    void prepare(std::span<const account_name> names) override {
        found_.resize(names.size());
        find_together(db_.view<hashed_account, named>(), names, std::span(found_));
    }
    std::filesystem::path elsewhere() const override { return elsewhere_; }

private:
    [[nodiscard]] const hashed_account& get(const account_name& name) const {
        return db_.get<hashed_account, named>(name);
    }

    database db_;
    std::optional<session> block_;
    std::vector<const hashed_account*> found_;
    std::filesystem::path elsewhere_;
};

} // namespace

std::unique_ptr<large_engine> open_large_chainbase(const large_places& at) {
    open_options how = options_for_bench();
    how.memory_folder = "none";
    return std::make_unique<chainbase_large>(at, how);
}

std::unique_ptr<large_engine> open_large_chainbase_default(const large_places& at) {
    open_options how = options_for_bench();
    how.durability = durability::checkpoint; // without checkpoints a segment is never in memory
    how.checkpoints.interval = {};
    return std::make_unique<chainbase_large>(at, how);
}

} // namespace chainbase::bench
