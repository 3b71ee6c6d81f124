import { createNotifier, type Database, migrate, StartError } from '@gatehouse/kit'
import type { Decided } from '../admission.ts'
import { defaultPriorityWeights, type PriorityWeights } from '../fair-shares.ts'
import type { NotifyStore } from '../store.ts'
import { admit, standingOf } from './admit.ts'
import { type Claimer, createClaimer } from './claim.ts'
import { placeAt } from './claim-marks.ts'
import { postgresDeadLetters } from './dead-letters.ts'
import { postgresDeclarations } from './declarations.ts'
import { postgresDeliveries } from './deliveries.ts'
import { postgresDevices } from './devices.ts'
import { postgresEventTypes } from './event-types.ts'
import { postgresInbox } from './inbox.ts'
import { inboxChannel } from './inbox-count.ts'
import { postgresMailbox } from './mailbox.ts'
import { postgresNotifications } from './notifications.ts'
import { postgresParked } from './parked.ts'
import { postgresPreferences } from './preferences.ts'
import { postgresPrivacy } from './privacy.ts'
import { readProfiles } from './profiles.ts'
import { postgresProviderHealth } from './provider-health.ts'
import { takeRates } from './rates.ts'
import { postgresRecipients } from './recipients.ts'
import { postgresSchedule } from './schedule.ts'
import { postgresShortLinks } from './short-links.ts'
import { postgresStateChanges } from './state-changes.ts'
import { postgresSuppressions } from './suppressions.ts'
import { postgresTemplates } from './templates.ts'
import { postgresWaiting } from './waiting.ts'

export { notifyTables } from './retention.ts'
export { linkSecret, notifySealed } from './secrets.ts'

export interface PostgresNotifyOptions {
  /**
   * Into how many buckets users are divided: a property of the database, chosen when it is created. 1 (default) for one
   * PostgreSQL or the embedded engine, 256 for a distributed one; at most 32767.
   */
  readonly buckets?: number
  /** Whether state changes are kept for readers of the log and for the stream `notifications.events`. Default true. */
  readonly streaming?: boolean
  /** How often each priority is served while there is more than can be sent. Default: {@link defaultPriorityWeights}. */
  readonly priorityWeights?: PriorityWeights
}

/**
 * Brings the schema `notify` up to date and fixes its number of buckets. Throws {@link StartError} when the database
 * was created with another number.
 */
export async function migrateNotify(database: Database, options: PostgresNotifyOptions = {}): Promise<void> {
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
      profiles: (bucket, userIds) => readProfiles(database, bucket, userIds),
      async admit(bucket, units, rules, now) {
        const admitted = await admit(database, bucket, units, rules, now, { streaming })
        lowerMarks(claimer, bucket, admitted, now)
        return admitted
      },
      standing: (bucket, notification) => standingOf(database, bucket, notification),
      takeRates: (bucket, asked, now) => takeRates(database, bucket, asked, now),
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
    mailbox: postgresMailbox(database),
    notifications: postgresNotifications(database, buckets),
    declared: postgresDeclarations(database, buckets),
    ping: () => database.ping(),
  }
}

/** What this process has queued itself, its own claims need not come upon later. */
function lowerMarks(
  claimer: Claimer,
  bucket: number,
  admitted: ReadonlyArray<readonly Decided[] | undefined>,
  now: number,
): void {
  for (const decided of admitted)
    for (const { notification, deliveries } of decided ?? [])
      for (const { channel, outcome } of deliveries)
        if (outcome === 'queued') claimer.lower(bucket, channel, notification.event, placeAt(now))
}
