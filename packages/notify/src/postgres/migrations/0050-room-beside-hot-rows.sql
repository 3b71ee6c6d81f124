-- Every row of these is rewritten once or more: with room for that on its page, no index is touched.
ALTER TABLE notify.work SET (fillfactor = 45);
ALTER TABLE notify.delivery SET (fillfactor = 55);
