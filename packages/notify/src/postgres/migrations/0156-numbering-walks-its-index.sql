-- As before, but for the limit: told the number, a planner without statistics reads and sorts all of a large outbox to
-- number the first of it, under the one lock of the numbering.
CREATE OR REPLACE FUNCTION notify.number_state_changes(buckets integer, first integer, most integer, at timestamptz, since uuid)
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
