import { type Database, KeyRing, Secret } from '@gatehouse/kit'
import type { NotifyRequest } from '../../src/index.ts'
import { noticeEvents, openPayload } from '../../src/mail/messages.ts'
import type { OutboxMessage } from '../../src/store/index.ts'
import { encryptionKey } from './setup.ts'

/** Whether a mail is a notice, beside those with a link that does something. */
export function isNotice({ event }: NotifyRequest): boolean {
  return noticeEvents.some((one) => one === event)
}

/** The mails that wait in the outbox, in order. */
export async function waitingMails(database: Database): Promise<NotifyRequest[]> {
  const { rows } = await database.query<{ id: string; payload_sealed: string }>(
    "SELECT id, payload_sealed FROM identity.outbox WHERE kind = 'mail' ORDER BY id",
  )
  const ring = KeyRing.of(new Secret(encryptionKey))
  return rows.map(({ id, payload_sealed: payloadSealed }) =>
    openPayload<NotifyRequest>({ id, payloadSealed } as OutboxMessage, ring),
  )
}

/** Takes the mails out of the outbox, as if they were delivered. */
export async function takeMails(database: Database): Promise<NotifyRequest[]> {
  const mails = await waitingMails(database)
  await database.query("DELETE FROM identity.outbox WHERE kind = 'mail'")
  return mails
}
