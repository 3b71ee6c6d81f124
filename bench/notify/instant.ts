import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '@gatehouse/kit'
import type { Provider } from '@gatehouse/notify'
import { postgresNotifyStore } from '@gatehouse/notify/postgres'

/** A provider of mail in this process that answers at once. */
export interface InstantProvider {
  readonly provider: Provider
  /** Resolves once it has taken so many messages. */
  waitForAccepted(count: number): Promise<void>
}

export function instantProvider(): InstantProvider {
  let count = 0
  const provider: Provider = {
    name: 'instant',
    channel: 'email',
    timeoutMs: 10_000,
    async send(messages) {
      count += messages.length
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  return {
    provider,
    async waitForAccepted(expected) {
      while (count < expected) await pause(20)
    },
  }
}

/** Gives every state change that waits its number in the log. */
export async function numberStateChanges(database: Database): Promise<void> {
  const { stateChanges } = postgresNotifyStore(database)
  while ((await stateChanges.number([0], 1_000, Date.now())) > 0);
}

/** Reports every delivery as delivered, as the provider would, `batch` at a time, and numbers what changed. */
export async function reportAll(database: Database, batch: number): Promise<void> {
  const { deliveries } = postgresNotifyStore(database)
  const { rows } = await database.query<{ id: string }>('SELECT id FROM notify.delivery')
  for (let n = 0; n < rows.length; n += batch) {
    const reports = rows.slice(n, n + batch).map(({ id }) => ({
      provider: 'instant',
      eventId: `event-${id}`,
      deliveryId: id,
      report: 'delivered' as const,
      at: Date.now(),
    }))
    await deliveries.report(reports, Date.now())
  }
  await numberStateChanges(database)
}
