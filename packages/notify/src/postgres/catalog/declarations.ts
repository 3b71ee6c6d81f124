import { applyDeclared, type Database, type DeclaredEntity } from '@gatehouse/kit'
import { bucketOfUser } from '../../model/id.ts'
import type { Declarations } from '../../store/store.ts'
import { everywhere } from '../nodes/spread-database.ts'
import { putDevice } from '../users/devices.ts'
import { putRecipients } from '../users/recipients.ts'
import { putEventType } from './event-types.ts'
import { saveTemplate } from './templates.ts'

const schema = 'notify'

const millisecondsOf = (column: string) => `ceil(extract(epoch FROM e.${column}) * 1000)::bigint`

/** What the file declares for notify and administrators change. */
export const notifyDeclared: readonly DeclaredEntity[] = [
  {
    schema,
    kind: 'event_type',
    table: 'notify.event_type',
    match: 'e.event = d.id',
    changedAt: millisecondsOf('updated_at'),
  },
  {
    schema,
    kind: 'template',
    table: 'notify.published_template',
    match: `e.template_id = d.id::jsonb->>0 AND e.channel = d.id::jsonb->>1 AND e.locale = d.id::jsonb->>2`,
    changedAt: millisecondsOf('published_at'),
  },
]

/** What the configuration declares, on PostgreSQL. */
export function postgresDeclarations(database: Database, buckets: number): Declarations {
  // Event types and templates are versioned on every node; the tokens of declared devices are on any.
  const on = everywhere(database)
  return {
    async templates(declared, now) {
      await applyDeclared(on, { schema, kind: 'template' }, declared, async (tx, _id, text) => {
        await saveTemplate(tx, text, true, now)
      })
    },
    async eventTypes(declared, now) {
      await applyDeclared(on, { schema, kind: 'event_type' }, declared, async (tx, _id, eventType) => {
        await putEventType(tx, eventType, now)
      })
    },
    async recipients(declared, now) {
      await applyDeclared(on, { schema, kind: 'recipient' }, declared, async (tx, userId, { recipient, devices }) => {
        const bucket = bucketOfUser(userId, buckets)
        await putRecipients(tx, bucket, [recipient], now)
        // as many as the file declares
        const limit = Number.POSITIVE_INFINITY
        for (const device of devices) await putDevice(tx, { buckets, userId, device, now, limit })
      })
    },
  }
}
