import type { Database, Queryable } from '@gatehouse/kit'
import { bucketOfUser } from '../ids.ts'
import type { Device, Devices } from '../store.ts'
import { type DeviceRow, deviceOf } from './profiles.ts'
import { timestamp } from './words.ts'

export function postgresDevices(database: Database, buckets: number): Devices {
  return {
    async list(userId) {
      const { rows } = await database.query<DeviceRow>(
        `SELECT device_id, token, service, registered_at, dead_at FROM notify.device
          WHERE bucket = $1 AND user_id = $2 ORDER BY device_id`,
        [bucketOfUser(userId, buckets), userId],
      )
      return rows.map(deviceOf)
    },
    put: (userId, device, now) => putDevice(database, bucketOfUser(userId, buckets), userId, device, now),
    async remove(userId, deviceId) {
      const { rowCount } = await database.query(
        'DELETE FROM notify.device WHERE bucket = $1 AND user_id = $2 AND device_id = $3',
        [bucketOfUser(userId, buckets), userId, deviceId],
      )
      return rowCount > 0
    },
    async bury(userId, token, at, reason) {
      const { rowCount } = await database.query(
        `UPDATE notify.device SET dead_at = $4, dead_reason = $5
          WHERE bucket = $1 AND user_id = $2 AND token = $3 AND dead_at IS NULL AND registered_at <= $4`,
        [bucketOfUser(userId, buckets), userId, token, timestamp(at), reason],
      )
      return rowCount > 0
    },
  }
}

export async function putDevice(
  on: Queryable,
  bucket: number,
  userId: string,
  { deviceId, token, service }: Omit<Device, 'registeredAt' | 'deadAt'>,
  now: number,
): Promise<void> {
  await on.query(
    `INSERT INTO notify.device (bucket, user_id, device_id, token, service, registered_at) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (bucket, user_id, device_id) DO UPDATE
        SET token = excluded.token, service = excluded.service, registered_at = excluded.registered_at,
            dead_at = NULL, dead_reason = NULL`,
    [bucket, userId, deviceId, token, service, timestamp(now)],
  )
}
