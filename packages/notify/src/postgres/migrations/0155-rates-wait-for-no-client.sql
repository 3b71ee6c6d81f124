-- Rates of event types are taken, and parked events released, within the server and on one message of the client: no
-- lock on a rate, which all events of a type share, waits for another byte from a client.

-- Takes from rates that the caller has locked: of each up to `most` in a window of `span_ms`. Answers what was granted
-- and when the next window begins.
CREATE FUNCTION notify.use_rates(events text[], wanted integer[], most integer[], span_ms bigint[], at timestamptz)
RETURNS TABLE (event text, granted integer, next_at timestamptz)
LANGUAGE sql AS $$
  UPDATE notify.event_rate e SET since = t.since, used = t.used + t.granted
    FROM (
      SELECT r.event, r.span, r.since, r.used, greatest(0, least(r.wanted, r.most - r.used)) AS granted
        FROM (
          SELECT a.event, a.wanted, a.most, a.span_ms * interval '1 millisecond' AS span,
                 CASE WHEN at < k.since + a.span_ms * interval '1 millisecond' THEN k.since ELSE at END AS since,
                 CASE WHEN at < k.since + a.span_ms * interval '1 millisecond' THEN k.used ELSE 0 END AS used
            FROM unnest(events, wanted, most, span_ms) AS a (event, wanted, most, span_ms)
            JOIN notify.event_rate k ON k.event = a.event) AS r) AS t
   WHERE e.event = t.event
  RETURNING e.event, t.granted, t.since + t.span
$$;

-- Locks rates in the order given.
CREATE FUNCTION notify.lock_rates(events text[], at timestamptz) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO notify.event_rate (event, since, used)
  SELECT r.event, at, 0 FROM unnest(events) WITH ORDINALITY AS r (event, place) ORDER BY r.place
  ON CONFLICT (event) DO UPDATE SET event = excluded.event
$$;

-- `asked` names each event type once, with how many of its events are to be answered now (`count`); `given` are those
-- that may wait, in their order. Those that come over the rate, or find others of their type waiting, are parked.
CREATE FUNCTION notify.take_rates_locked(of_bucket smallint, asked json, given json, at timestamptz) RETURNS json
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  taken json;
BEGIN
  PERFORM notify.lock_rates(ARRAY(SELECT a.value->>'event' FROM json_array_elements(asked) WITH ORDINALITY AS a ORDER BY ordinality), at);
  WITH each AS MATERIALIZED (
    SELECT a.event, a.count, a.most, a.span_ms, CASE
             WHEN EXISTS (SELECT FROM notify.parked p WHERE p.bucket = of_bucket AND p.event = a.event) THEN 0
             ELSE a.parkable END AS passing
      FROM json_to_recordset(asked) AS a (event text, count integer, parkable integer, most integer, span_ms bigint)
  ), used AS (
    SELECT u.* FROM (SELECT array_agg(event) AS events, array_agg(count + passing) AS wanted, array_agg(most) AS most,
                            array_agg(span_ms) AS span_ms FROM each) AS e
     CROSS JOIN LATERAL notify.use_rates(e.events, e.wanted, e.most, e.span_ms, at) AS u
  )
  SELECT json_agg(json_build_object('event', event, 'granted', least(used.granted, each.count),
                                    'passed', greatest(0, used.granted - each.count),
                                    'nextAt', round(extract(epoch FROM used.next_at) * 1000)))
    INTO taken FROM used JOIN each USING (event);
  -- One that is there already is the same message, delivered again.
  INSERT INTO notify.parked (bucket, key, user_id, event, place, payload, occurred_at)
  SELECT of_bucket, g.key, g.user_id, g.event, g.place, g.payload, g.occurred_at
    FROM (SELECT *, row_number() OVER (PARTITION BY r.event ORDER BY r.turn) AS rank
            FROM json_to_recordset(given) AS r (key text, user_id text, event text, place bigint, turn integer, payload jsonb, occurred_at timestamptz)) AS g
    JOIN json_to_recordset(taken) AS t (event text, passed integer) ON t.event = g.event AND g.rank > t.passed
   ORDER BY g.place
  ON CONFLICT (bucket, key) DO NOTHING;
  RETURN taken;
END $$;

CREATE PROCEDURE notify.take_rates(of_bucket smallint, asked json, given json, at timestamptz, INOUT taken json)
LANGUAGE plpgsql AS $$
BEGIN
  taken := notify.take_rates_locked(of_bucket, asked, given, at);
  COMMIT;
END $$;

-- Moves the first parked events of a type to those that are due, at most one for each of `ids`, and as many as the rate
-- allows; all of them where the type has no rate (`most` is null). Answers how many.
CREATE FUNCTION notify.release_parked_locked(
  of_bucket smallint, of_event text, ids uuid[], most integer, span_ms bigint, at timestamptz) RETURNS integer
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  keys text[];
  allowed integer;
BEGIN
  PERFORM notify.lock_rates(ARRAY[of_event], at);
  keys := ARRAY(
    SELECT key FROM notify.parked WHERE bucket = of_bucket AND event = of_event
     ORDER BY place LIMIT (SELECT cardinality(ids)) FOR UPDATE);
  allowed := cardinality(keys);
  IF most IS NOT NULL THEN
    SELECT granted INTO allowed FROM notify.use_rates(ARRAY[of_event], ARRAY[allowed], ARRAY[most], ARRAY[span_ms], at);
  END IF;
  IF allowed = 0 THEN
    RETURN 0;
  END IF;
  WITH gone AS (
    DELETE FROM notify.parked WHERE bucket = of_bucket AND key = ANY (ARRAY(SELECT unnest(keys[1 : allowed])))
    RETURNING user_id, place, payload, occurred_at
  ), turned AS (
    SELECT *, row_number() OVER (ORDER BY place) AS turn FROM gone
  )
  INSERT INTO notify.scheduled (bucket, id, user_id, fire_at, payload, source, occurred_at)
  SELECT of_bucket, ids[turn], user_id, at - (allowed - turn) * interval '1 microsecond', payload, 'topic', occurred_at
    FROM turned;
  RETURN allowed;
END $$;

CREATE PROCEDURE notify.release_parked(
  of_bucket smallint, of_event text, ids uuid[], most integer, span_ms bigint, at timestamptz, INOUT released integer)
LANGUAGE plpgsql AS $$
BEGIN
  released := notify.release_parked_locked(of_bucket, of_event, ids, most, span_ms, at);
  COMMIT;
END $$;
