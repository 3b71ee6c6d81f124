-- Summaries of the windows in `notify.summed`, with their first 100 actors, 200 characters of each. The database counts, so
-- that an answer is bounded whatever a window holds.
-- $1 bucket int

SELECT w.id, whole.*, actors.*, chosen.*,
       (SELECT data FROM notify.pending_item
         WHERE bucket = $1 AND window_id = w.id ORDER BY notification_id DESC LIMIT 1) AS last_data
  FROM unnest(nullif(current_setting('notify.summed', true), '')::uuid[]) AS w (id)
 CROSS JOIN LATERAL (
   SELECT count(*)::integer AS count, min(at) AS first_at, max(at) AS last_at
     FROM notify.pending_item WHERE bucket = $1 AND window_id = w.id) AS whole
 CROSS JOIN LATERAL (
   WITH each AS MATERIALIZED (
     SELECT actor, min(notification_id::text COLLATE "C") AS first
       FROM notify.pending_item WHERE bucket = $1 AND window_id = w.id GROUP BY actor)
   SELECT (SELECT count(*)::integer FROM each) AS actor_count,
          ARRAY(SELECT left(actor, 200) FROM each ORDER BY first LIMIT 100) AS actors) AS actors
 CROSS JOIN LATERAL (
   SELECT json_agg(json_build_object('channels', channels, 'byRequest', by_request)) AS chosen
     FROM (SELECT DISTINCT channels, by_request
             FROM notify.pending_item WHERE bucket = $1 AND window_id = w.id) AS ways) AS chosen
