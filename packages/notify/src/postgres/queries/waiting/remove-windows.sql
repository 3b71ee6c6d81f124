-- Removes whole closed windows, and appends to the timeline of each of their items what became of it, however many items there
-- are. True if all windows were there, which are met by their key as `keyOf` has it.
-- $1 buckets smallint[]
-- $2 window_ids uuid[]
-- $3 entry_ids uuid[]: the id of the timeline entries, one for each window
-- $4 entry_types text[]: null for no entry
-- $5 details text[]: JSON of the entries
-- $6 erases bool[]: the items are sensitive and their data goes
-- $7 now timestamptz
-- $8 count int: the number of windows

WITH removed AS (
  DELETE FROM notify.pending_window w
   USING unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::boolean[])
         AS s (bucket, id, entry_id, entry_type, detail, erases)
   WHERE w.bucket = ANY (ARRAY[s.bucket]) AND w.id = ANY (ARRAY[s.id]) AND w.state = 'closed'
  RETURNING w.bucket, w.id, s.entry_id, s.entry_type, s.detail, s.erases
), items AS (
  DELETE FROM notify.pending_item i USING removed t WHERE i.bucket = t.bucket AND i.window_id = t.id
  RETURNING i.bucket, i.notification_id, t.entry_id, t.entry_type, t.detail, t.erases
), entries AS (
  INSERT INTO notify.timeline_entry (bucket, notification_id, id, at, entry_type, detail)
  SELECT bucket, notification_id, entry_id, $7::timestamptz, entry_type, detail::json
    FROM items WHERE entry_type IS NOT NULL
), erased AS (
  UPDATE notify.notification n SET data = NULL FROM items i
   WHERE n.bucket = i.bucket AND n.id = i.notification_id AND i.erases AND n.sensitive
) SELECT count(*) = $8::integer FROM removed
