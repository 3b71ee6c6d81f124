import type { Database, Rows } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import type { Suppression } from '../../model/delivery/suppression.ts'
import { bucketOfUser } from '../../model/id.ts'
import type { Device, Preference, Profile, Profiles, Recipient } from '../../store/store.ts'
import { queries } from '../queries/index.ts'
import { onePlan, readAtOnce } from '../sql/at-once.ts'
import { type Buckets, bucketsOfUsers, groupByBucket, textFor } from '../sql/buckets.ts'
import { withoutNulls } from '../sql/columns.ts'

interface ProfileRow extends RecipientRow {
  readonly settings_version: number
  readonly known: boolean
  readonly generation: string | null
  readonly preferences: PreferenceRow[] | null
  readonly devices: DeviceRow[] | null
  readonly suppressions: SuppressionRow[] | null
}

/** A row of `notify.recipient`. */
export interface RecipientRow {
  readonly user_id: string
  readonly email: string | null
  readonly phone_number: string | null
  readonly locale: string | null
  readonly zoneinfo: string | null
}

/** A row of `notify.preference`. */
export interface PreferenceRow {
  readonly event_type: string
  readonly channels: Channel[] | null
  readonly quiet_start: string | null
  readonly quiet_end: string | null
}

/** A row of `notify.device`. */
export interface DeviceRow {
  readonly device_id: string
  readonly token: string
  readonly service: string
  readonly registered_at: number
  readonly dead_at?: number | null
  readonly dead_reason?: string | null
}

/** A row of `notify.suppression`, as far as planning needs it. */
export interface SuppressionRow extends Omit<Suppression, 'expiresAt'> {
  readonly expires_at: number | null
}

/** Reads everything planning needs to know about users, in one statement; of distributed buckets, in one for each. */
export async function readProfiles(
  database: Database,
  buckets: Buckets,
  userIds: readonly string[],
): Promise<Profiles> {
  const read = await Promise.all(
    groupByBucket(buckets, userIds, bucketOfUser).map(({ scope, items }) =>
      readAtOnce(database, scope, [
        {
          text: onePlan + textFor(scope, queries['users/read-profiles']),
          values: [bucketsOfUsers(scope, items), items],
        },
      ]),
    ),
  )
  const answers = read.flat() as Array<Pick<Rows<ProfileRow>, 'rows'>>
  const rows = answers.flatMap((each) => each.rows)
  return {
    settingsVersion: Math.max(0, ...answers.map(({ rows: [first] }) => first?.settings_version ?? 0)),
    users: new Map(rows.map((row) => [row.user_id, profileOf(row)])),
  }
}

function profileOf(row: ProfileRow): Profile {
  return {
    ...(row.generation === null ? {} : { generation: row.generation }),
    ...(row.known ? { recipient: recipientOf(row) } : {}),
    preferences: row.preferences?.map(preferenceOf) ?? [],
    devices: row.devices?.map(deviceOf) ?? [],
    suppressions: suppressionsOf(row.suppressions),
  }
}

/** The recipient of a row. */
export function recipientOf(row: RecipientRow): Recipient {
  const { email, phone_number: phoneNumber, locale, zoneinfo } = row
  return { userId: row.user_id, ...withoutNulls({ email, phoneNumber, locale, zoneinfo }) }
}

/** The preference of a row. */
export function preferenceOf({ event_type, channels, quiet_start, quiet_end }: PreferenceRow): Preference {
  return {
    eventType: event_type,
    ...(channels ? { channels } : {}),
    ...(quiet_start !== null && quiet_end !== null ? { quietHours: { start: quiet_start, end: quiet_end } } : {}),
  }
}

/** The suppressions of rows; null stands for none. */
export function suppressionsOf(rows: readonly SuppressionRow[] | null): Suppression[] {
  return rows?.map(({ expires_at, ...row }) => ({ ...row, ...withoutNulls({ expiresAt: expires_at }) })) ?? []
}

/** The device of a row. */
export function deviceOf(row: DeviceRow): Device {
  return {
    deviceId: row.device_id,
    token: row.token,
    service: row.service,
    registeredAt: row.registered_at,
    ...(row.dead_at === undefined || row.dead_at === null ? {} : { deadAt: row.dead_at }),
    ...(row.dead_reason ? { deadReason: row.dead_reason } : {}),
  }
}
