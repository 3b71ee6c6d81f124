import { createNotifier, type Database, migrate, StartError } from '@gatehouse/kit'
import type { AdmissionDecision } from '../admission/admission.ts'
import { defaultPriorityWeights, type PriorityWeights } from '../model/fair-shares.ts'
import type { NotifyStore } from '../store/store.ts'
import { postgresDeclarations } from './catalog/declarations.ts'
import { postgresEventTypes } from './catalog/event-types.ts'
import { postgresShortLinks } from './catalog/short-links.ts'
import { postgresTemplates } from './catalog/templates.ts'
import { postgresDeadLetters } from './dead-letters/dead-letters.ts'
import { type Claimer, createClaimer } from './delivery/claim.ts'
import { placeAt } from './delivery/claim-marks.ts'
import { postgresDeliveries } from './delivery/deliveries.ts'
import { postgresProviderHealth } from './delivery/provider-health.ts'
import { postgresInbox } from './inbox/inbox.ts'
import { inboxChannel } from './inbox/inbox-count.ts'
import { postgresMailbox } from './inbox/mailbox.ts'
import { admit, readAdmissionState } from './intake/admit.ts'
import { acquireRates } from './intake/rates.ts'
import { postgresPrivacy } from './retention/privacy.ts'
import { readDistributed } from './sql/buckets.ts'
import { postgresNotifications } from './timeline/notifications.ts'
import { postgresStateChanges } from './timeline/state-changes.ts'
import { postgresDevices } from './users/devices.ts'
import { postgresPreferences } from './users/preferences.ts'
import { readProfiles } from './users/profiles.ts'
import { postgresRecipients } from './users/recipients.ts'
import { postgresSuppressions } from './users/suppressions.ts'
import { postgresParked } from './waiting/parked.ts'
import { postgresSchedule } from './waiting/schedule.ts'
import { postgresWaiting } from './waiting/waiting.ts'

export { notifyTables } from './retention/retention.ts'
export { linkSecret, notifySealed } from './retention/secrets.ts'

/** Options of {@link postgresNotifyStore}. */
export interface PostgresNotifyOptions {
  /**
   * Into how many buckets users are divided: a property of the database, chosen when it is created. 1 (default) for one
   * PostgreSQL or the embedded engine, 256 for a distributed one; at most 32767.
   */
  readonly buckets?: number
  /**
   * Whether a distributed engine has the tables of users: {@link migrateNotify} reads it from the database. Statements
   * are then for one bucket each. Default false.
   */
  readonly distributed?: boolean
  /** Whether state changes are kept for readers of the log and for the stream `notifications.events`. Default true. */
  readonly streaming?: boolean
  /** How often each priority is served while there is more than can be sent. Default: {@link defaultPriorityWeights}. */
  readonly priorityWeights?: PriorityWeights
}

/**
 * Brings the schema `notify` up to date and fixes its number of buckets. Returns what {@link postgresNotifyStore} must
 * know of the database. Throws {@link StartError} when the database was created with another number.
 */
export async function migrateNotify(
  database: Database,
  options: Pick<PostgresNotifyOptions, 'buckets'> = {},
): Promise<Required<Pick<PostgresNotifyOptions, 'buckets' | 'distributed'>>> {
  await migrate(database, 'notify', new URL('./migrations/', import.meta.url))
  const buckets = options.buckets ?? 1
  await database.query(
    "INSERT INTO notify.property (name, value) VALUES ('buckets', $1) ON CONFLICT (name) DO NOTHING",
    [buckets],
  )
  const { rows } = await database.query<{ value: number }>("SELECT value FROM notify.property WHERE name = 'buckets'")
  const created = rows[0]?.value
  if (created !== buckets)
    throw new StartError(
      `the notification tables were created with ${created} buckets, not ${buckets} (NOTIFY_BUCKETS).`,
    )
  await database.query(
    `INSERT INTO notify.bucket_anchor (bucket)
     SELECT n FROM generate_series(0, $1::integer - 1) AS n ON CONFLICT (bucket) DO NOTHING`,
    [buckets],
  )
  return { buckets, distributed: await readDistributed(database) }
}

/** The notification service's store on PostgreSQL 15 or newer, or on the embedded engine. */
export function postgresNotifyStore(database: Database, options: PostgresNotifyOptions = {}): NotifyStore {
  const buckets = options.buckets ?? 1
  const streaming = options.streaming ?? true
  const inboxes = createNotifier(database, inboxChannel)
  const claimer = createClaimer(database, options.priorityWeights ?? defaultPriorityWeights)
  return {
    intake: {
      buckets,
      readProfiles: (bucket, userIds) => readProfiles(database, bucket, userIds),
      async admit(bucket, units, admission) {
        const admitted = await admit(database, bucket, { units, admission, streaming })
        lowerMarks(claimer, bucket, admitted, admission.now)
        return admitted
      },
      readAdmissionState: (bucket, notification) => readAdmissionState(database, bucket, notification),
      acquireRates: (bucket, requests, now) => acquireRates(database, bucket, requests, now),
    },
    deliveries: postgresDeliveries(database, { buckets, claimer, streaming, inboxes }),
    waiting: postgresWaiting(database),
    schedule: postgresSchedule(database, buckets),
    parked: postgresParked(database),
    providerHealth: postgresProviderHealth(database),
    deadLetters: postgresDeadLetters(database, buckets),
    stateChanges: postgresStateChanges(database, buckets),
    privacy: postgresPrivacy(database, buckets, inboxes),
    recipients: postgresRecipients(database, buckets),
    preferences: postgresPreferences(database, buckets),
    devices: postgresDevices(database, buckets),
    shortLinks: postgresShortLinks(database, buckets),
    suppressions: postgresSuppressions(database, buckets),
    eventTypes: postgresEventTypes(database),
    templates: postgresTemplates(database),
    inbox: postgresInbox(database, buckets, inboxes),
    mailbox: postgresMailbox(database, buckets),
    notifications: postgresNotifications(database, buckets),
    declared: postgresDeclarations(database, buckets),
    ping: () => database.ping(),
  }
}

/** What this process has queued itself, its own claims need not come upon later. */
function lowerMarks(
  claimer: Claimer,
  bucket: number,
  admitted: ReadonlyArray<readonly AdmissionDecision[] | undefined>,
  now: number,
): void {
  for (const decided of admitted)
    for (const { notification, deliveries } of decided ?? [])
      for (const { channel, outcome } of deliveries)
        if (outcome === 'queued') claimer.lower(bucket, channel, notification.event, placeAt(now))
}
