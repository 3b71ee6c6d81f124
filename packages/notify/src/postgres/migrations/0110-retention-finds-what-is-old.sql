-- Retention finds what is old at the head of a b-tree. A BRIN told block ranges apart only until the room of what was
-- removed was used again: from then on every range held old and new rows, and a purge read the whole table.
DROP INDEX CONCURRENTLY IF EXISTS notify.log_sent_at;
CREATE INDEX CONCURRENTLY log_sent_at ON notify.log (bucket, sent_at);
DROP INDEX CONCURRENTLY IF EXISTS notify.provider_event_at;
CREATE INDEX CONCURRENTLY provider_event_at ON notify.provider_event (bucket, at);
DROP INDEX CONCURRENTLY IF EXISTS notify.inbox_created_at;
CREATE INDEX CONCURRENTLY inbox_created_at ON notify.inbox (bucket, created_at);
CREATE INDEX CONCURRENTLY dead_letter_died_at ON notify.dead_letter (bucket, died_at);
CREATE INDEX CONCURRENTLY suppression_expires_at ON notify.suppression (bucket, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX CONCURRENTLY mailbox_at ON notify.mailbox (at);
