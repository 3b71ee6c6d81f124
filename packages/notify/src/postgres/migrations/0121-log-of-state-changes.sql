-- State changes in one order, for readers that resume after the last they have seen. Rows come from the outbox, are
-- numbered under one lock, so that a number becomes visible after all lower ones, and leave by age.
CREATE TABLE notify.state_change (
  sequence bigint PRIMARY KEY,
  id uuid NOT NULL,
  payload jsonb NOT NULL,
  recorded_at timestamptz NOT NULL
);
CREATE INDEX state_change_user ON notify.state_change ((payload->>'user_id'));

-- How far the log is: `last` was given a number, up to `removed` all are gone for their age, up to `published` the
-- stream of NATS has them. The holder of a lease publishes.
CREATE TABLE notify.state_change_position (
  name text PRIMARY KEY,
  sequence bigint NOT NULL,
  holder uuid,
  lease_until timestamptz
);
INSERT INTO notify.state_change_position (name, sequence) VALUES ('last', 0), ('removed', 0), ('published', 0);

-- Numbers up to `most` rows of the outbox with ids from `since` on, bucket by bucket from `first` on; answers how many. A
-- function, so that the lock is held within the server alone: a client that stands still holds up nobody. The limit is a
-- subquery, for a planner without statistics that is told the number reads and sorts all of a large outbox to number the
-- first of it.
CREATE FUNCTION notify.number_state_changes(buckets integer, first integer, most integer, at timestamptz, since uuid)
RETURNS integer LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  newest bigint;
  numbered integer := 0;
  batch integer;
  mine integer;
BEGIN
  FOR step IN 0 .. buckets - 1 LOOP
    EXIT WHEN numbered >= most;
    mine := (first + step) % buckets;
    CONTINUE WHEN NOT EXISTS (SELECT FROM notify.outbox WHERE bucket = mine AND id >= since);
    IF newest IS NULL THEN
      SELECT sequence INTO newest FROM notify.state_change_position WHERE name = 'last' FOR UPDATE;
    END IF;
    WITH waiting AS MATERIALIZED (
      SELECT id FROM notify.outbox WHERE bucket = mine AND id >= since
       ORDER BY id LIMIT (SELECT most - numbered) FOR UPDATE SKIP LOCKED
    ), taken AS (
      DELETE FROM notify.outbox o WHERE o.bucket = mine AND o.id = ANY (ARRAY(SELECT id FROM waiting))
      RETURNING o.id, o.payload
    )
    INSERT INTO notify.state_change (sequence, id, payload, recorded_at)
    SELECT newest + row_number() OVER (ORDER BY taken.id), taken.id, taken.payload, at FROM taken;
    GET DIAGNOSTICS batch = ROW_COUNT;
    newest := newest + batch;
    numbered := numbered + batch;
  END LOOP;
  IF numbered > 0 THEN
    UPDATE notify.state_change_position SET sequence = newest WHERE name = 'last';
  END IF;
  RETURN numbered;
END $$;
