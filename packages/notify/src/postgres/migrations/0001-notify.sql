-- The schema of the notification service.
--
-- Every table that belongs to a user begins its key with `bucket`, a fixed hash of the user, so that a hot statement
-- stays on one node of a distributed database. Tables without a bucket are small, or are read by no hot statement.
-- Columns stand in the order in which PostgreSQL stores them.

-- ---------------------------------------------------------------------------------------------------------------------
-- Properties of the database and what configuration declares. Small tables that every node may copy.

CREATE TABLE notify.property (
  name text PRIMARY KEY,
  value bigint NOT NULL
);
INSERT INTO notify.property (name, value) VALUES ('settings_version', 1);

-- One row for each bucket. On a distributed engine a statement that inserts rows of parameters joins it, so that the
-- engine sees on which node they are.
CREATE TABLE notify.bucket_anchor (
  bucket smallint PRIMARY KEY
);

-- What the configuration file declared when it was last applied, so that only what was edited is written again.
CREATE TABLE notify.declared (
  kind text,
  id text,
  checksum text NOT NULL,
  -- Unix milliseconds; what was changed later differs from the file
  applied_at bigint NOT NULL,
  in_file boolean NOT NULL DEFAULT true,
  PRIMARY KEY (kind, id)
);

-- Secrets of the service's own, sealed with the encryption key. What is signed with them outlives that key.
CREATE TABLE notify.sealed_secret (
  name text PRIMARY KEY,
  sealed text NOT NULL
);

-- ---------------------------------------------------------------------------------------------------------------------
-- Who works in which bucket.

-- The processes that run workers. Each makes its row last longer while it lives; who finds one expired removes it, and
-- with it the right to its leases. One that has lost the topic reads it no more once another that reaches it has seen that.
CREATE TABLE notify.worker_process (
  id uuid PRIMARY KEY,
  expires_at timestamptz NOT NULL,
  reads_topic boolean NOT NULL,
  lost_topic boolean NOT NULL
);

-- One row, raised whenever a process comes or goes, or begins or ceases to read the topic: of two that know different
-- processes, the one with the greater number knows those of later.
CREATE TABLE notify.worker_generation (
  generation bigint NOT NULL
);
INSERT INTO notify.worker_generation (generation) VALUES (0);

-- The process that works in a bucket. The lease is free where no such process is known. Each change of owner raises
-- `fence`.
CREATE TABLE notify.bucket_lease (
  bucket smallint PRIMARY KEY,
  owner uuid,
  fence bigint NOT NULL
);

-- ---------------------------------------------------------------------------------------------------------------------
-- Catalog: event types and templates. Every process keeps them in memory and reads them again when `settings_version`
-- changes.

CREATE TABLE notify.event_type (
  event text PRIMARY KEY,
  settings jsonb NOT NULL,
  updated_at timestamptz NOT NULL
);

CREATE TABLE notify.template (
  template_id text,
  channel text,
  locale text,
  version integer,
  subject text,
  body text NOT NULL,
  html text,
  created_at timestamptz NOT NULL,
  -- who wrote it; none for a text of the configuration
  created_by text,
  comment text,
  PRIMARY KEY (template_id, channel, locale, version)
);

CREATE TABLE notify.published_template (
  template_id text,
  channel text,
  locale text,
  version integer NOT NULL,
  published_at timestamptz NOT NULL,
  PRIMARY KEY (template_id, channel, locale)
);

-- Data that authors try a template with.
CREATE TABLE notify.template_sample (
  template_id text PRIMARY KEY,
  samples jsonb NOT NULL,
  updated_at timestamptz NOT NULL
);

-- Short links in SMS, push and in-app messages. The remainder of an id names its bucket.
CREATE TABLE notify.short_link (
  bucket smallint NOT NULL,
  -- compared byte by byte: ids are random, and a linguistic order costs more
  id text COLLATE "C",
  delivery_id uuid NOT NULL,
  user_id text NOT NULL,
  target text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, id)
);
-- for erasure
CREATE INDEX short_link_user ON notify.short_link (bucket, user_id);
-- for retention
CREATE INDEX short_link_expires_at ON notify.short_link (bucket, expires_at);

-- ---------------------------------------------------------------------------------------------------------------------
-- Users: where they can be reached, and what they want.

CREATE TABLE notify.recipient (
  bucket smallint NOT NULL,
  user_id text,
  email text,
  phone_number text,
  locale text,
  zoneinfo text,
  updated_at timestamptz NOT NULL,
  -- What the feed of another service last contained: an edit by API stands until the feed changes that very field.
  last_feed jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (bucket, user_id)
);
-- for searches of the management, in every bucket
CREATE INDEX recipient_email ON notify.recipient (lower(email)) WHERE email IS NOT NULL;
CREATE INDEX recipient_phone_number ON notify.recipient (phone_number) WHERE phone_number IS NOT NULL;
CREATE INDEX recipient_user ON notify.recipient (user_id text_pattern_ops);

CREATE TABLE notify.preference (
  bucket smallint NOT NULL,
  user_id text,
  event_type text,
  channels text[],
  quiet_start text,
  quiet_end text,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, user_id, event_type)
);

CREATE TABLE notify.device (
  bucket smallint NOT NULL,
  user_id text,
  device_id text,
  token text NOT NULL,
  service text NOT NULL,
  registered_at timestamptz NOT NULL,
  dead_at timestamptz,
  dead_reason text,
  PRIMARY KEY (bucket, user_id, device_id)
);
-- for retention: dead devices alone
CREATE INDEX device_dead ON notify.device (bucket, dead_at) WHERE dead_at IS NOT NULL;

-- The owner of a push token, by the token's hash (SHA-256, hexadecimal). The bucket is that of the hash, since a token
-- may change its user. Registering a token replaces its owner and returns the former one, in one statement.
CREATE TABLE notify.push_token (
  bucket smallint NOT NULL,
  token_hash text,
  user_id text NOT NULL,
  device_id text NOT NULL,
  former_user_id text,
  former_device_id text,
  PRIMARY KEY (bucket, token_hash)
);
-- for erasure: the tokens of a user are in any bucket
CREATE INDEX push_token_user ON notify.push_token (user_id);

-- A suppression applies to one event type or to all (`*`), to one address or to every address of the user (`*`), and
-- may expire. Each reason is a row of its own, so that lifting one leaves the others.
CREATE TABLE notify.suppression (
  bucket smallint NOT NULL,
  user_id text,
  channel text,
  address text,
  reason text NOT NULL,
  since timestamptz NOT NULL,
  id uuid NOT NULL,
  scope text NOT NULL DEFAULT '*',
  expires_at timestamptz,
  detail text,
  PRIMARY KEY (bucket, user_id, channel, address, scope, reason)
);
CREATE UNIQUE INDEX suppression_id ON notify.suppression (bucket, id);
-- for retention
CREATE INDEX suppression_expires_at ON notify.suppression (bucket, expires_at) WHERE expires_at IS NOT NULL;

-- ---------------------------------------------------------------------------------------------------------------------
-- Admission. It decides on what it read before, without a lock, and writes only if none of that has changed since.

-- One row per user: the cap counters, and what admission compares. Whoever writes a user's dedup log locks this row
-- first and gives it another `version`. `generation` stays as long as the row does, so that a user who was erased and
-- came back is not mistaken for the one before.
CREATE TABLE notify.cap (
  bucket smallint NOT NULL,
  user_id text,
  counters jsonb NOT NULL DEFAULT '{}',
  generation uuid NOT NULL DEFAULT gen_random_uuid(),
  version uuid NOT NULL DEFAULT gen_random_uuid(),
  PRIMARY KEY (bucket, user_id)
  -- Every row is rewritten by each event of its user: with room on its page, no index is touched.
) WITH (fillfactor = 70);

-- Which notification used a dedup key, per channel.
CREATE TABLE notify.dedup_log (
  bucket smallint NOT NULL,
  user_id text,
  -- of the channel and the key, which the notification has as a text
  key_hash uuid,
  notification_id uuid NOT NULL,
  -- false while the notification is aggregated
  has_delivery boolean NOT NULL,
  recorded_at timestamptz NOT NULL,
  PRIMARY KEY (bucket, user_id, key_hash)
);
-- For retention, which reads the head of a b-tree. A BRIN would tell block ranges apart only until the space of removed
-- rows is used again; from then on every range holds old and new rows.
CREATE INDEX dedup_log_recorded_at ON notify.dedup_log (bucket, recorded_at);

CREATE TABLE notify.notification (
  bucket smallint NOT NULL,
  id uuid,
  user_id text NOT NULL,
  event text NOT NULL,
  priority text NOT NULL,
  dedup_key text,
  -- the channels that the request named, if it did
  requested text[],
  sensitive boolean NOT NULL,
  -- `json`, not `jsonb`: written once, read whole, never searched, so it need not be parsed on the way in and out
  data json,
  decisions json NOT NULL,
  accepted_at timestamptz NOT NULL,
  -- when it is not worth sending any more; null for never
  expires_at timestamptz,
  PRIMARY KEY (bucket, id)
);
-- The user first: a plan made while the table is empty must not find this as good as the primary key for its bucket.
CREATE INDEX notification_user ON notify.notification (user_id, bucket);

-- Statements that arrive together, as texts with `$1 …`, and are run within the server. `of_bucket` is null on one
-- server. On a distributed engine it is the bucket that they are about, and its node runs them on the bucket's own
-- shards: to route each of them anew takes that engine many times as long as to run it.

-- The shard of a bucket on Citus, if this node has it, alone: it stays for as long as the transaction lasts. Null
-- elsewhere.
CREATE FUNCTION notify.lock_shard(of_bucket smallint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  share_lock CONSTANT integer := 5;
  shard bigint;
BEGIN
  IF of_bucket IS NULL OR to_regproc('pg_catalog.lock_shard_metadata') IS NULL THEN
    RETURN NULL;
  END IF;
  shard := get_shard_id_for_distribution_column('notify.bucket_anchor', of_bucket);
  PERFORM lock_shard_metadata(share_lock, ARRAY[shard]);
  IF (SELECT count(*) = 1 AND bool_and(p.groupid = here.groupid)
        FROM pg_dist_placement p CROSS JOIN pg_dist_local_group here WHERE p.shardid = shard) THEN
    RETURN shard;
  END IF;
  RETURN NULL;
END $$;

-- A statement with the shards that have the rows of a bucket in the place of their tables.
CREATE FUNCTION notify.name_shards(statement text, of_bucket smallint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  placed record;
BEGIN
  FOR placed IN
    SELECT c.relname AS name,
           shard_name(p.logicalrelid, CASE p.partmethod
             WHEN 'h' THEN get_shard_id_for_distribution_column(p.logicalrelid, of_bucket)
             ELSE (SELECT s.shardid FROM pg_dist_shard s WHERE s.logicalrelid = p.logicalrelid) END) AS shard
      FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
     WHERE c.relnamespace = 'notify'::regnamespace AND (p.partmethod = 'h' OR p.repmodel = 't')
  LOOP
    statement := regexp_replace(statement, '\mnotify\.' || placed.name || '\M', placed.shard, 'g');
  END LOOP;
  RETURN statement;
END $$;

-- Has the transaction find rows by indexes alone, whatever the tables hold and the statistics say. (An assignment runs no
-- query, which takes many times as long.)
CREATE FUNCTION notify.use_indexes() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ignored text;
BEGIN
  ignored := set_config('jit', 'off', true) || set_config('enable_seqscan', 'off', true) || set_config('enable_bitmapscan', 'off', true)
    || set_config('enable_hashjoin', 'off', true) || set_config('enable_mergejoin', 'off', true);
END $$;

-- The tables whose rows a plan of the statement looks for by their indexes; none where it says that it has one plan.
CREATE FUNCTION notify.tables_looked_up(statement text) RETURNS oid[] LANGUAGE sql AS $$
  SELECT coalesce(array_agg(DISTINCT named.id), '{}')
    FROM (SELECT to_regclass('notify.' || found[1])::oid AS id
            FROM regexp_matches(statement, '(?<!INTO )notify\.(\w+)', 'g') AS found) AS named
   WHERE statement NOT LIKE '%/* one plan */%'
     AND EXISTS (SELECT FROM pg_index i WHERE i.indrelid = named.id)
$$;

-- The call of a statement without its arguments. The connection keeps it, under `name` where its shard is not named, once
-- it is prepared, and has planned: to plan takes longer than to run. Of a table that holds next to nothing every index
-- seems as good, and its first column as good as its key, so as long as there is such a one it is planned for each call.
-- That the connection keeps it is noted in a setting, with its tables, for the list of those that are kept takes long to
-- read; a transaction that fails takes the note back, and not what was prepared.
CREATE FUNCTION notify.prepared_call(name text, statement text, of_bucket smallint, shard bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  enough_bytes CONSTANT bigint := 64 * 8192;
  kept text := CASE WHEN shard IS NULL THEN name ELSE name || '_' || shard END;
  tables oid[] := nullif(current_setting('gatehouse.' || kept, true), '');
  plans text := 'force_generic_plan';
  looked_up oid;
BEGIN
  IF tables IS NULL THEN
    IF shard IS NOT NULL THEN
      statement := notify.name_shards(statement, of_bucket);
    END IF;
    IF NOT EXISTS (SELECT FROM pg_prepared_statements p WHERE p.name = kept) THEN
      EXECUTE format('PREPARE %I AS %s', kept, statement);
    END IF;
    tables := notify.tables_looked_up(statement);
    PERFORM set_config('gatehouse.' || kept, tables::text, false);
  END IF;
  IF of_bucket IS NOT NULL AND shard IS NULL THEN
    plans := 'force_custom_plan';
  END IF;
  FOREACH looked_up IN ARRAY tables LOOP
    IF pg_relation_size(looked_up) < enough_bytes THEN
      plans := 'force_custom_plan';
    END IF;
  END LOOP;
  plans := set_config('plan_cache_mode', plans, true);
  RETURN 'EXECUTE ' || kept;
END $$;

-- Runs statements in one transaction and commits it, all on one message of the client: no lock that they acquire waits
-- for another byte from it. Each statement has a name, a snapshot of its own, and its arguments, written out in brackets
-- (a text without any: nothing). A precondition returns a boolean: unless it is true nothing is written, and `failed` is
-- its position; otherwise `failed` is 0.
CREATE PROCEDURE notify.run_at_once(
  of_bucket smallint, names text[], preconditions boolean[], statements text[], arguments text[], INOUT failed integer)
LANGUAGE plpgsql AS $$
DECLARE
  shard bigint := notify.lock_shard(of_bucket);
  ignored text := notify.use_indexes();
  call text;
  passes boolean;
BEGIN
  FOR place IN 1 .. cardinality(statements) LOOP
    call := notify.prepared_call(names[place], statements[place], of_bucket, shard) || arguments[place];
    IF preconditions[place] THEN
      EXECUTE call INTO passes;
      IF passes IS NOT TRUE THEN
        ROLLBACK;
        failed := place;
        RETURN;
      END IF;
    ELSE
      EXECUTE call;
    END IF;
  END LOOP;
  COMMIT;
  failed := 0;
END $$;

-- Runs statements that return one document each, each on its own snapshot. `answers` has them with commas between.
CREATE PROCEDURE notify.read_at_once(
  of_bucket smallint, names text[], statements text[], arguments text[], INOUT answers text)
LANGUAGE plpgsql AS $$
DECLARE
  shard bigint := notify.lock_shard(of_bucket);
  ignored text := notify.use_indexes();
  call text;
  answer text;
BEGIN
  answers := NULL;
  FOR place IN 1 .. cardinality(statements) LOOP
    call := notify.prepared_call(names[place], statements[place], of_bucket, shard) || arguments[place];
    EXECUTE call INTO answer;
    answers := concat_ws(',', answers, answer);
  END LOOP;
END $$;

-- ---------------------------------------------------------------------------------------------------------------------
-- Delivery.

CREATE TABLE notify.delivery (
  bucket smallint NOT NULL,
  id uuid,
  user_id text NOT NULL,
  channel text NOT NULL,
  state text NOT NULL,
  address text,
  provider text,
  provider_message_id text,
  -- why nothing more is sent, where the state does not say so
  ended text,
  -- The entry of the timeline that says that it was sent: the row is written then anyway, and an entry of its own would
  -- cost as much again. `sent_entry` is the entry's id, `sent_detail` what is more than that the provider accepted it.
  sent_at timestamptz,
  sent_entry uuid,
  sent_attempt integer,
  sent_detail json,
  -- In the same way the entry that says that its provider delivered it, and of which report it is: a hash, as `report_key`
  -- of the timeline.
  delivered_at timestamptz,
  delivered_entry uuid,
  delivered_report uuid,
  PRIMARY KEY (bucket, id)
  -- Every row is rewritten once or more: with room on its page, no index is touched.
) WITH (fillfactor = 45);

-- Deliveries that wait or are being sent: small rows that leave when there is nothing more to do.
CREATE TABLE notify.delivery_queue (
  bucket smallint NOT NULL,
  delivery_id uuid,
  user_id text NOT NULL,
  channel text NOT NULL,
  event text NOT NULL,
  -- 0 critical, 1 normal, 2 low
  priority smallint NOT NULL,
  due_at timestamptz NOT NULL,
  lease_until timestamptz,
  attempt integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  crashes integer NOT NULL DEFAULT 0,
  sensitive boolean NOT NULL,
  message json NOT NULL,
  expires_at timestamptz,
  -- of a replay, which can be stopped: cause, detail and time of the dead letter that it was
  letter json,
  PRIMARY KEY (bucket, delivery_id)
  -- A claim and every retry rewrite the row.
) WITH (fillfactor = 45);
-- For claims. With the id at its end every row has a position of its own, from which the next claim can continue.
CREATE INDEX delivery_queue_due ON notify.delivery_queue (bucket, channel, priority, event, due_at, delivery_id);
-- For export and erasure: those of a user are found by the user's notifications, which a replay may outlive. The user
-- first, as in notification_user.
CREATE INDEX delivery_queue_replayed ON notify.delivery_queue (user_id, bucket) WHERE letter IS NOT NULL;

-- The circuit breakers of providers, shared by all processes.
CREATE TABLE notify.provider_health (
  provider text PRIMARY KEY,
  since timestamptz NOT NULL,
  calls integer NOT NULL,
  failures integer NOT NULL,
  open_until timestamptz,
  openings integer NOT NULL DEFAULT 0,
  probe_until timestamptz,
  -- by the management: until then it is not called, whatever its breaker says
  paused_until timestamptz,
  -- why it rejected our credentials or account when it was called last
  misconfigured text
);

-- The order of providers that the management chose, for all processes; without a row that of the configuration.
CREATE TABLE notify.provider_order (
  channel text PRIMARY KEY,
  providers text[] NOT NULL,
  changed_at timestamptz NOT NULL
);

-- Calls of providers by minute, kind of answer and duration: `slot` n holds those of up to 2^(n/4) milliseconds. Kept
-- for a day and written every two seconds, for who repairs; the history of 400 days is in `stat`.
CREATE TABLE notify.provider_call (
  provider text,
  at timestamptz,
  result text,
  slot smallint,
  calls integer NOT NULL,
  PRIMARY KEY (at, provider, result, slot)
);

-- What providers answered to failed calls, by what the answers have in common. Without addresses, quotes and ids.
CREATE TABLE notify.provider_error (
  provider text,
  fingerprint text,
  result text NOT NULL,
  sample text NOT NULL,
  count integer NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (provider, fingerprint)
);
-- for retention
CREATE INDEX provider_error_last_at ON notify.provider_error (last_at);

-- When providers reported last, what of theirs was refused, and what nobody proved to be theirs.
CREATE TABLE notify.provider_webhook (
  provider text PRIMARY KEY,
  accepted_at timestamptz,
  refused bigint NOT NULL DEFAULT 0,
  refused_at timestamptz,
  refusal text,
  unverified bigint NOT NULL DEFAULT 0,
  unverified_at timestamptz,
  unverified_reason text
);

-- ---------------------------------------------------------------------------------------------------------------------
-- Timeline: what happened to a notification after it was accepted, and the log of state changes for consumers.

CREATE TABLE notify.timeline_entry (
  bucket smallint NOT NULL,
  notification_id uuid,
  id uuid,
  delivery_id uuid,
  channel text,
  at timestamptz NOT NULL,
  entry_type text NOT NULL,
  state text,
  -- of a provider's report: a hash of its provider and event id, so that it counts once
  report_key uuid,
  detail json,
  PRIMARY KEY (bucket, notification_id, id)
);

-- A state change, for consumers.
CREATE TYPE notify.change AS (
  id uuid,
  -- it says the notification and the channel
  delivery_id uuid,
  at timestamptz,
  user_id text,
  -- null when the notification was removed before
  event text,
  state text,
  -- why nothing more is sent, where the state does not say so
  ended text
);

-- State changes that have no number yet: those of one transaction and bucket, in their order, are one row. As a row
-- each they took nine times as much of the log, for each was written, locked, deleted and written again, with an entry
-- in each index. One that is erased is null.
CREATE TABLE notify.outbox (
  bucket smallint NOT NULL,
  -- of the first change
  id uuid,
  changes notify.change[] NOT NULL,
  PRIMARY KEY (bucket, id)
);

-- State changes in one order, for readers that resume after the last one they have seen. Rows come from the outbox as
-- they are, are numbered under one lock, so that a number becomes visible after all lower ones, and leave by age.
CREATE TABLE notify.state_change (
  -- of the last of its changes
  sequence bigint PRIMARY KEY,
  recorded_at timestamptz NOT NULL,
  changes notify.change[] NOT NULL
);

-- The slots of the users whose changes these are: the last 16 bits of an id of theirs.
CREATE FUNCTION notify.slots_of(changes notify.change[]) RETURNS integer[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT array_agg(DISTINCT get_byte(uuid_send(c.delivery_id), 14) * 256 + get_byte(uuid_send(c.delivery_id), 15))
    FROM unnest(changes) AS c WHERE c.id IS NOT NULL
$$;
-- For export and erasure. Users share slots: an index by user would have an entry for each change.
CREATE INDEX state_change_slots ON notify.state_change USING gin (notify.slots_of(changes));

-- How far the log is: `last` is the last number assigned, up to `removed` all were removed by age, up to `published`
-- the stream of NATS has them. The holder of the lease publishes.
CREATE TABLE notify.state_change_position (
  name text PRIMARY KEY,
  sequence bigint NOT NULL,
  holder uuid,
  lease_until timestamptz
);
INSERT INTO notify.state_change_position (name, sequence) VALUES ('last', 0), ('removed', 0), ('published', 0);

-- Where the outbox is on other nodes than the log: the rows of a bucket that were numbered last, which may still be in
-- its outbox. Whoever numbers or erases changes of a bucket makes another version of it.
CREATE TABLE notify.numbered_batch (
  bucket smallint PRIMARY KEY,
  version bigint NOT NULL DEFAULT 0,
  ids uuid[] NOT NULL DEFAULT '{}'
);

-- Numbers the changes of rows (`waiting`) that were read from the outbox of a bucket while it had a version, unless it
-- has another one by now. It waits for nothing but the log.
CREATE FUNCTION notify.number_read_changes(mine smallint, known bigint, waiting json, numbered_at timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  newest bigint;
  reached bigint;
BEGIN
  UPDATE notify.numbered_batch
     SET version = version + 1,
         ids = ARRAY(SELECT c.id FROM json_to_recordset(waiting) AS c (id uuid) ORDER BY c.id)
   WHERE bucket = mine AND version = known;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  SELECT sequence INTO newest FROM notify.state_change_position WHERE name = 'last' FOR UPDATE;
  WITH inserted AS (
    INSERT INTO notify.state_change (sequence, recorded_at, changes)
    SELECT newest + sum(cardinality(w.changes)) OVER (ORDER BY w.id), numbered_at, w.changes
      FROM json_to_recordset(waiting) AS w (id uuid, changes notify.change[])
    RETURNING sequence
  ) SELECT max(sequence) INTO reached FROM inserted;
  UPDATE notify.state_change_position SET sequence = reached WHERE name = 'last';
  RETURN true;
END $$;

-- Numbers the changes of up to `max_rows` rows of the outbox, bucket by bucket, in each those with ids from its part of
-- `sinces` on, and returns how many changes. A function, so that the lock is held within the server alone: a client
-- that stops delays nobody. One statement for all buckets, planned once for each connection and by indexes alone: planned
-- for each bucket, 256 of them cost more than all else of a notification.
CREATE FUNCTION notify.number_state_changes(buckets smallint[], sinces uuid[], max_rows integer, numbered_at timestamptz)
RETURNS integer LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  newest bigint;
  reached bigint;
BEGIN
  IF NOT EXISTS (
    SELECT FROM unnest(buckets, sinces) AS b (bucket, since) CROSS JOIN LATERAL (
      SELECT FROM notify.outbox o WHERE o.bucket = b.bucket AND o.id >= b.since LIMIT 1) AS waiting
  ) THEN
    RETURN 0;
  END IF;
  SELECT sequence INTO newest FROM notify.state_change_position WHERE name = 'last' FOR UPDATE;
  WITH waiting AS MATERIALIZED (
    SELECT first.bucket, first.id FROM unnest(buckets, sinces) AS b (bucket, since) CROSS JOIN LATERAL (
      SELECT o.bucket, o.id FROM notify.outbox o WHERE o.bucket = b.bucket AND o.id >= b.since
       ORDER BY o.id LIMIT max_rows FOR UPDATE SKIP LOCKED) AS first
     LIMIT max_rows
  ), removed AS (
    DELETE FROM notify.outbox o USING waiting w WHERE o.bucket = w.bucket AND o.id = w.id
    RETURNING o.bucket, o.id, o.changes
  ), inserted AS (
    INSERT INTO notify.state_change (sequence, recorded_at, changes)
    SELECT newest + sum(cardinality(r.changes)) OVER (ORDER BY r.bucket, r.id), numbered_at, r.changes FROM removed r
    RETURNING sequence
  ) SELECT coalesce(max(sequence), newest) INTO reached FROM inserted;
  IF reached > newest THEN
    UPDATE notify.state_change_position SET sequence = reached WHERE name = 'last';
  END IF;
  RETURN reached - newest;
END $$;

-- ---------------------------------------------------------------------------------------------------------------------
-- Waiting: events and notifications whose time has not come.

CREATE TABLE notify.scheduled (
  bucket smallint NOT NULL,
  id uuid,
  user_id text NOT NULL,
  fire_at timestamptz NOT NULL,
  payload jsonb NOT NULL,
  lease_until timestamptz,
  -- `schedule`, or `topic` when it was parked
  source text NOT NULL DEFAULT 'schedule',
  -- when the event was first received: its age counts from then. Null: from when it is due.
  occurred_at timestamptz,
  -- attempts that failed because of the event itself
  failures integer NOT NULL DEFAULT 0,
  -- as that of `delivery_queue`
  letter json,
  PRIMARY KEY (bucket, id)
);
CREATE INDEX scheduled_due ON notify.scheduled (bucket, fire_at);
CREATE INDEX scheduled_user ON notify.scheduled (bucket, user_id);

-- Deliveries that are planned again: deferred by quiet hours, fallbacks, replays.
CREATE TABLE notify.deferred (
  bucket smallint NOT NULL,
  id uuid,
  notification_id uuid NOT NULL,
  user_id text NOT NULL,
  channels text[] NOT NULL,
  reason text NOT NULL,
  resume_at timestamptz NOT NULL,
  lease_until timestamptz,
  -- as that of `delivery_queue`, with the id of the letter
  letter json,
  PRIMARY KEY (bucket, id)
);
CREATE INDEX deferred_due ON notify.deferred (bucket, resume_at);
-- For retention and for the data of sensitive notifications: is any of the notification still waiting? For export and
-- erasure, which find what waits by the user's notifications.
CREATE INDEX deferred_notification ON notify.deferred (bucket, notification_id);

-- Aggregation: one open window per user and event type, and the items in it.
CREATE TABLE notify.pending_window (
  bucket smallint NOT NULL,
  id uuid,
  user_id text NOT NULL,
  event text NOT NULL,
  state text NOT NULL,
  flush_at timestamptz NOT NULL,
  lease_until timestamptz,
  -- A window of many items and few actors is sent item by item, so many at a time.
  individual boolean NOT NULL DEFAULT false,
  PRIMARY KEY (bucket, id)
);
CREATE UNIQUE INDEX pending_window_open ON notify.pending_window (bucket, user_id, event) WHERE state = 'open';
-- For export, erasure and retention: the closed ones too. The user first, as in notification_user.
CREATE INDEX pending_window_user ON notify.pending_window (user_id, bucket);
CREATE INDEX pending_window_due ON notify.pending_window (bucket, flush_at);

CREATE TABLE notify.pending_item (
  bucket smallint NOT NULL,
  window_id uuid,
  notification_id uuid,
  actor text NOT NULL,
  at timestamptz NOT NULL,
  data jsonb NOT NULL,
  channels text[] NOT NULL,
  by_request boolean NOT NULL,
  expires_at timestamptz,
  PRIMARY KEY (bucket, window_id, notification_id)
);

-- ---------------------------------------------------------------------------------------------------------------------
-- Rates of event types. They are acquired, and parked events are released, within the server and on one message of the
-- client: no lock on a rate, which all events of a type share, waits for another byte from a client.

CREATE TABLE notify.event_rate (
  event text PRIMARY KEY,
  since timestamptz NOT NULL,
  used integer NOT NULL
);

-- Events of the topic that exceeded the rate of their type, each once, in the order they were published in (`place`).
CREATE TABLE notify.parked (
  bucket smallint NOT NULL,
  key text,
  -- of the scheduled event that it becomes
  id uuid NOT NULL,
  user_id text NOT NULL,
  event text NOT NULL,
  place bigint NOT NULL,
  payload jsonb NOT NULL,
  occurred_at timestamptz,
  PRIMARY KEY (bucket, key)
);
CREATE INDEX parked_turn ON notify.parked (bucket, event, place, id);
CREATE INDEX parked_user ON notify.parked (bucket, user_id);

-- Counts against rates that the caller has locked: of each up to `maximums` in a window of `span_ms`. Returns what was
-- granted and when the next window begins. A window that begins far in the future was opened by a clock that was wrong:
-- it counts nothing. One that begins less than a minute ahead counts however short it is: clocks of processes differ.
CREATE FUNCTION notify.consume_rates(
  events text[], wanted integer[], maximums integer[], span_ms bigint[], at timestamptz)
RETURNS TABLE (event text, granted integer, next_at timestamptz)
LANGUAGE sql AS $$
  UPDATE notify.event_rate e SET since = t.since, used = t.used + t.granted
    FROM (
      SELECT r.event, r.span, r.since, r.used, greatest(0, least(r.wanted, r.maximum - r.used)) AS granted
        FROM (
          SELECT w.event, w.wanted, w.maximum, w.span,
                 CASE WHEN w.is_open THEN w.since ELSE at END AS since,
                 CASE WHEN w.is_open THEN w.used ELSE 0 END AS used
            FROM (
              SELECT a.event, a.wanted, a.maximum, a.span_ms * interval '1 millisecond' AS span, k.since, k.used,
                     at < k.since + a.span_ms * interval '1 millisecond'
                       AND at > k.since - greatest(a.span_ms, 60000) * interval '1 millisecond' AS is_open
                FROM unnest(events, wanted, maximums, span_ms) AS a (event, wanted, maximum, span_ms)
                JOIN notify.event_rate k ON k.event = a.event) AS w) AS r) AS t
   WHERE e.event = t.event
  RETURNING e.event, t.granted, t.since + t.span
$$;

-- Locks rates in the order of `events`.
CREATE FUNCTION notify.lock_rates(events text[], at timestamptz) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO notify.event_rate (event, since, used)
  SELECT r.event, at, 0 FROM unnest(events) WITH ORDINALITY AS r (event, place) ORDER BY r.place
  ON CONFLICT (event) DO UPDATE SET event = excluded.event
$$;

-- `requests` names each event type once, with how many of its events must be answered now (`count`); `parkable` are
-- those that may wait, in their order. Those that exceed the rate, or find others of their type waiting in a bucket of
-- theirs, are parked.
CREATE FUNCTION notify.acquire_rates_locked(requests json, parkable json, at timestamptz) RETURNS json
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  results json;
  ahead record;
  blocked text[] := '{}';
BEGIN
  -- Before the rates are locked, for all processes: a node of a distributed engine may not answer.
  FOR ahead IN SELECT DISTINCT bucket FROM json_to_recordset(parkable) AS r (bucket smallint) LOOP
    PERFORM FROM notify.parked p WHERE p.bucket = ahead.bucket LIMIT 1;
  END LOOP;
  PERFORM notify.lock_rates(
    ARRAY(SELECT a.value->>'event' FROM json_array_elements(requests) WITH ORDINALITY AS a ORDER BY ordinality), at);
  -- One at a time, so that each stays within one bucket.
  FOR ahead IN SELECT DISTINCT event, bucket FROM json_to_recordset(parkable) AS r (event text, bucket smallint) LOOP
    CONTINUE WHEN ahead.event = ANY (blocked);
    IF EXISTS (SELECT FROM notify.parked p WHERE p.bucket = ahead.bucket AND p.event = ahead.event) THEN
      blocked := blocked || ahead.event;
    END IF;
  END LOOP;
  WITH each AS MATERIALIZED (
    SELECT a.event, a.count, a.maximum, a.span_ms,
           CASE WHEN a.event = ANY (blocked) THEN 0 ELSE a.parkable END AS passing
      FROM json_to_recordset(requests) AS a (event text, count integer, parkable integer, maximum integer, span_ms bigint)
  ), used AS (
    SELECT u.* FROM (SELECT array_agg(event) AS events, array_agg(count + passing) AS wanted,
                            array_agg(maximum) AS maximums, array_agg(span_ms) AS span_ms FROM each) AS e
     CROSS JOIN LATERAL notify.consume_rates(e.events, e.wanted, e.maximums, e.span_ms, at) AS u
  )
  SELECT json_agg(json_build_object('event', event, 'granted', least(used.granted, each.count),
                                    'passed', greatest(0, used.granted - each.count),
                                    'nextAt', round(extract(epoch FROM used.next_at) * 1000)))
    INTO results FROM used JOIN each USING (event);
  -- A key that is there already is the same message, delivered again.
  INSERT INTO notify.parked (bucket, key, id, user_id, event, place, payload, occurred_at)
  SELECT g.bucket, g.key, g.id, g.user_id, g.event, g.place, g.payload, g.occurred_at
    FROM (SELECT *, row_number() OVER (PARTITION BY r.event ORDER BY r.turn) AS rank
            FROM json_to_recordset(parkable)
                 AS r (bucket smallint, key text, id uuid, user_id text, event text, place bigint, turn integer,
                       payload jsonb, occurred_at timestamptz)) AS g
    JOIN json_to_recordset(results) AS t (event text, passed integer) ON t.event = g.event AND g.rank > t.passed
   ORDER BY g.place
  ON CONFLICT (bucket, key) DO NOTHING;
  RETURN results;
END $$;

CREATE PROCEDURE notify.acquire_rates(requests json, parkable json, at timestamptz, INOUT results json)
LANGUAGE plpgsql AS $$
BEGIN
  results := notify.acquire_rates_locked(requests, parkable, at);
  COMMIT;
END $$;

-- Moves the first parked events of a type to `scheduled`, due at once: at most `max_events`, and as many as the rate
-- allows; all of them where the type has no rate (`maximum` is null). Returns how many.
CREATE FUNCTION notify.release_parked_locked(
  of_bucket smallint, of_event text, max_events integer, maximum integer, span_ms bigint, at timestamptz) RETURNS integer
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  keys text[];
  allowed integer;
BEGIN
  -- As in acquire_rates_locked, before the rate is locked.
  IF NOT EXISTS (SELECT FROM notify.parked WHERE bucket = of_bucket AND event = of_event) THEN
    RETURN 0;
  END IF;
  PERFORM notify.lock_rates(ARRAY[of_event], at);
  keys := ARRAY(
    SELECT key FROM notify.parked WHERE bucket = of_bucket AND event = of_event
     ORDER BY place, id LIMIT (SELECT max_events) FOR UPDATE);
  allowed := cardinality(keys);
  IF maximum IS NOT NULL THEN
    SELECT granted INTO allowed
      FROM notify.consume_rates(ARRAY[of_event], ARRAY[allowed], ARRAY[maximum], ARRAY[span_ms], at);
  END IF;
  IF allowed = 0 THEN
    RETURN 0;
  END IF;
  WITH removed AS (
    DELETE FROM notify.parked WHERE bucket = of_bucket AND key = ANY (ARRAY(SELECT unnest(keys[1 : allowed])))
    RETURNING id, user_id, place, payload, occurred_at
  ), ordered AS (
    SELECT *, row_number() OVER (ORDER BY place, id) AS turn FROM removed
  )
  INSERT INTO notify.scheduled (bucket, id, user_id, fire_at, payload, source, occurred_at)
  SELECT of_bucket, id, user_id, at - (allowed - turn) * interval '1 microsecond', payload, 'topic', occurred_at
    FROM ordered;
  RETURN allowed;
END $$;

CREATE PROCEDURE notify.release_parked(
  of_bucket smallint, of_event text, max_events integer, maximum integer, span_ms bigint, at timestamptz, INOUT released integer)
LANGUAGE plpgsql AS $$
BEGIN
  released := notify.release_parked_locked(of_bucket, of_event, max_events, maximum, span_ms, at);
  COMMIT;
END $$;

-- ---------------------------------------------------------------------------------------------------------------------
-- Dead letters.

CREATE TABLE notify.dead_letter (
  bucket smallint NOT NULL,
  id uuid,
  notification_id uuid,
  user_id text,
  channel text,
  event text,
  cause text NOT NULL,
  detail text NOT NULL,
  died_at timestamptz NOT NULL,
  message jsonb,
  expires_at timestamptz,
  PRIMARY KEY (bucket, id)
);
CREATE INDEX dead_letter_user ON notify.dead_letter (bucket, user_id);
-- for retention
CREATE INDEX dead_letter_died_at ON notify.dead_letter (bucket, died_at);

-- Which letters were replayed together, by ids of any bucket. Small: a row leaves 30 days after its replay.
CREATE TABLE notify.replay_batch (
  id uuid PRIMARY KEY,
  created_at timestamptz NOT NULL,
  letter_ids uuid[] NOT NULL,
  stopped_at timestamptz
);

-- How often a message of the topic failed because of the message itself, and whether it is a dead letter, as an invalid
-- one is at once. Rows leave a week after the last failure.
CREATE TABLE notify.topic_failure (
  bucket smallint NOT NULL,
  key text,
  attempts integer NOT NULL,
  dead boolean NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (bucket, key)
);
-- for retention
CREATE INDEX topic_failure_at ON notify.topic_failure (bucket, at);

-- ---------------------------------------------------------------------------------------------------------------------
-- The in-app feed, and the mailbox of the embedded mode.

-- `position` is the number an item arrived under, `changed` that of its last change.
CREATE TABLE notify.inbox (
  bucket smallint NOT NULL,
  user_id text,
  id uuid,
  event text NOT NULL,
  subject text,
  body text NOT NULL,
  created_at timestamptz NOT NULL,
  read_at timestamptz,
  seen_at timestamptz,
  archived_at timestamptz,
  position bigint NOT NULL,
  changed bigint NOT NULL,
  PRIMARY KEY (bucket, user_id, id)
);
CREATE INDEX inbox_feed ON notify.inbox (bucket, user_id, position);
CREATE INDEX inbox_unread ON notify.inbox (bucket, user_id, position) WHERE read_at IS NULL AND archived_at IS NULL;
CREATE INDEX inbox_changed ON notify.inbox (bucket, user_id, changed);
-- for retention
CREATE INDEX inbox_created_at ON notify.inbox (bucket, created_at);

-- One row per user. Whoever changes the user's inbox locks it first, so numbers become visible in the order in which
-- they were assigned.
CREATE TABLE notify.inbox_count (
  bucket smallint NOT NULL,
  user_id text,
  -- the number of the last change
  sequence bigint NOT NULL DEFAULT 0,
  total integer NOT NULL DEFAULT 0,
  unseen integer NOT NULL DEFAULT 0,
  unread integer NOT NULL DEFAULT 0,
  PRIMARY KEY (bucket, user_id)
) WITH (fillfactor = 70);

CREATE TABLE notify.mailbox (
  id text PRIMARY KEY,
  delivery_id uuid NOT NULL,
  user_id text NOT NULL,
  channel text NOT NULL,
  address text NOT NULL,
  message jsonb NOT NULL,
  at timestamptz NOT NULL
);
-- for retention
CREATE INDEX mailbox_at ON notify.mailbox (at);

-- ---------------------------------------------------------------------------------------------------------------------
-- What was counted, by the minute and by the hour (`step`, in seconds). Labels are closed sets and hold nothing
-- personal.

CREATE TABLE notify.stat (
  step integer,
  measure text,
  at timestamptz,
  labels jsonb,
  value bigint NOT NULL,
  PRIMARY KEY (step, measure, at, labels)
) WITH (fillfactor = 80);

-- The batches that were added in the last hour, so that one that is sent twice is added once.
CREATE TABLE notify.stat_batch (
  id uuid PRIMARY KEY,
  at timestamptz NOT NULL
);
