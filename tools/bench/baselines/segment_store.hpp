#pragma once

#include <tools/bench/account_store.hpp>
#include <tools/bench/baselines/account_table.hpp>

#include <boost/interprocess/managed_mapped_file.hpp>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>

namespace chainbase::bench {

/// A mapped file of Boost.Interprocess, large enough from the start that it never grows during a
/// measurement. Sparse: only touched pages take space.
///
/// Two settings are better than the defaults, so that the engines built on it are not handicapped:
/// no lock around each allocation (one thread uses it), and huge pages are requested.
class mapped_segment {
public:
    using file = boost::interprocess::basic_managed_mapped_file<
        char, boost::interprocess::rbtree_best_fit<boost::interprocess::null_mutex_family>,
        boost::interprocess::iset_index>;
    using manager = file::segment_manager;

    explicit mapped_segment(const store_options& options)
        : mapped_segment(options.directory, bytes_for(options)) {}

    /// In a file of `bytes` in the folder.
    mapped_segment(const std::filesystem::path& directory, std::size_t bytes)
        : file_(boost::interprocess::create_only, (directory / "segment").c_str(), bytes) {
        madvise(file_.get_address(), file_.get_size(), MADV_HUGEPAGE);
    }

    [[nodiscard]] manager* get() noexcept { return file_.get_segment_manager(); }

    /// Allocated bytes, including the allocator's headers.
    [[nodiscard]] std::uint64_t used_bytes() const {
        return file_.get_size() - file_.get_free_memory();
    }

    /// Effects: constructs an anonymous object. Returns: a reference valid while the segment is
    /// mapped; the object is dropped with the file, not destroyed.
    template <typename Object, typename... Arguments>
    Object& make(Arguments&&... arguments) {
        return *file_.construct<Object>(boost::interprocess::anonymous_instance)(
            std::forward<Arguments>(arguments)...);
    }

    static std::size_t bytes_for(const store_options& options) {
        constexpr std::size_t per_object = 512;
        constexpr std::size_t per_type = std::size_t{1} << 20;
        return (std::size_t{64} << 20) + options.objects * per_object + options.types * per_type;
    }

private:
    file file_;
};

/// A segment as a base class, so that it is constructed before the tables in it.
struct segment_holder {
    explicit segment_holder(const store_options& options) : segment(options) {}
    mapped_segment segment;
};

/// A container of accounts in a mapped segment with the given allocator, without undo.
template <typename Container>
class segment_store : private segment_holder, public account_table<Container> {
public:
    explicit segment_store(const store_options& options)
        : segment_holder(options), account_table<Container>(segment.make<Container>(
                                       typename Container::allocator_type(segment.get()))) {}

    [[nodiscard]] std::uint64_t held_bytes() const { return segment.used_bytes(); }
};

} // namespace chainbase::bench
