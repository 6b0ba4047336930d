#pragma once

#include <chainbase/database.hpp>
#include <chainbase/statistics.hpp>
#include <pool_allocator/base/error.hpp>

#include <tests/support/mismatch.hpp>
#include <tests/support/modelled_type.hpp>
#include <tests/support/sample_rules.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace chainbase::test {

/// The model of the objects of one type: copies outside the segment, by id.
template <typename T>
using rows = std::map<std::uint32_t, T>;

using ids = std::vector<std::uint32_t>;

/// The ids of [from, to), in ascending order.
template <typename Iterator>
ids sorted_ids(Iterator from, Iterator to) {
    ids found;
    for (; from != to; ++from)
        found.push_back((*from).id.value);
    std::sort(found.begin(), found.end());
    return found;
}

/// The ids of the rows for which `holds`, in ascending order.
template <typename T, typename Predicate>
ids ids_where(const rows<T>& all, Predicate holds) {
    ids found;
    for (const auto& [id, row] : all)
        if (holds(row)) found.push_back(id);
    return found;
}

/// Compares an ordered or ranked key with the model: order both ways, every lookup, equal ranges,
/// bounds and ranks. values(row): a tuple of what the key is looked up by; order(row): one that
/// stands in the key's order in plain terms.
template <typename Tag, typename T, typename Values, typename Order>
void check_ordered(const database& db, const rows<T>& all, const std::vector<T>& probes,
                   Values values_of, Order order) {
    const auto less = [&](const T& a, const T& b) { return order(a) < order(b); };
    const std::string key = key_name<key_called<T, Tag>>();
    const auto view = db.view<T, Tag>();
    expect(view.size() == all.size(), key + ": size");
    expect(view.empty() == all.empty(), key + ": empty");

    std::vector<const T*> expected;
    for (const auto& [id, row] : all)
        expected.push_back(&row);
    std::stable_sort(expected.begin(), expected.end(),
                     [&](const T* a, const T* b) { return less(*a, *b); });
    ids forward;
    std::vector<std::size_t> places(expected.size());
    for (auto at = view.begin(); at != view.end(); ++at) {
        expect(forward.size() < expected.size(), key + ": iteration does not end");
        const T& wanted = *expected[forward.size()];
        expect(!less(wanted, *at) && !less(*at, wanted), key + ": order");
        if constexpr (is_ranked(key_called<T, Tag>::kind)) {
            expect(view.rank(at) == forward.size(), key + ": rank");
            expect(view.nth(forward.size()) == at, key + ": nth");
        }
        forward.push_back((*at).id.value);
    }
    expect(forward.size() == expected.size(), key + ": iteration ends early");
    if constexpr (is_ranked(key_called<T, Tag>::kind))
        expect(view.nth(expected.size()) == view.end(), key + ": nth beyond the last");
    ids backward;
    for (auto at = view.rbegin(); at != view.rend(); ++at)
        backward.push_back((*at).id.value);
    std::reverse(backward.begin(), backward.end());
    expect(forward == backward, key + ": backward iteration");

    const auto check_lookup = [&](const T& row) {
        const auto equal = [&](const T& other) { return !less(row, other) && !less(other, row); };
        const auto first = std::find_if(expected.begin(), expected.end(),
                                        [&](const T* other) { return !less(*other, row); });
        std::size_t group = 0;
        while (first + static_cast<std::ptrdiff_t>(group) != expected.end() &&
               equal(**(first + static_cast<std::ptrdiff_t>(group))))
            ++group;
        const auto before = static_cast<std::size_t>(first - expected.begin());
        const auto look = [&](const auto&... values) {
            const T* found = view.find(values...);
            expect((found != nullptr) == (group != 0), key + ": find");
            const auto lower = view.lower_bound(values...);
            const auto range = view.equal_range(values...);
            expect(range.begin() == lower && range.end() == view.upper_bound(values...),
                   key + ": bounds");
            expect(before == forward.size() ? lower == view.end()
                                            : (*lower).id.value == forward[before],
                   key + ": lower bound");
            if (found) {
                expect(equal(*found), key + ": find gives another");
                ids wanted(forward.begin() + static_cast<std::ptrdiff_t>(before),
                           forward.begin() + static_cast<std::ptrdiff_t>(before + group));
                std::sort(wanted.begin(), wanted.end());
                ids model;
                for (std::size_t i = 0; i < group; ++i)
                    model.push_back(expected[before + i]->id.value);
                std::sort(model.begin(), model.end());
                expect(wanted == model, key + ": objects of one value");
                expect(sorted_ids(range.begin(), range.end()) == wanted, key + ": equal range");
                expect(view.iterator_to(*found) != view.end(), key + ": iterator_to");
            } else {
                expect(range.empty(), key + ": range of an absent value");
            }
        };
        std::apply(look, values_of(row));
    };
    for (const T* row : expected)
        check_lookup(*row);
    for (const T& probe : probes)
        check_lookup(probe);
}

template <typename Tag, typename T, typename Values>
void check_ordered(const database& db, const rows<T>& all, const std::vector<T>& probes,
                   Values values_of) {
    check_ordered<Tag>(db, all, probes, values_of, values_of);
}

/// Compares a hashed key with the model: every lookup, equal ranges, the visit of all.
template <typename Tag, typename T, typename Values>
void check_hashed(const database& db, const rows<T>& all, const std::vector<T>& probes,
                  Values values_of) {
    const auto equal = [&](const T& a, const T& b) { return values_of(a) == values_of(b); };
    const std::string key = key_name<key_called<T, Tag>>();
    const auto view = db.view<T, Tag>();
    expect(view.size() == all.size(), key + ": size");
    ids visited;
    for (const T& object : view)
        visited.push_back(object.id.value);
    std::sort(visited.begin(), visited.end());
    expect(visited == ids_where(all, [](const T&) { return true; }), key + ": visit of all");

    std::size_t distinct = 0;
    const auto check_lookup = [&](const T& row, bool present) {
        const ids wanted = ids_where(all, [&](const T& other) { return equal(row, other); });
        if (present && wanted.front() == row.id.value) ++distinct;
        const auto look = [&](const auto&... values) {
            const T* found = view.find(values...);
            expect((found != nullptr) == !wanted.empty(), key + ": find");
            expect(!found || equal(*found, row), key + ": find gives another");
            const auto group = view.equal_range(values...);
            expect(group.empty() == wanted.empty(), key + ": empty group");
            expect(sorted_ids(group.begin(), group.end()) == wanted, key + ": equal range");
        };
        std::apply(look, values_of(row));
    };
    for (const auto& [id, row] : all)
        check_lookup(row, true);
    expect(view.distinct() == distinct, key + ": distinct values");
    for (const T& probe : probes)
        check_lookup(probe, false);
}

/// What a modifier throws half way.
struct interrupted {};

/// Compares the keys of T; one per type, in its translation unit.
template <typename T>
void check_keys(const database& db, const rows<T>& all, const std::vector<T>& probes);

template <typename T>
class typed_model final : public modelled_type {
    using rule = rules<T>;

    struct state {
        rows<T> all;
        std::uint32_t next_id = 0;
    };

public:
    void add_to(database& db) override { db.add_type<T>(rule::name); }

    void read(const database& db) override {
        now_ = {};
        saved_.clear();
        for (const T& object : db.objects<T>())
            now_.all.emplace(object.id.value, object);
        for (const type_statistics& type : db.types())
            if (type.name == rule::name) now_.next_id = static_cast<std::uint32_t>(type.next_id);
        peak_ = std::max(peak_, now_.all.size());
    }

    change_result change(database& db, random_source& random, const change_options& how) override {
        follow(how);
        const bool clears = random.below(50 * how.objects) == 0;
        const std::uint32_t what = random.below(1000);
        const bool few = now_.all.size() < how.objects;
        const std::uint32_t modifying = few ? 250 : how.modifies;
        const std::uint32_t creating = few ? 600 : (1000 - modifying) * 2 / 5;
        if (clears) {
            tell("clear", now_.all.size(), " objects");
            db.clear<T>();
            now_.all.clear();
            return change_result::done;
        }
        if (now_.all.empty() || what < creating) return create(db, random);
        return what < creating + modifying ? modify(db, random) : remove(db, random);
    }

    void fill(database& db, random_source& random, const change_options& how) override {
        follow(how);
        while (now_.all.size() < how.objects)
            (void)create(db, random);
    }

    void check(const database& db, random_source& random) const override {
        expect(db.count<T>() == now_.all.size(), std::string(rule::name) + ": count");
        auto wanted = now_.all.begin();
        for (const T& object : db.objects<T>()) {
            expect(wanted != now_.all.end() && is_same(object, wanted->second),
                   std::string(rule::name) + ": objects by id");
            ++wanted;
        }
        expect(wanted == now_.all.end(), std::string(rule::name) + ": objects by id end early");
        check_id(db, now_.next_id);
        check_id(db, now_.next_id + 1);
        for (int i = 0; i < 64; ++i) // of all ids ever given, most are gone
            check_id(db, random.below(now_.next_id + 1));
        for (const auto& [id, row] : now_.all)
            check_id(db, id);
        std::vector<T> probes(4);
        for (T& probe : probes)
            rule::fill(probe, random, domain_ + 2);
        try {
            check_keys<T>(db, now_.all, probes);
        } catch (const mismatch& e) {
            throw mismatch(std::string(rule::name) + ": " + e.what());
        }
    }

    void check_changes(const database& db, revision_number revision,
                       std::size_t level) const override {
        const rows<T>& then = saved_.at(saved_.size() - 1 - level).all;
        std::set<std::uint32_t> met;
        for (const chainbase::change<T>& change : db.changes(revision).of<T>()) {
            const auto before = then.find(change.id.value);
            const auto after = now_.all.find(change.id.value);
            const std::string where =
                std::string(rule::name) + ": changes of " + std::to_string(change.id.value) + ": ";
            expect(met.insert(change.id.value).second, where + "listed twice");
            expect((change.kind == change_kind::created) == (before == then.end()), where + "kind");
            expect((change.kind == change_kind::removed) == (after == now_.all.end()),
                   where + "kind");
            expect(change.before.has_value() == (before != then.end()), where + "before-image");
            expect(!change.before || is_same(*change.before, before->second),
                   where + "before-image is another");
            expect((change.now != nullptr) == (after != now_.all.end()), where + "object");
            expect(!change.now || is_same(*change.now, after->second), where + "another object");
        }
        for (const auto& [id, row] : now_.all) {
            const auto before = then.find(id);
            const bool changed = before == then.end() || !is_same(before->second, row);
            expect(!changed || met.contains(id),
                   std::string(rule::name) + ": a change is not listed");
        }
        for (const auto& [id, row] : then)
            expect(now_.all.contains(id) || met.contains(id),
                   std::string(rule::name) + ": a removal is not listed");
    }

    void start() override { saved_.push_back(now_); }
    void undo() override {
        now_ = std::move(saved_.back());
        saved_.pop_back();
    }
    void squash() override { saved_.pop_back(); }
    void forget_oldest() override { saved_.erase(saved_.begin()); }

    [[nodiscard]] std::size_t peak() const override { return peak_; }
    void add_digest(digest& d) const override {
        d.add(std::string_view(rule::name));
        for (const auto& [id, row] : now_.all) {
            d.add(id);
            add_values(d, row);
        }
    }

private:
    void follow(const change_options& how) {
        domain_ = how.objects * how.spread;
        interrupts_ = how.interrupts;
        tell_ = how.tell ? &how.tell : nullptr;
    }
    void tell(const char* what, std::uint64_t number, const char* more = "") const {
        if (tell_)
            (*tell_)(std::string(what) + " " + rule::name + " " + std::to_string(number) + more);
    }
    void check_id(const database& db, std::uint32_t id) const {
        const T* found = db.find(chainbase::id<T>(id));
        const auto row = now_.all.find(id);
        expect((found != nullptr) == (row != now_.all.end()),
               std::string(rule::name) + ": find by id");
        expect(!found || is_same(*found, row->second),
               std::string(rule::name) + ": find by id gives another");
    }
    /// The unique keys of `row` that other objects have.
    [[nodiscard]] std::vector<std::string> taken_keys(const T& row) const {
        std::vector<std::string> taken;
        for (const auto& [id, other] : now_.all) {
            if (id == row.id.value) continue;
            for (std::string& key : rule::collisions(row, other))
                taken.push_back(std::move(key));
        }
        return taken;
    }
    /// Runs `call`, which must be refused exactly when `taken` is not empty or it is interrupted.
    template <typename Call>
    static change_result attempt(const std::vector<std::string>& taken, bool interrupts,
                                 Call&& call) {
        try {
            call();
        } catch (const interrupted&) {
            expect(interrupts, "an exception nobody threw");
            return change_result::refused;
        } catch (const duplicate_key_error& e) {
            const std::string text = e.what();
            expect(!interrupts && std::any_of(taken.begin(), taken.end(),
                                              [&](const std::string& key) {
                                                  return text.find(key) != std::string::npos;
                                              }),
                   "refused for the wrong reason: " + text);
            expect(text.find(rule::name) == 0, "the type is not named: " + text);
            return change_result::refused;
        }
        expect(!interrupts && taken.empty(), std::string(rule::name) + ": a taken key was given");
        return change_result::done;
    }
    const T& any(const database& db, random_source& random) const {
        auto at = now_.all.lower_bound(random.below(now_.next_id));
        if (at == now_.all.end()) at = now_.all.begin();
        return db.get(chainbase::id<T>(at->first));
    }

    change_result create(database& db, random_source& random) {
        const bool interrupts = random.chance(interrupts_);
        random_source same = random;
        T row{};
        row.id = chainbase::id<T>(now_.next_id);
        rule::fill(row, random, domain_);
        tell("create", now_.next_id, interrupts ? ", interrupted" : "");
        const change_result result = attempt(taken_keys(row), interrupts, [&] {
            const T& made = db.create<T>([&](T& object) {
                rule::fill(object, same, domain_);
                if (interrupts) throw interrupted();
            });
            expect(made.id == row.id, std::string(rule::name) + ": id of a new object");
        });
        if (result == change_result::done) now_.all.emplace(now_.next_id++, std::move(row));
        peak_ = std::max(peak_, now_.all.size());
        return result;
    }

    change_result modify(database& db, random_source& random) {
        const T& object = any(db, random);
        const bool interrupts = random.chance(interrupts_);
        const bool keys = random.chance(600);
        random_source same = random;
        T row = now_.all.at(object.id.value);
        change_some(row, random, keys);
        tell(keys ? "modify keys of" : "modify", row.id.value, interrupts ? ", interrupted" : "");
        const change_result result = attempt(taken_keys(row), interrupts, [&] {
            db.modify(object, [&](T& target) {
                change_some(target, same, keys);
                if (interrupts) throw interrupted();
            });
        });
        if (result == change_result::done) now_.all.at(row.id.value) = std::move(row);
        return result;
    }
    void change_some(T& object, random_source& random, bool keys) const {
        if (keys)
            rule::change_key(object, random, domain_);
        else
            rule::change_value(object, random);
    }

    change_result remove(database& db, random_source& random) {
        const T& object = any(db, random);
        const std::uint32_t id = object.id.value;
        tell("remove", id);
        db.remove(object);
        now_.all.erase(id);
        return change_result::done;
    }

    state now_;
    std::vector<state> saved_;
    std::size_t peak_ = 0;
    const std::function<void(std::string)>* tell_ = nullptr;
    std::uint32_t domain_ = 64;
    std::uint32_t interrupts_ = 0;
};

} // namespace chainbase::test
