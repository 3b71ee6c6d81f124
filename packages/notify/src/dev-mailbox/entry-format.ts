import type { MailboxEntry, MailboxStanding } from '../store/store.ts'

/** A message of the mailbox as data. */
export function formatEntry(
  { id, deliveryId, userId, channel, address, content, at }: MailboxEntry,
  standing: MailboxStanding | undefined,
) {
  const { receiptToken, service: _service, ...shown } = content
  return {
    id,
    delivery_id: deliveryId,
    user_id: userId,
    channel,
    address,
    ...shown,
    ...(receiptToken === undefined ? {} : { receipt_token: receiptToken }),
    at: new Date(at).toISOString(),
    ...(standing?.state === undefined ? {} : { state: standing.state }),
    ...(standing?.deadToken ? { dead_token: true } : {}),
  }
}
