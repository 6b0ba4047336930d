#pragma once

namespace chainbase::archive {

class store;
class write_batch;
class statistics;
class statistics_page;
class latency_histogram;
class pinned_row;
class row_cursor;
class key_cursor;
struct store_options;
struct table_id;
struct table_description;
struct secondary_key;
enum class store_kind;
template <typename T>
class record_view;

} // namespace chainbase::archive
