-- Admission decides on what it read before, without a lock, and writes only if nothing of it has changed since: whoever
-- writes a user's log gives their row another `stamp`. `met` stays as long as the row does, so a user who was erased and
-- came back is not mistaken for the one before.
ALTER TABLE notify.cap
  ADD COLUMN met uuid NOT NULL DEFAULT gen_random_uuid(),
  ADD COLUMN stamp uuid NOT NULL DEFAULT gen_random_uuid();

-- Runs statements in one transaction and commits it, all on one message of the client: no lock that they take waits for
-- another byte from it. Each has its own snapshot and its own part of `given`, as `$1`. A guard answers a boolean: where
-- that is not true nothing is written, and `refused` is its place; else it is 0.
CREATE PROCEDURE notify.run_at_once(
  texts text[], sizes integer[], guards boolean[], given text[], INOUT refused integer)
LANGUAGE plpgsql AS $$
DECLARE
  first integer := 1;
  passes boolean;
BEGIN
  FOR place IN 1 .. cardinality(texts) LOOP
    IF guards[place] THEN
      EXECUTE texts[place] INTO passes USING given[first : first + sizes[place] - 1];
      IF passes IS NOT TRUE THEN
        ROLLBACK;
        refused := place;
        RETURN;
      END IF;
    ELSE
      EXECUTE texts[place] USING given[first : first + sizes[place] - 1];
    END IF;
    first := first + sizes[place];
  END LOOP;
  COMMIT;
  refused := 0;
END
$$;
