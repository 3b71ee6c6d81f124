import { createNotifier, type Database, type Log, silentLog, statTable } from '@gatehouse/kit'
import type { AdmissionDecision } from '../admission/admission.ts'
import { bucketOfId } from '../model/id.ts'
import { hourlyMeasures, measures } from '../model/measure.ts'
import { defaultPriorityWeights, type PriorityWeights } from '../model/work/fair-shares.ts'
import type { NotifyStore } from '../store/store.ts'
import { postgresHints } from './agenda/hint-exchange.ts'
import { postgresOwnership } from './agenda/leases.ts'
import { postgresSurvey } from './agenda/survey.ts'
import { postgresDeclarations } from './catalog/declarations.ts'
import { postgresEventTypes } from './catalog/event-types.ts'
import { postgresShortLinks } from './catalog/short-links.ts'
import { postgresTemplateSamples } from './catalog/template-samples.ts'
import { postgresTemplates } from './catalog/templates.ts'
import { postgresDeadLetters } from './dead-letters/dead-letters.ts'
import { type Claimer, createClaimer } from './delivery/claim/claim.ts'
import { placeAt } from './delivery/claim/claim-marks.ts'
import { postgresDeliveries } from './delivery/deliveries.ts'
import { postgresProviderHealth } from './delivery/providers/provider-health.ts'
import { postgresProviderPauses } from './delivery/providers/provider-pauses.ts'
import { postgresInbox } from './inbox/inbox.ts'
import { inboxChannel } from './inbox/inbox-count.ts'
import { postgresMailbox } from './inbox/mailbox.ts'
import { admit, readAdmissionState } from './intake/admit.ts'
import { acquireRates } from './intake/rates.ts'
import { spreadDatabase } from './nodes/spread-database.ts'
import { postgresProviderActivity } from './providers/activity.ts'
import { postgresProviderOrders } from './providers/orders.ts'
import { postgresPrivacy } from './retention/privacy.ts'
import { postgresSearch } from './search/search.ts'
import type { Buckets } from './sql/buckets.ts'
import { postgresNotifications } from './timeline/notifications.ts'
import { postgresStateChanges } from './timeline/state-changes.ts'
import { postgresDevices } from './users/devices.ts'
import { postgresPreferences } from './users/preferences.ts'
import { readProfiles } from './users/profiles.ts'
import { postgresRecipients } from './users/recipients.ts'
import { postgresStandings } from './users/standings.ts'
import { postgresSuppressions } from './users/suppressions.ts'
import { postgresBacklog } from './waiting/backlog.ts'
import { postgresParked } from './waiting/parked.ts'
import { postgresSchedule } from './waiting/schedule.ts'
import { postgresWaiting } from './waiting/waiting.ts'

export { notifyDeclared } from './catalog/declarations.ts'
export { type DistributionReport, distributeNotify } from './distribution/distribute.ts'
export { migrateNotify } from './distribution/migrate.ts'
export { notifyTables } from './retention/retention.ts'
export {
  notifySealed,
  openLinkSecrets,
  type RotatedLinkSecret,
  rotateLinkSecret,
  type StoredLinkSecrets,
} from './retention/secrets.ts'

/** Options of {@link postgresNotifyStore}. */
export interface PostgresNotifyOptions {
  /**
   * Into how many buckets users are divided: a property of the database, chosen when it is created. 1 (default) for one
   * PostgreSQL or the embedded engine, 32 to 64 for a distributed one; at most 32767.
   */
  readonly buckets?: number
  /**
   * Whether a distributed engine has the tables of users: `migrateNotify` reads it from the database. Statements
   * are then for one bucket each. Default false.
   */
  readonly distributed?: boolean
  /** Whether state changes are kept for readers of the log and for the stream `notifications.events`. Default true. */
  readonly streaming?: boolean
  /** How often each priority is served while there is more than can be sent. Default: {@link defaultPriorityWeights}. */
  readonly priorityWeights?: PriorityWeights
  /** Where it is said that a node does not answer. Default: nowhere. */
  readonly log?: Log
}

/** The notification service's store on PostgreSQL 15 or newer, or on the embedded engine. */
export function postgresNotifyStore(server: Database, options: PostgresNotifyOptions = {}): NotifyStore {
  const { buckets = 1, distributed = false, log = silentLog } = options
  const spread = distributed ? spreadDatabase(server, { count: buckets, log }) : undefined
  const database = spread?.database ?? server
  const layout: Buckets = { count: buckets, distributed }
  const streaming = options.streaming ?? true
  const inboxes = createNotifier(database, inboxChannel)
  const claimer = createClaimer(database, layout, options.priorityWeights ?? defaultPriorityWeights)
  return {
    intake: {
      buckets,
      distributed,
      readProfiles: (userIds) => readProfiles(database, layout, userIds),
      async admit(units, admission) {
        const admitted = await admit(database, layout, { units, admission, streaming })
        lowerMarks(claimer, buckets, admitted, admission.now)
        return admitted
      },
      readAdmissionState: (notification) => readAdmissionState(database, layout, notification),
      acquireRates: (requests, now) => acquireRates(database, buckets, requests, now),
    },
    deliveries: postgresDeliveries(database, { buckets: layout, claimer, streaming, inboxes }),
    waiting: postgresWaiting(database, layout),
    schedule: postgresSchedule(database, buckets),
    parked: postgresParked(database),
    backlog: postgresBacklog(database, buckets),
    providerHealth: postgresProviderHealth(database),
    providerPauses: postgresProviderPauses(database),
    providerOrders: postgresProviderOrders(database),
    providerActivity: postgresProviderActivity(database),
    survey: postgresSurvey(database, options.distributed ?? false),
    ...(database.engine === 'postgres' && {
      ownership: postgresOwnership(database, buckets),
      hints: postgresHints(database),
    }),
    ...(spread && { nodes: spread.nodes }),
    deadLetters: postgresDeadLetters(database, buckets),
    stateChanges: postgresStateChanges(database, distributed),
    privacy: postgresPrivacy(database, layout, inboxes),
    recipients: postgresRecipients(database, buckets),
    preferences: postgresPreferences(database, layout),
    devices: postgresDevices(database, layout),
    shortLinks: postgresShortLinks(database, buckets),
    suppressions: postgresSuppressions(database, layout),
    standings: postgresStandings(database, buckets),
    eventTypes: postgresEventTypes(database),
    templates: postgresTemplates(database),
    templateSamples: postgresTemplateSamples(database),
    inbox: postgresInbox(database, layout, inboxes),
    mailbox: postgresMailbox(database, buckets),
    notifications: postgresNotifications(database, buckets),
    search: postgresSearch(database, layout),
    declared: postgresDeclarations(database, buckets),
    stats: statTable(database, { schema: 'notify', measures: Object.keys(measures), hourly: hourlyMeasures }),
    ping: () => database.ping(),
  }
}

/** What this process has queued itself, its own claims need not come upon later. */
function lowerMarks(
  claimer: Claimer,
  buckets: number,
  admitted: ReadonlyArray<readonly AdmissionDecision[] | undefined>,
  now: number,
): void {
  for (const decided of admitted)
    for (const { notification, deliveries } of decided ?? [])
      for (const { channel, outcome } of deliveries)
        if (outcome === 'queued')
          claimer.lower(bucketOfId(notification.id, buckets), channel, notification.event, placeAt(now))
}
