#pragma once

#include <archive/store.hpp>
#include <chainbase/offline/check/state_check.hpp>

#include <vector>

namespace chainbase::archive {

/// Compares the rows of an archive with the state that it belongs to, without the headers of the
/// program that wrote both. Adds a part for each table to `to`:
///  - every row can be read, and decoded as the catalogue describes its type;
///  - every entry of a key leads to a row, every row of a life cycle is led to by one entry of each
///    key, and there are as many rows as are counted;
///  - every object that was handed over (entries of `<type>.retired` that were given and are gone,
///    less those of `<type>.withdrawn`) has a row, and its keys pass `<type>.filter`;
///  - an object that is retired and still in memory has the same content in its row;
///  - none that was removed (`<type>.removed`) is in memory;
///  - what require_tables() says.
///
/// A row of an object that is in memory and not retired is no contradiction: the archive may be
/// ahead of the state (after a restore), and memory is asked first. Such rows are counted.
///
/// Damage of the store that it throws is a finding; what else it throws is thrown. For one thread,
/// with nobody writing.
void check_rows(const check::state_check& state, const store& rows, check::part_report& to);

/// The same of rows that are in the state itself (memory_store), which are checked as its objects:
/// whether there are as many as were handed over.
void check_rows_in_memory(const check::state_check& state, check::part_report& to);

/// Adds a part with a finding to `to` for each type that handed objects over and is not among
/// `tables`, which are none if there is no archive.
void require_tables(const check::state_check& state, const std::vector<table_description>& tables,
                    check::part_report& to);

} // namespace chainbase::archive
