import { applyDeclared, type Database } from '@gatehouse/kit'
import { bucketOfUser } from '../../model/id.ts'
import type { Declarations } from '../../store/store.ts'
import { putDevice } from '../users/devices.ts'
import { putRecipients } from '../users/recipients.ts'
import { putEventType } from './event-types.ts'
import { saveTemplate } from './templates.ts'

const schema = 'notify'

/** What the configuration declares, on PostgreSQL. */
export function postgresDeclarations(database: Database, buckets: number): Declarations {
  return {
    async templates(declared, now) {
      await applyDeclared(database, { schema, kind: 'template' }, declared, async (tx, _id, text) => {
        await saveTemplate(tx, text, true, now)
      })
    },
    async eventTypes(declared, now) {
      await applyDeclared(database, { schema, kind: 'event_type' }, declared, async (tx, _id, eventType) => {
        await putEventType(tx, eventType, now)
      })
    },
    async recipients(declared, now) {
      await applyDeclared(
        database,
        { schema, kind: 'recipient' },
        declared,
        async (tx, userId, { recipient, devices }) => {
          const bucket = bucketOfUser(userId, buckets)
          await putRecipients(tx, bucket, [recipient], now)
          // as many as the file declares
          const limit = Number.POSITIVE_INFINITY
          for (const device of devices) await putDevice(tx, { buckets, userId, device, now, limit })
        },
      )
    },
  }
}
