import { call } from '../call/call.ts'
import type { ClientConnection } from '../call/connection.ts'
import type { CallOptions } from '../call/request.ts'
import { type ApiError, createApiError, type ProblemDetails } from '../errors/api-error.ts'
import { GatehouseError } from '../errors/gatehouse-error.ts'
import { randomId } from '../http/random-id.ts'
import type { Acceptance, NotifyRequest } from '../operations/types.gen.ts'
import { batchesOf } from './batches.ts'

/** An event as it is sent: sent again, it is the same notification. */
export type KeyedEvent<Event extends NotifyRequest = NotifyRequest> = Event & { readonly dedup_key: string }

/** What became of one event of a bulk call. */
export type BulkLine<Event extends NotifyRequest = NotifyRequest> =
  | { readonly ok: true; readonly index: number; readonly event: KeyedEvent<Event>; readonly acceptance: Acceptance }
  | { readonly ok: false; readonly index: number; readonly event: KeyedEvent<Event>; readonly error: GatehouseError }

/** Options of {@link notifyBulk}. */
export interface BulkOptions extends Omit<CallOptions, 'ifMatch' | 'onAnswer'> {
  /** The most events of one request. Default: 500; the server takes 10,000. */
  readonly batchSize?: number
}

const maxBatchLength = 1_048_576

/**
 * Sends events in batches of newline-delimited JSON, and yields what became of each, in order. Events are taken as they
 * are needed and no more than a batch of them is kept. An event without `dedup_key` gets a random one, so that a batch
 * may be sent again; it is yielded with that key, so that the caller may send it again too. The timeouts are those of a
 * batch, by default 60 s with all attempts and 30 s for one.
 *
 * When a batch can not be sent, its events are yielded with the error; then the loop ends with it, and no more events
 * are taken.
 *
 * @throws GatehouseError when a batch can not be sent, after its events were yielded
 */
export async function* notifyBulk<Event extends NotifyRequest>(
  connection: ClientConnection,
  events: Iterable<Event> | AsyncIterable<Event>,
  { batchSize = 500, ...more }: BulkOptions = {},
): AsyncGenerator<BulkLine<Event>, void, undefined> {
  const options = { timeoutMs: 60_000, attemptTimeoutMs: 30_000, ...more }
  let index = 0
  const bounds = { maxItems: Math.max(1, batchSize), maxLength: maxBatchLength }
  for await (const { items, lines } of batchesOf(keyed(events), JSON.stringify, bounds)) {
    const answers = await sendBatch(connection, lines, options)
    for (const [at, event] of items.entries()) yield { ...answers.lineOf(at), index: index++, event }
    if (answers.failure) throw answers.failure
  }
}

/** The events, each with a key that is the same at every attempt. */
async function* keyed<Event extends NotifyRequest>(
  events: Iterable<Event> | AsyncIterable<Event>,
): AsyncGenerator<KeyedEvent<Event>, void, undefined> {
  for await (const event of events) yield { ...event, dedup_key: event.dedup_key ?? randomId() }
}

type Outcome =
  | { readonly ok: true; readonly acceptance: Acceptance }
  | { readonly ok: false; readonly error: GatehouseError }

interface Answers {
  lineOf(at: number): Outcome
  readonly failure?: GatehouseError
}

async function sendBatch(
  connection: ClientConnection,
  lines: readonly string[],
  options: CallOptions,
): Promise<Answers> {
  const request = {
    operation: 'notifications.sendBulk',
    method: 'POST',
    path: '/v1/notify/bulk',
    body: `${lines.join('\n')}\n`,
    contentType: 'application/x-ndjson',
    idempotent: true,
  }
  try {
    const text = await call<string>(connection, request, options)
    const answers = text.trim().split('\n').map(parseLine)
    if (answers.length !== lines.length) throw unreadable(`${answers.length} lines for ${lines.length} events`)
    return { lineOf: (at) => answers[at] as Outcome }
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error
    return { lineOf: () => ({ ok: false, error }), failure: error }
  }
}

function parseLine(line: string): Outcome {
  const answer = parseJson(line)
  const { status, ...acceptance } = answer
  return status === 202
    ? { ok: true, acceptance: acceptance as unknown as Acceptance }
    : { ok: false, error: lineError(answer) }
}

function lineError({ status = 500, retry_after: retryAfter, ...problem }: ProblemDetails): ApiError {
  const retryAfterMs = typeof retryAfter === 'number' ? retryAfter * 1_000 : undefined
  return createApiError({ status, problem: { status, ...problem }, challenge: {}, requestId: undefined, retryAfterMs })
}

function parseJson(line: string): ProblemDetails {
  try {
    return JSON.parse(line) as ProblemDetails
  } catch {
    throw unreadable('a line is not JSON')
  }
}

const unreadable = (detail: string) =>
  new GatehouseError(`the answer to a bulk request can not be read: ${detail}`, { code: 'invalid_response' })
