#pragma once

#include <chainbase/checkpoint/service.hpp>
#include <chainbase/segment.hpp>

/// What the files of class segment have in common.
namespace chainbase::detail {

inline constexpr std::uint32_t first_type_window =
    size_classes::first_window + size_classes::window_count;

} // namespace chainbase::detail

namespace chainbase {

struct segment::checkpoint_maker {
    checkpoint_maker(segment& of)
        : catalogue(of.catalogue_.text()), maker(of.checkpoint_disk(), of.checkpoint_folder(),
                                                 of.header().identity, of.addresses_->pages()),
          service(
              maker, [&of] { return captured(of); }, *of.log_, of.options_.checkpoints, *of.before_,
              redo_log_of(of)) {}

    std::unique_ptr<checkpoint::redo_log> redo_log_of(const segment& of) {
        if (of.options_.promise != durability::commit) return nullptr;
        checkpoint::redo_log::stand from = checkpoint::redo_log::stand::of(maker.done());
        const checkpoint::publication* newest = maker.done().newest();
        if (newest && newest->generation != of.found_.generation)
            from.next = checkpoint::redo_log::nowhere;
        return std::make_unique<checkpoint::redo_log>(of.checkpoint_disk(), of.checkpoint_folder(),
                                                      of.header().identity, *of.addresses_,
                                                      *of.log_, *of.before_, from);
    }

    static checkpoint::checkpointer::source captured(const segment& of) {
        checkpoint::checkpointer::source now;
        of.each_window([&](const window& file) {
            if (&file != of.log_file_.get()) now.windows.push_back(&file);
        });
        now.log = of.log_.get();
        now.catalogue = of.checkpoints_->catalogue;
        now.window_bytes = of.header().window_bytes;
        now.windows_reserved = of.header().windows;
        return now;
    }

    std::string catalogue; ///< as it is written; captures come more often than types
    checkpoint::checkpointer maker;
    checkpoint::service service;
};

template <typename Visitor>
void segment::each_window(Visitor&& visit) const {
    visit(*log_file_);
    buffers_->each_window(visit);
    for (const auto& type : types_) {
        visit(*type->objects);
        visit(*type->ids);
        for (const auto& table : type->tables)
            visit(*table);
    }
}

} // namespace chainbase
