import type { Transaction } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import { newIdBeside } from '../../model/id.ts'
import type { Message, NotifyRequest } from '../../model/notification/notification.ts'
import { columns, optionalTimestamp, timestamp } from '../sql/columns.ts'
import { failedMessage } from './topic-failures.ts'

/** A dead letter as it is stored. */
export interface LetterRow {
  readonly id: string
  readonly notification_id: string | null
  readonly user_id: string | null
  readonly channel: Channel | null
  readonly event: string | null
  readonly cause: string
  readonly detail: string
  readonly died_at: number
  readonly expires_at: number | null
  readonly text?: string | null
  readonly provider: string | null
  readonly fingerprint: string
}

/** A dead letter that was taken away, with what a replay begins with. */
export interface RemovedLetter extends Omit<LetterRow, 'provider' | 'fingerprint'> {
  readonly message: (Message & { request?: NotifyRequest }) | null
}

/** One that goes back to be delivered at a time (Unix milliseconds). */
export interface DueLetter extends RemovedLetter {
  readonly dueAt: number
  /** The replay that it goes back with, where that is recorded. */
  readonly batchId?: string | undefined
}

/** What a stopped replay makes a dead letter of again. */
export interface KeptLetter {
  readonly batch: string | undefined
  readonly id: string
  readonly cause: string
  readonly detail: string
  /** Unix milliseconds. */
  readonly died_at: number
  readonly event: string | null
  /** Whether it had no message: what is written now may be wrong, and is written anew unless it has been tried. */
  readonly unwritten?: boolean
}

function keptOf({ batchId: batch, id, cause, detail, died_at, event, message }: DueLetter): string {
  const unwritten = message === null ? { unwritten: true } : {}
  const kept: KeptLetter = { batch, id, cause, detail, died_at, event, ...unwritten }
  return JSON.stringify(kept)
}

/**
 * Has messages sent as they were. Their claims are counted on, so that a record from before is too late, and a provider
 * can be asked.
 */
export async function requeueDeliveries(tx: Transaction, bucket: number, letters: readonly DueLetter[]): Promise<void> {
  await tx.query(
    `INSERT INTO notify.delivery_queue (bucket, delivery_id, user_id, channel, event, priority, due_at, sensitive, message, expires_at, attempt, letter)
     SELECT $1, w.id, w.user_id, w.channel, w.event,
            CASE n.priority WHEN 'critical' THEN 0 WHEN 'low' THEN 2 ELSE 1 END, w.due_at, coalesce(n.sensitive, true), w.message::json,
            w.expires_at, coalesce((w.message::json->>'earlierClaims')::integer, 0), w.letter::json
       FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::uuid[], $9::timestamptz[],
                 $10::text[])
            AS w (id, user_id, channel, event, due_at, message, notification_id, expires_at, letter)
       LEFT JOIN notify.notification n ON n.bucket = $1 AND n.id = w.notification_id
     ON CONFLICT (bucket, delivery_id) DO NOTHING`,
    [
      bucket,
      ...columns(
        letters,
        id,
        user,
        (l) => l.channel,
        (l) => l.event,
        due,
        (l) => JSON.stringify(l.message),
        (l) => l.notification_id,
        (l) => optionalTimestamp(l.expires_at),
        keptOf,
      ),
    ],
  )
}

/** Has notifications planned again whose text was never written. */
export async function replanDeliveries(tx: Transaction, bucket: number, letters: readonly DueLetter[]): Promise<void> {
  await tx.query(
    `INSERT INTO notify.deferred (bucket, id, notification_id, user_id, channels, reason, resume_at, letter)
     SELECT $1, d.id, d.notification_id, d.user_id, ARRAY[d.channel], 'replay', d.due_at, d.letter::json
       FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::timestamptz[], $7::text[])
            AS d (id, notification_id, user_id, channel, due_at, letter)`,
    [
      bucket,
      ...columns(
        letters,
        (l) => newIdBeside(l.id),
        (l) => l.notification_id,
        user,
        (l) => l.channel,
        due,
        keptOf,
      ),
    ],
  )
}

/** Causes of letters that were messages of the topic. */
const ofTopic: ReadonlySet<string> = new Set(['invalid_message', failedMessage])

/** Has requests taken again; their age counts from when they died. */
export async function rescheduleRequests(
  tx: Transaction,
  bucket: number,
  letters: readonly DueLetter[],
): Promise<void> {
  await tx.query(
    `INSERT INTO notify.scheduled (bucket, id, user_id, fire_at, payload, source, occurred_at, letter)
     SELECT $1, s.id, s.user_id, s.due_at, s.payload::jsonb, s.source, s.occurred_at, s.letter::json
       FROM unnest($2::uuid[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::timestamptz[], $8::text[])
            AS s (id, user_id, due_at, payload, source, occurred_at, letter)`,
    [
      bucket,
      letters.map(id),
      letters.map(user),
      letters.map(due),
      letters.map((l) => JSON.stringify(l.message?.request)),
      letters.map(({ cause }) => (ofTopic.has(cause) ? 'topic' : 'schedule')),
      letters.map(({ died_at: diedAt }) => timestamp(diedAt)),
      letters.map(keptOf),
    ],
  )
}

const id = (letter: RemovedLetter) => letter.id
const user = (letter: RemovedLetter) => letter.user_id
const due = (letter: DueLetter) => timestamp(letter.dueAt)
