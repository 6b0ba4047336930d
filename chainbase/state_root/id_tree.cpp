#include <chainbase/state_root/id_tree.hpp>
#include <chainbase/state_root/sha256_pairs.hpp>
#include <pool_allocator/base/thread_pool.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace chainbase::state_root {

namespace {

constexpr unsigned places = 16; ///< of a page
constexpr std::uint16_t all_places = 0xffff;
/// Pages with more digests keep six that follow from them: of each four places, then of each eight.
constexpr unsigned most_without_sums = 4;
constexpr unsigned sums = 6;
constexpr unsigned most_levels = 8; ///< of pages, for ids of 32 bits

/// Pages that a thread hashes together, so that all pairs at once are many.
constexpr std::size_t pages_at_once = 32;

/// Whether it is no_digest; in words, for comparing bytes takes as long as hashing them.
bool is_nothing(const sha256_digest& one) noexcept {
    std::array<std::uint64_t, sizeof one / sizeof(std::uint64_t)> words;
    std::memcpy(words.data(), one.data(), sizeof one);
    return (words[0] | words[1] | words[2] | words[3]) == 0;
}

constexpr unsigned count_of(unsigned mask) noexcept {
    return static_cast<unsigned>(std::popcount(mask));
}

constexpr unsigned place_of(std::uint64_t id, unsigned level) noexcept {
    return static_cast<unsigned>(id >> (4 * level)) % places;
}

} // namespace

sha256_digest digest_of_pair(const sha256_digest& left, const sha256_digest& right) {
    sha256_digest both{};
    if (is_nothing(left) && is_nothing(right)) return both;
    const digest_pair pair{&left, &right, &both};
    hash_pairs({&pair, 1});
    return both;
}

sha256_digest sealed(unsigned height, const sha256_digest& root, std::string_view name) {
    sha256 hash;
    const auto first = static_cast<std::byte>(height);
    hash.add({&first, 1});
    hash.add(root);
    hash.add(std::as_bytes(std::span(name)));
    return hash.finish();
}

sha256_digest climb(std::uint64_t id, const sha256_digest& leaf,
                    std::span<const sha256_digest> path) {
    sha256_digest at = leaf;
    for (const sha256_digest& beside : path) {
        at = id % 2 == 0 ? digest_of_pair(at, beside) : digest_of_pair(beside, at);
        id /= 2;
    }
    return at;
}

/// Digests side by side by place, and behind them, if there are many, the sums. Above the lowest
/// level, the page of each digest.
struct id_tree::page {
    std::unique_ptr<sha256_digest[]> digests;
    std::unique_ptr<page[]> below;
    std::uint16_t present = 0;
    std::uint8_t capacity = 0; ///< of digests and of pages
    bool has_sums = false;     ///< behind the capacity

    [[nodiscard]] bool has(unsigned place) const noexcept { return (present >> place & 1) != 0; }
    [[nodiscard]] unsigned index_of(unsigned place) const noexcept {
        return present == all_places ? place : count_of(present & ((1u << place) - 1));
    }
    [[nodiscard]] const sha256_digest& at(unsigned place) const noexcept {
        return has(place) ? digests[index_of(place)] : no_digest;
    }
    [[nodiscard]] bool keeps_sums() const noexcept { return capacity > most_without_sums; }
    /// Where it keeps them; of this time only if has_sums.
    [[nodiscard]] sha256_digest* sums_here() const noexcept { return digests.get() + capacity; }
    /// What is read when these places change, so that the misses of many pages overlap.
    void prefetch(unsigned changed) const noexcept {
        for (unsigned four = 0; four < 4; ++four)
            if (!has_sums || (changed >> (4 * four) & 15) != 0)
                prefetch_digests(index_of(4 * four), 4);
        if (has_sums) prefetch_digests(capacity, sums);
    }
    /// Makes room for these places; those that are new have no_digest. Throws std::bad_alloc; then
    /// nothing has changed.
    void add(unsigned added, bool is_lowest);
    /// Takes out places without a digest. In the room it has if there is no smaller one to get.
    void remove_empty() noexcept;

private:
    /// The first byte of every second, and the last: they may begin in the middle of a line.
    void prefetch_digests(unsigned first, unsigned count) const noexcept {
        for (unsigned i = 0; i < count; i += 2)
            __builtin_prefetch(&digests[first + i]);
        __builtin_prefetch(digests[first + count - 1].data() + sizeof(sha256_digest) - 1);
    }
    [[nodiscard]] static unsigned capacity_for(unsigned count) noexcept {
        constexpr std::array<unsigned, 7> steps{1, 2, 3, 4, 8, 12, 16};
        return *std::ranges::lower_bound(steps, count);
    }
    void move_to(unsigned mask, unsigned room, std::unique_ptr<sha256_digest[]> digests_there,
                 std::unique_ptr<page[]> below_there) noexcept;
};

void id_tree::page::add(unsigned added, bool is_lowest) {
    const unsigned mask = present | added;
    if (mask == present) return;
    const unsigned room = std::max<unsigned>(capacity, capacity_for(count_of(mask)));
    // What is hashed next stores the sums.
    auto more = std::make_unique<sha256_digest[]>(room + (room > most_without_sums ? sums : 0));
    auto pages = is_lowest ? nullptr : std::make_unique<page[]>(room);
    move_to(mask, room, std::move(more), std::move(pages));
}

/// To other places, of which none of the former ones with a digest may be missing.
void id_tree::page::move_to(unsigned mask, unsigned room,
                            std::unique_ptr<sha256_digest[]> digests_there,
                            std::unique_ptr<page[]> below_there) noexcept {
    for (unsigned place = 0, to = 0; place < places; ++place) {
        if ((mask >> place & 1) == 0) continue;
        if (has(place)) {
            digests_there[to] = digests[index_of(place)];
            if (below_there) below_there[to] = std::move(below[index_of(place)]);
        }
        ++to;
    }
    const bool had_sums = has_sums;
    const bool keeps_sums = room > most_without_sums;
    if (had_sums && keeps_sums) std::copy_n(sums_here(), sums, digests_there.get() + room);
    digests = std::move(digests_there);
    below = std::move(below_there);
    present = static_cast<std::uint16_t>(mask);
    capacity = static_cast<std::uint8_t>(room);
    has_sums = keeps_sums && had_sums;
}

void id_tree::page::remove_empty() noexcept {
    unsigned mask = 0;
    for (unsigned place = 0; place < places; ++place)
        if (!is_nothing(at(place))) mask |= 1u << place;
    if (mask == present) return;
    if (mask == 0) {
        *this = {};
        return;
    }
    const unsigned room = capacity_for(count_of(mask));
    const unsigned had = capacity;
    if (room < had) {
        std::unique_ptr<sha256_digest[]> digests_there(
            new (std::nothrow) sha256_digest[room + (room > most_without_sums ? sums : 0)]{});
        std::unique_ptr<page[]> below_there(below ? new (std::nothrow) page[room] : nullptr);
        if (digests_there && (!below || below_there))
            return move_to(mask, room, std::move(digests_there), std::move(below_there));
    }
    for (unsigned place = 0, to = 0; place < places; ++place) {
        if ((mask >> place & 1) == 0) continue;
        const unsigned from = index_of(place);
        if (from != to) {
            digests[to] = digests[from];
            if (below) below[to] = std::exchange(below[from], {});
        }
        ++to;
    }
    if (below)
        for (unsigned i = count_of(mask); i < count_of(present); ++i)
            below[i] = {};
    present = static_cast<std::uint16_t>(mask);
}

/// A page that an update leads to.
struct id_tree::work_space::visited {
    page* at;
    std::span<const leaf_update> updates;
    id_tree* top_of;       ///< null: there is a page above
    std::uint32_t above;   ///< its place in the list of the level above
    std::uint16_t changed; ///< places
    bool has_empty;        ///< a place without a digest
    std::int64_t added;    ///< leaves
    sha256_digest digest;
};

/// First down, level by level, where room is made; then up, where digests change and nothing can
/// fail any more.
class id_tree::work_space::lists {
public:
    /// Throws std::bad_alloc; then call take_back().
    void add(id_tree& tree, std::span<const leaf_update> updates);
    /// Throws the same; likewise.
    void make_room();
    void take_back() noexcept;
    void hash(thread_pool* pool) noexcept;
    void clear() noexcept {
        for (std::vector<visited>& level : by_level_)
            level.clear();
        updates_ = 0;
    }

private:
    /// Of one page after the other, the digests between its places and its own.
    struct between {
        std::array<sha256_digest, places / 2> pairs;
        std::array<sha256_digest, sums> own;
        sha256_digest* sum; ///< those that the page keeps, or `own`
        unsigned dirty;     ///< bit i: sum i is made anew
    };
    class pairs_to_hash {
    public:
        void add(const sha256_digest& left, const sha256_digest& right,
                 sha256_digest& to) noexcept {
            if (is_nothing(left) && is_nothing(right))
                to = no_digest;
            else
                all_[count_++] = {&left, &right, &to};
        }
        void hash() noexcept { hash_pairs({all_.data(), std::exchange(count_, 0)}); }

    private:
        std::array<digest_pair, pages_at_once * places / 2> all_;
        std::size_t count_ = 0;
    };

    void hash_some(unsigned level, std::size_t part) noexcept;
    static void store_leaves(visited& of) noexcept;

    std::array<std::vector<visited>, most_levels> by_level_;
    std::size_t updates_ = 0;
};

void id_tree::work_space::lists::add(id_tree& tree, std::span<const leaf_update> updates) {
    by_level_[tree.levels_ - 1].push_back(
        {tree.top_.get(), updates, &tree, 0, 0, false, 0, no_digest});
    updates_ += updates.size();
}

void id_tree::work_space::lists::make_room() {
    constexpr std::size_t ahead = 8;
    for (unsigned level = most_levels; level-- != 0;) {
        std::vector<visited>& here = by_level_[level];
        if (level != 0 && !here.empty()) {
            std::vector<visited>& below = by_level_[level - 1];
            below.reserve(below.size() + std::min(updates_, 16 * here.size()));
        }
        for (std::size_t i = 0; i < here.size(); ++i) {
            if (i + ahead < here.size()) __builtin_prefetch(here[i + ahead].at->digests.get());
            visited& one = here[i];
            for (const leaf_update& update : one.updates)
                one.changed |= static_cast<std::uint16_t>(1u << place_of(update.id, level));
            one.at->add(one.changed, level == 0);
            one.at->prefetch(one.changed);
            if (level == 0) continue;
            for (auto rest = one.updates; !rest.empty();) {
                const unsigned place = place_of(rest.front().id, level);
                const auto end = std::ranges::find_if(rest, [&](const leaf_update& update) {
                    return place_of(update.id, level) != place;
                });
                const auto count = static_cast<std::size_t>(end - rest.begin());
                page* const next = &one.at->below[one.at->index_of(place)];
                __builtin_prefetch(next);
                by_level_[level - 1].push_back({next, rest.first(count), nullptr,
                                                static_cast<std::uint32_t>(i), 0, false, 0,
                                                no_digest});
                rest = rest.subspan(count);
            }
        }
    }
}

void id_tree::work_space::lists::take_back() noexcept {
    for (std::vector<visited>& level : by_level_)
        for (visited& one : level)
            one.at->remove_empty();
}

void id_tree::work_space::lists::store_leaves(visited& of) noexcept {
    for (const leaf_update& update : of.updates) {
        sha256_digest& here = of.at->digests[of.at->index_of(place_of(update.id, 0))];
        of.added += is_nothing(here) - is_nothing(update.leaf);
        here = update.leaf;
        of.has_empty = of.has_empty || is_nothing(here);
    }
}

void id_tree::work_space::lists::hash(thread_pool* pool) noexcept {
    for (unsigned level = 0; level < most_levels; ++level) {
        std::vector<visited>& here = by_level_[level];
        const std::size_t parts = (here.size() + pages_at_once - 1) / pages_at_once;
        bool is_done = false;
        if (pool && parts > 1) {
            try {
                pool->run(parts, [&](std::size_t part) { hash_some(level, part); });
                is_done = true;
            } catch (const std::bad_alloc&) { // then without help: a part may be hashed twice
            }
        }
        for (std::size_t part = 0; part < parts && !is_done; ++part)
            hash_some(level, part);
        for (visited& one : here) {
            if (one.has_empty) one.at->remove_empty();
            if (one.top_of) {
                one.top_of->root_ = one.digest;
                one.top_of->leaves_ += static_cast<std::uint64_t>(one.added);
                continue;
            }
            visited& above = by_level_[level + 1][one.above];
            const unsigned place = place_of(one.updates.front().id, level + 1);
            above.at->digests[above.at->index_of(place)] = one.digest;
            above.added += one.added;
            above.has_empty = above.has_empty || is_nothing(one.digest);
        }
    }
}

void id_tree::work_space::lists::hash_some(unsigned level, std::size_t part) noexcept {
    const auto first = by_level_[level].begin() + static_cast<std::ptrdiff_t>(part * pages_at_once);
    const std::span<visited> some(
        &*first, std::min<std::size_t>(pages_at_once,
                                       static_cast<std::size_t>(by_level_[level].end() - first)));
    for (const visited& one : some)
        one.at->prefetch(one.changed);
    std::array<between, pages_at_once> work;
    pairs_to_hash pairs;
    for (std::size_t i = 0; i < some.size(); ++i) {
        if (level == 0) store_leaves(some[i]);
        const page& of = *some[i].at;
        between& in = work[i];
        in.sum = of.keeps_sums() ? of.sums_here() : in.own.data();
        in.dirty = 0;
        for (unsigned four = 0; four < 4; ++four) {
            if (of.has_sums && (some[i].changed >> (4 * four) & 15) == 0) continue;
            in.dirty |= 1u << four | 1u << (4 + four / 2);
            for (unsigned pair = 2 * four; pair < 2 * four + 2; ++pair)
                pairs.add(of.at(2 * pair), of.at(2 * pair + 1), in.pairs[pair]);
        }
    }
    pairs.hash();
    for (between& in : std::span(work).first(some.size()))
        for (unsigned four = 0; four < 4; ++four)
            if (in.dirty >> four & 1)
                pairs.add(in.pairs[2 * four], in.pairs[2 * four + 1], in.sum[four]);
    pairs.hash();
    for (between& in : std::span(work).first(some.size()))
        for (unsigned eight = 0; eight < 2; ++eight)
            if (in.dirty >> (4 + eight) & 1)
                pairs.add(in.sum[2 * eight], in.sum[2 * eight + 1], in.sum[4 + eight]);
    pairs.hash();
    for (std::size_t i = 0; i < some.size(); ++i) {
        page& of = *some[i].at;
        pairs.add(work[i].sum[4], work[i].sum[5], some[i].digest);
        of.has_sums = of.keeps_sums();
    }
    pairs.hash();
}

id_tree::id_tree() = default;
id_tree::~id_tree() = default;
id_tree::id_tree(id_tree&& other) noexcept
    : top_(std::move(other.top_)), levels_(std::exchange(other.levels_, 0)),
      leaves_(std::exchange(other.leaves_, 0)), root_(std::exchange(other.root_, {})) {}

id_tree& id_tree::operator=(id_tree&& other) noexcept {
    top_ = std::move(other.top_);
    levels_ = std::exchange(other.levels_, 0);
    leaves_ = std::exchange(other.leaves_, 0);
    root_ = std::exchange(other.root_, {});
    return *this;
}

id_tree::work_space::work_space() : lists_(std::make_unique<lists>()) {}
id_tree::work_space::~work_space() = default;
id_tree::work_space::work_space(work_space&& other) noexcept = default;
id_tree::work_space& id_tree::work_space::operator=(work_space&& other) noexcept = default;

void id_tree::update(std::span<const leaf_update> updates, thread_pool* pool) {
    work_space work;
    const changes all{this, updates};
    update_all({&all, 1}, pool, work);
}

/// Those that it needs when these are there.
unsigned id_tree::levels_for(std::span<const leaf_update> updates) const noexcept {
    unsigned needed = levels_;
    for (const leaf_update& one : updates)
        if (!is_nothing(one.leaf))
            while (std::uint64_t{one.id} >> (4 * needed) != 0 || needed == 0)
                ++needed;
    return needed;
}

void id_tree::update_all(std::span<const changes> all, thread_pool* pool, work_space& work) {
    work_space::lists& lists = *work.lists_;
    lists.clear();
    try {
        for (const changes& one : all) {
            const unsigned needed = one.of->levels_for(one.updates);
            if (needed == 0) continue;
            auto updates = one.updates;
            while (!updates.empty() && std::uint64_t{updates.back().id} >> (4 * needed) != 0)
                updates = updates.first(updates.size() - 1); // nothing is there, and is to be
            if (updates.empty()) continue;
            one.of->grow(needed);
            lists.add(*one.of, updates);
        }
        lists.make_room();
    } catch (...) {
        lists.take_back();
        for (const changes& one : all)
            one.of->shrink();
        throw;
    }
    lists.hash(pool);
    for (const changes& one : all)
        one.of->shrink();
}

/// Throws std::bad_alloc; then call shrink().
void id_tree::grow(unsigned levels) {
    if (!top_) {
        top_ = std::make_unique<page>();
        levels_ = levels;
    }
    for (; levels_ < levels; ++levels_) {
        auto above = std::make_unique<page>();
        above->add(1, false);
        above->digests[0] = root_;
        above->below[0] = std::move(*top_);
        top_ = std::move(above);
        root_ = climb(0, root_, std::array<sha256_digest, 4>{});
    }
}

void id_tree::shrink() noexcept {
    while (top_ && levels_ > 1 && top_->present == 1) {
        root_ = top_->digests[0];
        *top_ = page(std::move(top_->below[0]));
        --levels_;
    }
    if (!top_ || top_->present != 0) return;
    top_.reset();
    levels_ = 0;
    root_ = no_digest;
}

sha256_digest id_tree::leaf(std::uint32_t id) const noexcept {
    if (!reaches(id)) return no_digest;
    const page* at = top_.get();
    for (unsigned level = levels_ - 1; level != 0; --level) {
        const unsigned place = place_of(id, level);
        if (!at->has(place)) return no_digest;
        at = &at->below[at->index_of(place)];
    }
    return at->at(place_of(id, 0));
}

merkle_path id_tree::path(std::uint32_t id) const {
    std::array<const page*, most_levels> pages{};
    const page* next = top_.get();
    for (unsigned level = levels_; level-- != 0;) {
        pages[level] = next;
        const unsigned place = place_of(id, level);
        next =
            level != 0 && next && next->has(place) ? &next->below[next->index_of(place)] : nullptr;
    }
    merkle_path path;
    path.reserve(height());
    for (unsigned level = 0; level < levels_; ++level) {
        if (!pages[level]) {
            path.insert(path.end(), 4, no_digest);
            continue;
        }
        const page& of = *pages[level];
        const auto two = [&](unsigned i) { return digest_of_pair(of.at(2 * i), of.at(2 * i + 1)); };
        const auto four = [&](unsigned i) {
            return of.has_sums ? of.sums_here()[i] : digest_of_pair(two(2 * i), two(2 * i + 1));
        };
        const auto eight = [&](unsigned i) {
            return of.has_sums ? of.sums_here()[4 + i]
                               : digest_of_pair(four(2 * i), four(2 * i + 1));
        };
        const unsigned place = place_of(id, level);
        path.push_back(of.at(place ^ 1));
        path.push_back(two(place / 2 ^ 1));
        path.push_back(four(place / 4 ^ 1));
        path.push_back(eight(place / 8 ^ 1));
    }
    return path;
}

void id_tree::each(const std::function<void(std::uint32_t, const sha256_digest&)>& visit) const {
    const auto walk = [&](const auto& self, const page& of, unsigned level,
                          std::uint64_t first) -> void {
        for (unsigned place = 0; place < places; ++place) {
            if (!of.has(place)) continue;
            const std::uint64_t id = first + (std::uint64_t{place} << (4 * level));
            if (level == 0)
                visit(static_cast<std::uint32_t>(id), of.at(place));
            else
                self(self, of.below[of.index_of(place)], level - 1, id);
        }
    };
    if (top_) walk(walk, *top_, levels_ - 1, 0);
}

/// Of two pages of one level; null: there is none.
void id_tree::differences(const page* a, const page* b, unsigned level, std::uint64_t first,
                          const std::function<void(std::uint32_t)>& visit) {
    for (unsigned place = 0; place < places; ++place) {
        const auto digest = [&](const page* of) { return of ? of->at(place) : no_digest; };
        if (digest(a) == digest(b)) continue;
        const std::uint64_t id = first + (std::uint64_t{place} << (4 * level));
        const auto below = [&](const page* of) {
            return of && of->has(place) ? &of->below[of->index_of(place)] : nullptr;
        };
        if (level == 0)
            visit(static_cast<std::uint32_t>(id));
        else
            differences(below(a), below(b), level - 1, id, visit);
    }
}

void id_tree::differences(const id_tree& a, const id_tree& b,
                          const std::function<void(std::uint32_t)>& visit) {
    const id_tree& high = a.levels_ < b.levels_ ? b : a;
    const id_tree& low = a.levels_ < b.levels_ ? a : b;
    if (high.levels_ == 0) return;
    // From its root on the way down to the lower one's, the higher tree has it at place 0.
    const auto walk = [&](const auto& self, const page* of, unsigned level) -> void {
        if (level + 1 == low.levels_ || low.levels_ == 0)
            return differences(of, low.top_.get(), level, 0, visit);
        self(self, of && of->has(0) ? &of->below[0] : nullptr, level - 1);
        for (unsigned place = 1; of && place < places; ++place)
            if (of->has(place))
                differences(&of->below[of->index_of(place)], nullptr, level - 1,
                            std::uint64_t{place} << (4 * level), visit);
    };
    walk(walk, high.top_.get(), high.levels_ - 1);
}

std::uint64_t id_tree::bytes() const noexcept {
    const auto sum = [](const auto& self, const page& of) -> std::uint64_t {
        std::uint64_t bytes =
            sizeof(sha256_digest) * (of.capacity + (of.capacity > most_without_sums ? sums : 0));
        if (!of.below) return bytes;
        bytes += of.capacity * sizeof(page);
        for (unsigned i = 0; i < count_of(of.present); ++i)
            bytes += self(self, of.below[i]);
        return bytes;
    };
    return top_ ? sizeof(page) + sum(sum, *top_) : 0;
}

} // namespace chainbase::state_root
