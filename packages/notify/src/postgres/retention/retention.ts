import { migrationTable, statTables, type TableBound } from '@gatehouse/kit'
import { defaultOptions, type Retention } from '../../config/options.ts'
import { firstIdAt } from '../../model/id.ts'
import { timestamp } from '../sql/columns.ts'

/** A table whose rows are removed for their age. */
export interface AgingTable extends TableBound {
  /** The column that ages a row, and what it holds: an id of ours (UUIDv7: the time it was made) or a point in time. */
  readonly age: { readonly column: string; readonly holds: 'id' | 'time' }
  /** How long a row is kept; `expires` where the column says itself when it ends. */
  readonly keeps: keyof Retention | { readonly days: number } | 'expires'
  /**
   * What is removed. Left out: the rows themselves, found by `key`; otherwise more belongs to them than a row, and
   * whoever removes that knows how.
   */
  readonly key?: readonly string[]
  /** What keeps a row, however old it is (SQL, each a condition); `$1` is the bucket. */
  readonly unless?: readonly string[]
  /**
   * A statement that locks rows of a batch before `unless` is looked at: those of which something may be on its way from
   * a table that does not keep them to one that does. `$1` is the bucket, `$2` and `$3` the first and the last id.
   */
  readonly lock?: string
  /** The table that its rows belong to: none of that is removed before them. */
  readonly of?: string
  /** False for a table that is not divided into buckets. Default true. */
  readonly bucketed?: boolean
}

/** How long the failures of a message of the topic are remembered after the last, in days. */
const topicFailureDays = 7

/** For how long the progress of a replay can be read, in days. */
const replayBatchDays = 30

/** How long calls of providers and their errors are counted, in days. */
const providerCallDays = 1
const providerErrorDays = 7

/** A notification is needed as long as something of it waits to be planned again. */
const awaited = 'EXISTS (SELECT FROM notify.deferred d WHERE d.bucket = $1 AND d.notification_id = notification.id)'

/** An export and an erasure find deliveries by their notification. Their ids come right after its own. */
const hasDeliveries = (table: string, id: string) =>
  `EXISTS (SELECT FROM notify.${table} d WHERE d.bucket = $1 AND d.${id} > notification.id
            AND d.${id} < ${lastDeliveryOf('notification.id')})`
const lastDeliveryOf = (id: string) => `overlay(${id}::text PLACING 'f' FROM 32)::uuid`
const delivered = hasDeliveries('delivery', 'id')
const queued = hasDeliveries('delivery_queue', 'delivery_id')
/**
 * A replay removes a dead letter that was never written, locks its notification, and then has that wait to be planned
 * again. In the order of replays.
 */
const lockReplayable = `SELECT FROM notify.notification
 WHERE bucket = $1 AND id = ANY (ARRAY(
         SELECT l.notification_id FROM notify.dead_letter l
          WHERE l.bucket = $1 AND l.id > $2::uuid AND l.id < ${lastDeliveryOf('$3::uuid')}
            AND l.message IS NULL AND l.notification_id IS NOT NULL))
 ORDER BY id FOR UPDATE`
/** What is gathered may yet be sent by itself. */
const gathered = `EXISTS (SELECT FROM notify.pending_window w
  JOIN notify.pending_item i ON i.bucket = $1 AND i.window_id = w.id AND i.notification_id = notification.id
 WHERE w.bucket = $1 AND w.user_id = notification.user_id)`

/**
 * What is removed for its age, in this order: children before what they hang on. Each has an index that begins with the
 * bucket and its age, so that a purge reads what it removes and nothing else.
 */
export const agingTables: readonly AgingTable[] = [
  aging('timeline_entry', 'notification_id', 'notificationDays', {
    key: ['notification_id', 'id'],
    of: 'notification',
  }),
  aging('delivery', 'id', 'notificationDays', { key: ['id'], of: 'notification' }),
  aging('notification', 'id', 'notificationDays', {
    key: ['id'],
    unless: [awaited, delivered, queued, gathered],
    lock: lockReplayable,
  }),
  aging('dedup_log', 'recorded_at', 'logDays', { key: ['user_id', 'key_hash'] }),
  aging('topic_failure', 'at', { days: topicFailureDays }, { key: ['key'] }),
  aging('suppression', 'expires_at', 'expires', {
    key: ['id'],
    alive: 'without an end one for each user, address, event type and reason, until it is lifted',
  }),
  aging('short_link', 'expires_at', 'expires', { key: ['id'] }),
  aging('mailbox', 'at', 'inboxDays', { key: ['id'], bucketed: false }),
  aging('dead_letter', 'died_at', 'deadLetterDays'),
  aging('replay_batch', 'id', { days: replayBatchDays }, { key: ['id'], bucketed: false }),
  aging(
    'provider_call',
    'at',
    { days: providerCallDays },
    { key: ['at', 'provider', 'result', 'slot'], bucketed: false },
  ),
  aging(
    'provider_error',
    'last_at',
    { days: providerErrorDays },
    { key: ['provider', 'fingerprint'], bucketed: false },
  ),
  aging('device', 'dead_at', 'deadDeviceDays', { alive: 'living ones by `notify.devices_per_user`' }),
  aging('inbox', 'created_at', 'inboxDays'),
]

/** What bounds every table of the schema `notify`. */
export const notifyTables: readonly TableBound[] = [
  ...agingTables,
  { table: 'cap', bound: 'one for each user who has, or had the day before, a notification or a dedup log entry' },
  { table: 'inbox_count', bound: 'one for each user who has an item in the inbox' },
  { table: 'outbox', bound: 'state changes until they have their number in the log, about a second' },
  {
    table: 'state_change',
    bound: '`recorded_at`, and with NATS until its stream has them',
    setting: 'notify.retention.state_change_days',
    kept: `${defaultOptions.retention.stateChangeDays} days`,
  },
  { table: 'state_change_position', bound: 'three rows' },
  {
    table: 'worker_process',
    bound: 'one for each process that runs workers, and until another notices that it is gone',
  },
  { table: 'worker_generation', bound: 'one row' },
  { table: 'bucket_lease', bound: 'one for each bucket' },
  { table: 'numbered_batch', bound: 'one for each bucket of a distributed database' },
  { table: 'push_token', bound: 'one for each device' },
  { table: 'recipient', bound: 'one for each user who can be reached; goes with the user' },
  { table: 'preference', bound: 'one for each user and event type of the catalog' },
  {
    table: 'delivery_queue',
    bound: 'deliveries until they are sent, expire or become dead letters',
  },
  { table: 'deferred', bound: 'deliveries that wait for the end of quiet hours, a fallback or a replay' },
  { table: 'scheduled', bound: 'events whose time has not come' },
  { table: 'parked', bound: 'events of the topic over the rate of their type, until their turn' },
  { table: 'pending_window', bound: 'aggregations that wait for their flush' },
  { table: 'pending_item', bound: 'items of aggregations that wait for their flush' },
  { table: 'event_type', bound: 'one for each event type' },
  { table: 'event_rate', bound: 'one for each event type that has a rate' },
  { table: 'template', bound: 'one for each version of a text that somebody wrote' },
  { table: 'published_template', bound: 'one for each text' },
  { table: 'template_sample', bound: 'one for each template; at most 20 samples' },
  { table: 'provider_health', bound: 'one for each provider' },
  { table: 'provider_order', bound: 'one for each channel' },
  { table: 'provider_webhook', bound: 'one for each provider' },
  { table: 'declared', bound: 'one for each entry of the file' },
  { table: 'bucket_anchor', bound: 'one for each bucket' },
  ...statTables,
  { table: 'property', bound: 'a handful of properties of the database' },
  { table: 'sealed_secret', bound: 'one for each secret of the service' },
  migrationTable,
]

/** What is younger than this stays, as SQL compares it with the column. */
export function olderThan({ age, keeps }: AgingTable, retention: Retention, now: number): string {
  if (keeps === 'expires') return timestamp(now + 1)
  const before = now - (typeof keeps === 'string' ? retention[keeps] : keeps.days) * dayMs
  return age.holds === 'id' ? firstIdAt(before) : timestamp(before)
}

const dayMs = 86_400_000

function aging(
  table: string,
  column: string,
  keeps: AgingTable['keeps'],
  {
    alive,
    ...more
  }: Pick<AgingTable, 'key' | 'unless' | 'lock' | 'of' | 'bucketed'> & { readonly alive?: string } = {},
): AgingTable {
  const holds = column === 'id' || column.endsWith('_id') ? 'id' : 'time'
  const bound = holds === 'id' ? `the time in \`${column}\`` : `\`${column}\``
  return {
    table,
    bound: alive === undefined ? bound : `${bound}; ${alive}`,
    age: { column, holds },
    keeps,
    ...more,
    ...describeRetention(keeps),
  }
}

function describeRetention(keeps: AgingTable['keeps']): Pick<TableBound, 'setting' | 'kept'> {
  if (keeps === 'expires') return { kept: 'until then' }
  if (typeof keeps === 'object') return { kept: `${keeps.days} days` }
  const setting = keeps.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return { setting: `notify.retention.${setting}`, kept: `${defaultOptions.retention[keeps]} days` }
}
