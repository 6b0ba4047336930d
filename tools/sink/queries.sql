-- What people ask a social chain, over all shards: with psql at the database of chainbase-sink
-- coordinator, or by tools/sink-demo.sh queries. Votes are distributed by their voter.

-- Who has most?
SELECT name, balance FROM chainbase.account ORDER BY balance DESC, name LIMIT 5;

-- The posts of one author that were paid most.
SELECT permlink, author_payout + curator_payout AS payout FROM chainbase.comment
WHERE author = (SELECT author FROM chainbase.comment ORDER BY author_payout DESC, author LIMIT 1)
ORDER BY payout DESC, permlink LIMIT 5;

-- Who votes most for whose posts?
SELECT v.voter, c.author, count(*), sum(v.rshares)
FROM chainbase.vote v JOIN chainbase.comment c ON c.id = v.comment
GROUP BY v.voter, c.author ORDER BY count(*) DESC, v.voter, c.author LIMIT 5;

-- How far is each shard?
SELECT shard, is_ready, revision FROM chainbase_sink.progress ORDER BY shard;

-- Two accounts by their ids: only shards that have one are asked.
SELECT id, name, posts, votes FROM chainbase.account WHERE id IN (1, 2);

-- For whose posts did one person vote? All these votes are in one shard.
SELECT c.author, count(*) FROM chainbase.vote v JOIN chainbase.comment c ON c.id = v.comment
WHERE v.voter = 4600 GROUP BY c.author ORDER BY count(*) DESC, c.author LIMIT 5;
