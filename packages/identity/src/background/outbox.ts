import { randomUUID } from 'node:crypto'
import { fetchLogo } from '../clients/logo/fetch.ts'
import type { BackgroundContext } from '../context/features.ts'
import { safeFetch } from '../http/safe-fetch.ts'
import { signJwt } from '../keys/sign-jwt.ts'
import { createMemberNotices } from '../mail/member-notices.ts'
import { formatRecipient, type Notify, type NotifyRequest, type OnRecipient, openPayload } from '../mail/messages.ts'
import type { LogoutNotice } from '../sessions/end-session.ts'
import type { IdentityStore, OutboxMessage } from '../store/index.ts'

/** How the messages of the outbox are delivered. */
export interface OutboxOptions {
  readonly context: BackgroundContext
  readonly notify: Notify | undefined
  readonly onRecipient: OnRecipient | undefined
}

/** Messages of one queue never wait for those of the other: addresses that clients chose may hang. */
export const outboxQueues = { mails: ['mail', 'recipient', 'members'], calls: ['logout', 'logo'] } as const

const leaseMs = 60_000
/** A longer pass leaves the rest to the next one, before its leases expire. */
const maxPassMs = leaseMs / 2
const batchSize = 20
const firstPauseMs = 1_000
const maxPauseMs = 10 * 60_000
const logoutTokenSeconds = 120

/**
 * Delivers the messages of a queue at least once. A failed delivery is retried with backoff until the message expires.
 * Mails are delivered in order, calls to clients concurrently. True when more is likely due.
 *
 * @param stopping once it is aborted no further delivery begins: what is left is released for another process
 */
export async function deliverOutbox(
  options: OutboxOptions,
  queue: keyof typeof outboxQueues,
  stopping?: AbortSignal,
): Promise<boolean> {
  const { store, clock } = options.context
  const claimedAt = clock.now()
  const messages = await store.outbox.claim(outboxQueues[queue], claimedAt, leaseMs, batchSize)
  const attemptOrRelease = (message: Claimed, mayBegin: boolean): Promise<void> =>
    mayBegin && !stopping?.aborted ? attemptDelivery(options, message) : store.outbox.postpone(message.id, clock.now())
  if (queue === 'calls') {
    await Promise.all(messages.map((message) => attemptOrRelease(message, true)))
    return messages.length === batchSize
  }
  for (const message of [...messages].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    await attemptOrRelease(message, clock.now() <= claimedAt + maxPassMs)
  }
  return messages.length === batchSize || messages.some(({ kind }) => kind === 'members')
}

type Claimed = Awaited<ReturnType<IdentityStore['outbox']['claim']>>[number]

async function attemptDelivery(options: OutboxOptions, message: Claimed): Promise<void> {
  const { store, clock, log } = options.context
  try {
    await deliver(options, message)
    await store.outbox.remove(message.id)
  } catch (error) {
    const pause = Math.min(maxPauseMs, firstPauseMs * 2 ** message.attempts)
    log.warn(
      { err: error, kind: message.kind, attempts: message.attempts },
      'a message could not be delivered and will be retried',
    )
    await store.outbox.postpone(message.id, clock.now() + pause)
  }
}

async function deliver({ context, notify, onRecipient }: OutboxOptions, message: OutboxMessage): Promise<void> {
  if (message.kind === 'mail') {
    await notify?.(openPayload<NotifyRequest>(message, context.encryptionKey))
    return
  }
  if (message.kind === 'recipient') {
    const user = await context.store.users.find(message.subject)
    await onRecipient?.(user === undefined ? { user_id: message.subject, removed: true } : formatRecipient(user))
    return
  }
  if (message.kind === 'members') {
    await context.store.outbox.replace(message.id, await createMemberNotices(context, message))
    return
  }
  if (message.kind === 'logo') {
    await fetchLogo(context, message.subject)
    return
  }
  await sendLogoutToken(context, openPayload<LogoutNotice>(message, context.encryptionKey))
}

/** Sends a logout token (OpenID Connect Back-Channel Logout §2.4, §2.5). */
async function sendLogoutToken(
  context: BackgroundContext,
  { clientId, subject, sessionId }: LogoutNotice,
): Promise<void> {
  const client = await context.clients.find(clientId)
  if (client?.backchannelLogoutUri === undefined) return
  const now = Math.floor(context.clock.now() / 1000)
  const token = await signJwt(await context.keys.getOrCreate(client.idTokenAlgorithm), 'logout+jwt', {
    iss: context.issuer,
    aud: client.id,
    iat: now,
    exp: now + logoutTokenSeconds,
    jti: randomUUID(),
    sub: subject,
    sid: sessionId,
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  })
  const answer = await safeFetch(client.backchannelLogoutUri, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ logout_token: token }).toString(),
    loopback: context.features.loopbackCalls,
  })
  if (answer.status !== 200 && answer.status !== 204 && answer.status !== 400) {
    throw new Error(`the client's backchannel_logout_uri returned ${answer.status}`)
  }
}
