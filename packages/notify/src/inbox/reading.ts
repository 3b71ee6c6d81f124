import type { Reports } from '../context/reports.ts'
import type { DeliveryReport } from '../model/delivery/delivery-state.ts'
import type { InboxChange } from '../model/notification/inbox-change.ts'

/** What a user's hand on an item says about its delivery: once on screen it is delivered, once read it is opened. */
const reportOf: Partial<Readonly<Record<InboxChange, DeliveryReport>>> = {
  seen: 'delivered',
  archived: 'delivered',
  read: 'opened',
}
const batchSize = 100

/** Tells the deliveries of items what was done to them; an item is known by the id of its delivery. */
export async function reportItemChange(
  reports: Reports,
  change: InboxChange,
  ids: readonly string[],
  at: number,
): Promise<void> {
  const report = reportOf[change]
  if (report === undefined) return
  for (let n = 0; n < ids.length; n += batchSize) {
    const some = ids.slice(n, n + batchSize)
    await reports.record(
      'inbox',
      some.map((deliveryId) => ({ eventId: `${report}:${deliveryId}`, deliveryId, report, at })),
    )
  }
}
