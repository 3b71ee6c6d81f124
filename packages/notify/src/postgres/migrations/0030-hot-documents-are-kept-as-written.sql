-- Written once, read whole, never searched: as text they need no taking apart on the way in and out.
ALTER TABLE notify.notification ALTER COLUMN data TYPE json, ALTER COLUMN decisions TYPE json;
ALTER TABLE notify.work ALTER COLUMN message TYPE json;
ALTER TABLE notify.delivery_event ALTER COLUMN detail TYPE json;
