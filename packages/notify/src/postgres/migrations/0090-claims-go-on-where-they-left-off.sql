-- With the id at its end every row has a place of its own, from which the next claim can go on.
DROP INDEX notify.work_due;
CREATE INDEX work_due ON notify.work (bucket, channel, lane, event, due_at, delivery_id);
