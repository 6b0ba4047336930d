-- What people ask a social chain, over all shards (chainbase-sink coordinator).
SET search_path = chainbase;

-- Who has most?
SELECT name, balance FROM account ORDER BY balance DESC, name LIMIT 5;

-- The posts of an author that were paid most.
SELECT permlink, author_payout + curator_payout AS payout FROM comment
WHERE author = (SELECT author FROM comment ORDER BY author_payout DESC, author LIMIT 1)
ORDER BY payout DESC, permlink LIMIT 5;

-- The votes of one person on another's posts.
SELECT v.voter, c.author, count(*), sum(v.rshares) FROM vote v JOIN comment c ON c.id = v.comment
GROUP BY v.voter, c.author ORDER BY count(*) DESC, v.voter, c.author LIMIT 5;

-- How far is each shard?
SELECT shard, is_ready, revision FROM chainbase_sink.progress ORDER BY shard;

-- One account by its id: one shard is asked.
EXPLAIN (COSTS OFF) SELECT * FROM account WHERE id = 1;
