#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace chainbase::test {

/// Asks the kernel which pages of some ranges were written (PAGEMAP_SCAN with asynchronous write
/// protection, Linux 6.7 or later).
class page_scan {
public:
    using range = std::pair<const std::byte*, std::size_t>;

    /// Null when the kernel or the permissions do not allow it.
    static std::unique_ptr<page_scan> over(std::vector<range> ranges);
    ~page_scan();
    page_scan(const page_scan&) = delete;
    page_scan& operator=(const page_scan&) = delete;

    /// The pages written since the last call, which is forgotten by it.
    std::set<const std::byte*> take_written();

private:
    page_scan() = default;

    int faults_ = -1;
    int pagemap_ = -1;
    std::vector<range> ranges_;
};

} // namespace chainbase::test
