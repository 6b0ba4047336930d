#include <tools/bench/account_workload.hpp>
#include <tools/bench/baselines/baselines.hpp>
#include <tools/bench/baselines/classical_index.hpp>
#include <tools/bench/baselines/segment_store.hpp>

#include <memory>
#include <vector>

namespace chainbase::bench {

namespace {

/// One type of the database, as the database sees it: the operations that a session needs of every
/// type, whatever its objects are.
class registered_type {
public:
    virtual ~registered_type() = default;
    virtual void start_session(std::int64_t revision) = 0;
    virtual void undo() = 0;
    virtual void squash() = 0;
    virtual void commit(std::int64_t revision) = 0;
};

class registered_index final : public registered_type {
public:
    explicit registered_index(mapped_segment& segment) : index_(segment) {}

    void start_session(std::int64_t revision) override { index_.start_session(revision); }
    void undo() override { index_.undo(); }
    void squash() override { index_.squash(); }
    void commit(std::int64_t revision) override { index_.commit(revision); }

    [[nodiscard]] classical_index& index() noexcept { return index_; }

private:
    classical_index index_;
};

/// A database in the family's manner: an allocator of Boost.Interprocess for everything, an undo
/// stack per type, and sessions that touch every type.
class classical_store {
public:
    using handle = classical_index::handle;
    using hashed = segment_store<hashed_accounts<shared_allocator<account>>>;

    /// Undoes itself unless it was ended; the store outlives it.
    class session {
    public:
        explicit session(classical_store& store) : store_(&store) {}
        session(const session&) = delete;
        session& operator=(const session&) = delete;
        ~session() {
            if (store_ != nullptr) store_->undo();
        }
        void undo() { std::exchange(store_, nullptr)->undo(); }
        void squash() { std::exchange(store_, nullptr)->squash(); }
        void push() noexcept { store_ = nullptr; }

    private:
        classical_store* store_;
    };

    explicit classical_store(const store_options& options) : segment_(options) {
        for (std::uint32_t i = 0; i < options.types; ++i) {
            auto type = std::make_unique<registered_index>(segment_);
            if (i == 0) accounts_ = &type->index();
            types_.push_back(std::move(type));
        }
    }

    handle create(const account& value) { return accounts_->create(value); }
    [[nodiscard]] handle handle_of(std::uint64_t id) const { return accounts_->handle_of(id); }

    template <typename Read>
    bool find_by_id(std::uint64_t id, Read&& read) const {
        return accounts_->find_by_id(id, read);
    }
    template <typename Read>
    bool find_by_name(const account_name& name, Read&& read) const {
        return accounts_->find_by_name(name, read);
    }
    template <typename Read>
    void for_each_by_id(std::uint32_t limit, Read&& read) const {
        accounts_->for_each_by_id(limit, read);
    }
    template <typename Read>
    void for_each_by_name(std::uint32_t limit, Read&& read) const {
        accounts_->for_each_by_name(limit, read);
    }

    template <typename Write>
    void modify(handle target, Write&& write) {
        accounts_->modify(target, write);
    }
    void remove(handle target) { accounts_->remove(target); }

    [[nodiscard]] session start_session() {
        ++revision_;
        for (const auto& type : types_)
            type->start_session(revision_);
        return session(*this);
    }
    [[nodiscard]] std::int64_t revision() const noexcept { return revision_; }
    void commit(std::int64_t revision) {
        for (const auto& type : types_)
            type->commit(revision);
    }

    [[nodiscard]] std::uint64_t held_bytes() const { return segment_.used_bytes(); }
    [[nodiscard]] std::uint64_t undo_bytes() const { return segment_.used_bytes(); }

private:
    void undo() {
        --revision_;
        for (const auto& type : types_)
            type->undo();
    }
    void squash() {
        --revision_;
        for (const auto& type : types_)
            type->squash();
    }

    mapped_segment segment_;
    std::vector<std::unique_ptr<registered_type>> types_;
    classical_index* accounts_ = nullptr;
    std::int64_t revision_ = 0;
};

} // namespace

std::unique_ptr<account_engine> make_classical_engine() {
    return make_account_engine<classical_store>();
}

} // namespace chainbase::bench
